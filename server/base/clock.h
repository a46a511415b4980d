/* Time: wall-clock milliseconds for stored and displayed times, a steady clock for durations. */
#ifndef SERVER_BASE_CLOCK_H
#define SERVER_BASE_CLOCK_H

#include <stdint.h>

/* Milliseconds since 1970 UTC; at least 1, and not after the year 9999, whatever the clock says. */
int64_t clock_now(void);

/* Seconds and milliseconds of a clock that never jumps. */
double clock_steady(void);
int64_t clock_steady_ms(void);

/* Milliseconds since the machine was started, including the time for which it was suspended; never jumps. */
int64_t clock_boot_ms(void);

/* How far the wall clock is ahead of the boot clock, in ms. It changes when the wall clock is set. */
int64_t clock_offset(void);

/* Seconds for which this thread has had a processor. */
double clock_thread(void);

/* RFC 3339 UTC with milliseconds, e.g. 2026-01-01T00:00:00.000Z. text: at least 25 bytes. */
void clock_format(int64_t milliseconds, char *text);

#endif
