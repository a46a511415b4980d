#include "proto/notify.h"
#include "tests/fuzz/fuzz.h"

FUZZ_DECODER(notify)
