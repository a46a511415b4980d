/* Writes multipart/form-data. */
#include "clients/banditctl/form.h"

#include "clients/banditctl/allocate.h"
#include "clients/banditctl/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void draw_boundary(form_boundary out)
{
    unsigned char bytes[16];
    int n = snprintf(out, sizeof(form_boundary), "banditctl-");
    if (getentropy(bytes, sizeof bytes) != 0)
        memset(bytes, 0, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        n += snprintf(out + n, sizeof(form_boundary) - (size_t)n, "%02x", bytes[i]);
}

/* Adds a part to the body of a form. file: tells the server its format. */
static void add_part(char **body, size_t *size, const char *boundary, const char *name, const char *file,
                     const char *content, size_t n)
{
    char *head = format_text("--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n\r\n",
                             boundary, name, file);
    size_t n_head = strlen(head);
    *body = reallocate(*body, *size + n_head + n + 3);
    memcpy(*body + *size, head, n_head);
    memcpy(*body + *size + n_head, content, n);
    memcpy(*body + *size + n_head + n, "\r\n", 3);
    *size += n_head + n + 2;
    free(head);
}

/* Text between double quotes, for a header. The caller frees it. */
static char *escape_quotes(const char *text, size_t n)
{
    char *out = allocate(2 * n + 1, 1), *at = out;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"' || text[i] == '\\')
            *at++ = '\\';
        *at++ = text[i];
    }
    return out;
}

/* Adds the table of an operand NAME=TABLE. */
static exit_status add_table(char **body, size_t *size, const char *boundary, const char *operand)
{
    const char *equals = strchr(operand, '=');
    if (!equals || equals == operand) {
        fprintf(stderr, "banditctl: '%s' is not of the form 'NAME=TABLE'\n", operand);
        return STATUS_USAGE;
    }
    size_t n;
    char *table = read_file(equals + 1, &n);
    if (!table)
        return STATUS_FAILED;
    const char *slash = strrchr(equals + 1, '/'), *file = slash ? slash + 1 : equals + 1;
    char *name = escape_quotes(operand, (size_t)(equals - operand)),
         *quoted = escape_quotes(file, strlen(file));
    add_part(body, size, boundary, name, quoted, table, n);
    free(name);
    free(quoted);
    free(table);
    return STATUS_OK;
}

exit_status make_form(const arguments *a, char **body, size_t *size, const char *boundary)
{
    char *form = duplicate("");
    size_t n = 0;
    exit_status status = STATUS_OK;
    add_part(&form, &n, boundary, "study", "study.json", *body, *size);
    for (size_t i = 1; i < a->n_operands && status == STATUS_OK; i++)
        status = add_table(&form, &n, boundary, a->operands[i]);
    char *end = format_text("--%s--\r\n", boundary);
    form = reallocate(form, n + strlen(end) + 1);
    memcpy(form + n, end, strlen(end) + 1);
    *size = n + strlen(end);
    free(end);
    free(*body);
    *body = form;
    return status;
}
