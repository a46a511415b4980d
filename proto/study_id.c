#include "proto/wire.h"

bool wire_is_study_id(const char *text, size_t n)
{
    if (n < 1 || n > 63)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!word && (i == 0 || (c != '.' && c != '_' && c != '-')))
            return false;
    }
    return true;
}
