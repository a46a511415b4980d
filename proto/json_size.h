/* How much memory JSON text takes as a tree, before there is one. */
#ifndef PROTO_JSON_SIZE_H
#define PROTO_JSON_SIZE_H

#include <stddef.h>

/* About the bytes that wire_parse allocates for this text, and up to eight times as many: a hundred for each
 * byte where the text is full of empty objects. For text that is no JSON, any number. */
size_t wire_tree_bytes(const char *text, size_t size);

#endif
