#include "clients/banditctl/allocate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void out_of_memory(void)
{
    fputs("banditctl: out of memory\n", stderr);
    exit(1);
}

void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size ? size : 1);
    if (!memory)
        out_of_memory();
    return memory;
}

void *reallocate(void *memory, size_t size)
{
    void *larger = realloc(memory, size ? size : 1);
    if (!larger)
        out_of_memory();
    return larger;
}

char *duplicate(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        out_of_memory();
    return copy;
}

char *format_text(const char *format, ...)
{
    char *text;
    va_list list;
    va_start(list, format);
    int n = vasprintf(&text, format, list);
    va_end(list);
    if (n < 0)
        out_of_memory();
    return text;
}
