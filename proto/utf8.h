/* UTF-8 (RFC 3629). */
#ifndef PROTO_UTF8_H
#define PROTO_UTF8_H

#include <stddef.h>

/* The length in bytes, 1 to 4, of the character at the start of text[0 … n−1], n > 0. 0 if it is not
 * well-formed: overlong forms, surrogates and code points beyond U+10FFFF are not. */
size_t wire_utf8_length(const char *text, size_t n);

#endif
