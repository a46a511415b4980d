/* Estimates how much memory JSON text will take as a tree, before it is parsed. */
#ifndef PROTO_JSON_SIZE_H
#define PROTO_JSON_SIZE_H

#include <stddef.h>

/* From about one to eight times the number of bytes that wire_parse allocates for this text. It reaches a
 * hundred for each byte of text that is full of empty objects. For text that is not JSON, any number. */
size_t wire_tree_bytes(const char *text, size_t size);

#endif
