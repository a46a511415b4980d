#include "tests/fuzz/fuzz.h"

FUZZ_DECODER(predict)
