/* The first byte chooses the request, the others are its body. */
#include "proto/changes.h"
#include "proto/keys.h"
#include "proto/tokens.h"
#include "tests/fuzz/fuzz.h"

#define TRY(name)                                                                                            \
    do {                                                                                                     \
        wire_##name *out;                                                                                    \
        wire_status status = wire_decode_##name(&out, body, n, &errors);                                     \
        check_problems(status, out != NULL, &errors);                                                        \
        wire_##name##_free(out);                                                                             \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *body = (const char *)data + 1;
    size_t n = size - 1;
    wire_errors errors = {0};
    switch (data[0]) {
    case 's':
        TRY(study_patch);
        break;
    case 'r':
        TRY(retire);
        break;
    case 'f':
        TRY(fork);
        break;
    case 'p':
        TRY(proposal);
        break;
    case 'a':
        TRY(amendment);
        break;
    case 't':
        TRY(new_token);
        break;
    case 'k':
    case 'l': {
        wire_keys keys = {0};
        wire_status status = data[0] == 'k' ? wire_decode_keys(&keys, body, n, &errors)
                                            : wire_read_key_lines(&keys, body, n, &errors);
        check_problems(status, status == WIRE_OK, &errors);
        wire_keys_clear(&keys);
        break;
    }
    case 'h': {
        wire_heartbeat out;
        wire_status status = wire_decode_heartbeat(&out, body, n, &errors);
        check_problems(status, status == WIRE_OK, &errors);
        break;
    }
    case 'm': {
        wire_measurement out;
        wire_status status = wire_decode_measurement(&out, body, n, &errors);
        check_problems(status, status == WIRE_OK, &errors);
        break;
    }
    }
    wire_errors_clear(&errors);
    return 0;
}
