#include "proto/json_memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

/* A reserve that jansson uses after malloc has failed, so that it reaches the end of the text. It is enough for the
 * text's longest string, which jansson keeps in a buffer that doubles, and for some values. The result is then
 * discarded. */
enum { RESERVE_PER_BYTE = 8, RESERVE = 4096, ALIGNMENT = 16 };

static _Thread_local struct {
    unsigned char *reserve; /* NULL: nothing is being read */
    size_t size, used;
    bool ran_out; /* malloc has failed */
} reading;

static void *take(size_t size)
{
    void *p = malloc(size);
    if (p)
        return p;
    reading.ran_out = true;
    size_t aligned = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (aligned < size || aligned > reading.size - reading.used)
        return NULL;
    reading.used += aligned;
    return reading.reserve + reading.used - aligned;
}

static void give_back(void *p)
{
    uintptr_t at = (uintptr_t)p, first = (uintptr_t)reading.reserve;
    if (at < first || at >= first + reading.size)
        free(p);
}

static void install_allocator(void)
{
    json_set_alloc_funcs(take, give_back);
}

json_t *wire_json_load(const char *text, size_t size, size_t flags, json_error_t *error, bool *no_memory)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_allocator);
    size_t reserved = size < SIZE_MAX / RESERVE_PER_BYTE - RESERVE ? RESERVE_PER_BYTE * size + RESERVE : 0;
    unsigned char *reserve = reserved ? malloc(reserved) : NULL;
    *no_memory = reserve == NULL;
    if (!reserve)
        return NULL;
    reading.reserve = reserve;
    reading.size = reserved;
    reading.used = 0;
    reading.ran_out = false;
    json_t *json = json_loadb(text, size, flags, error);
    if (reading.ran_out) {
        *no_memory = true;
        json_decref(json);
        json = NULL;
    }
    reading.reserve = NULL;
    reading.size = reading.used = 0;
    free(reserve);
    return json;
}
