/* The first byte chooses the type of an entry of the log, the rest is its payload: what is read is written as
 * text that reads as the same event. */
#include "server/store/event.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    store_event *event, *again;
    store_error error = {0};
    char *text, *same;
    if (size == 0)
        return 0;
    const char *type = store_event_name((store_event_type)(data[0] % STORE_EVENT_TYPES));
    char *payload = malloc(size);
    HOLDS(payload);
    memcpy(payload, data + 1, size - 1);
    payload[size - 1] = '\0';
    store_status status = store_event_decode(&event, type, 7, payload, &error);
    free(payload);
    HOLDS((status == STORE_OK) == (event != NULL));
    if (status) {
        HOLDS(status == STORE_CORRUPT && *error.message);
        return 0;
    }
    HOLDS(store_event_encode(&text, event) == STORE_OK);
    HOLDS(store_event_decode(&again, type, 7, text, &error) == STORE_OK);
    HOLDS(store_event_encode(&same, again) == STORE_OK);
    HOLDS(strcmp(text, same) == 0);
    free(event);
    free(again);
    free(text);
    free(same);
    return 0;
}
