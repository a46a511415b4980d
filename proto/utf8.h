/* UTF-8 as RFC 3629 has it. */
#ifndef PROTO_UTF8_H
#define PROTO_UTF8_H

#include <stddef.h>

/* Bytes of the character at the start of text[0 … n−1], n > 0: 1 to 4, or 0 when none is well-formed there
 * (overlong forms, surrogates and code points beyond U+10FFFF are not). */
size_t wire_utf8_length(const char *text, size_t n);

#endif
