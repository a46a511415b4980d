/* Memory allocation that prints an error and exits if there is no memory. */
#ifndef CLIENTS_BANDITCTL_ALLOCATE_H
#define CLIENTS_BANDITCTL_ALLOCATE_H

#include <stddef.h>

_Noreturn void out_of_memory(void);

void *allocate(size_t n, size_t size); /* filled with zeros */
void *reallocate(void *memory, size_t size);
char *duplicate(const char *text);
char *format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
