#include "proto/json_size.h"

#include <stdbool.h>

/* Sizes for jansson 2.14 with glibc's malloc. An array has room for 8 values; an object has room for 8 members, and
 * for its lists. A value costs its own block and its place in an array that doubles. */
enum { AN_ARRAY = 160, AN_OBJECT = 320, A_VALUE = 96, A_MEMBER = 112, A_BYTE = 2 };

size_t wire_tree_bytes(const char *text, size_t size)
{
    size_t bytes = A_VALUE;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (in_string) {
            bytes += A_BYTE; /* strings are copied, some of them twice */
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
            continue;
        }
        in_string = c == '"';
        if (c == '[')
            bytes += AN_ARRAY;
        else if (c == '{')
            bytes += AN_OBJECT;
        else if (c == ',')
            bytes += A_VALUE;
        else if (c == ':')
            bytes += A_MEMBER;
    }
    return bytes;
}
