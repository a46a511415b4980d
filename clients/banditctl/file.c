/* Reading files whole. */
#include "clients/banditctl/file.h"

#include "clients/banditctl/allocate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

char *read_all(FILE *from, size_t *size)
{
    char *text = duplicate("");
    size_t capacity = 0, n = 0, more;
    do {
        if (n + 1 >= capacity) {
            capacity = 2 * capacity + 65536;
            text = reallocate(text, capacity);
        }
        more = fread(text + n, 1, capacity - 1 - n, from);
        n += more;
    } while (more > 0);
    text[n] = '\0';
    *size = n;
    if (ferror(from)) {
        free(text);
        return NULL;
    }
    return text;
}

exit_status cannot_read(const char *name)
{
    fprintf(stderr, "banditctl: cannot read %s: %s\n", name, strerror(errno));
    return STATUS_FAILED;
}

char *read_file(const char *name, size_t *size)
{
    bool standard_input = strcmp(name, "-") == 0;
    FILE *from = standard_input ? stdin : fopen(name, "re");
    char *text = from ? read_all(from, size) : NULL;
    if (!text)
        cannot_read(name);
    if (from && !standard_input)
        fclose(from);
    return text;
}
