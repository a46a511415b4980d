/* Entity tags in the headers If-Match and If-None-Match. */
#ifndef PROTO_ENTITY_TAG_H
#define PROTO_ENTITY_TAG_H

#include <stdbool.h>

/* Is the tag (quoted) in the header's list, or is the list "*"? Weak comparison (RFC 9110, 8.8.3.2). list NULL:
 * the header was not sent, and nothing matches. */
bool wire_etag_matches(const char *list, const char *etag);

#endif
