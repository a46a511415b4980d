#include "server/base/clock.h"

#include <stdio.h>
#include <time.h>

/* 9999-12-31T23:59:59.999Z: times have four digits for the year. */
static const int64_t last_moment = INT64_C(253402300799999);

int64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec > last_moment / 1000)
        return last_moment;
    int64_t milliseconds = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    return milliseconds < 1 ? 1 : milliseconds; /* a stored 0 means "never" */
}

double clock_steady(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double clock_thread(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int64_t clock_steady_ms(void)
{
    return (int64_t)(1000 * clock_steady());
}

int64_t clock_boot_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A thread that loses its processor between the two readings must not look like a clock that was set. */
enum { READINGS = 16, READING_MS = 10 };

int64_t clock_offset(void)
{
    int64_t offset = 0;
    for (int i = 0; i < READINGS; i++) {
        int64_t before = clock_boot_ms();
        offset = clock_now() - before;
        if (clock_boot_ms() - before < READING_MS)
            break;
    }
    return offset;
}

void clock_format(int64_t milliseconds, char *text)
{
    time_t seconds = (time_t)(milliseconds / 1000);
    int rest = (int)(milliseconds % 1000);
    struct tm parts;
    if (rest < 0) {
        rest += 1000;
        seconds--;
    }
    gmtime_r(&seconds, &parts);
    size_t n = strftime(text, 21, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + n, 6, ".%03dZ", rest);
}
