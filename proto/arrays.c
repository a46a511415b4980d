#include "proto/arrays.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool wire_grow(void *array, size_t *capacity, size_t n, size_t least, size_t size)
{
    size_t wanted = *capacity ? *capacity : least;
    void *old;
    if (n <= *capacity)
        return true;
    while (wanted < n && wanted <= SIZE_MAX / 2)
        wanted *= 2;
    if (wanted < n || wanted > SIZE_MAX / size)
        return false;
    memcpy(&old, array, sizeof old); /* whatever it points to */
    void *grown = realloc(old, wanted * size);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}
