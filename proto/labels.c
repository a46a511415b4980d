#include "proto/labels.h"

#include <jansson.h>
#include <string.h>

bool wire_has_label(const char *definition, const char *key, const char *value)
{
    json_t *json = json_loads(definition, 0, NULL);
    const char *text = json_string_value(json_object_get(json_object_get(json, "labels"), key));
    bool has = text && strcmp(text, value) == 0;
    json_decref(json);
    return has;
}
