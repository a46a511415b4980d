#include "clients/banditctl/value.h"
#include "clients/banditctl/allocate.h"
#include "clients/banditctl/json.h"
#include "proto/json_parse.h"
#include "proto/number.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

char *last_line(const char *text, size_t size)
{
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        size--;
    size_t begin = size;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    while (begin < size && isspace((unsigned char)text[begin]))
        begin++;
    char *line = strndup(text + begin, size - begin);
    if (!line)
        out_of_memory();
    return line;
}

static bool all_numbers(const json_t *object)
{
    const char *key;
    const json_t *member;
    json_object_foreach((json_t *)(uintptr_t)object, key, member)
    {
        if (!json_is_number(member) || !isfinite(json_number_value(member)))
            return false;
    }
    return json_object_size(object) > 0;
}

bool value_read(const char *text, bool *value, double *number, char **values, char why[256])
{
    *value = false;
    *values = NULL;
    if (!*text) {
        snprintf(why, 256, "no value: the command printed nothing");
        return false;
    }
    wire_number_result result = wire_read_number(text, strlen(text), WIRE_NUMBER_LOOSE, number);
    if (result == WIRE_NUMBER_FINITE) {
        *value = true;
        return true;
    }
    wire_errors errors = {0};
    json_t *json;
    if (wire_parse(&json, text, strlen(text), &errors) == WIRE_NO_MEMORY)
        out_of_memory();
    wire_errors_clear(&errors);
    const bool is_object = json_is_object(json) && all_numbers(json);
    if (is_object) {
        wire_writer w = WIRE_WRITER_INIT;
        size_t size;
        wire_write_json(&w, json);
        *values = writer_text(&w, &size);
    } else {
        snprintf(why, 256, "no value: '%.140s' is not a finite number or a JSON object of finite numbers",
                 text);
    }
    json_decref(json);
    return is_object;
}
