#include "proto/tokens.h"
#include "tests/fuzz/fuzz.h"

FUZZ_DECODER(new_token)
