/* Log lines on standard error, one per event: time, level, event and key=value pairs, as text or JSON. */
#ifndef SERVER_BASE_LOG_H
#define SERVER_BASE_LOG_H

#include <stdbool.h>

typedef enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } log_level;

bool log_level_parse(log_level *out, const char *name);

/* Call once, before any thread starts. */
void log_configure(log_level level, bool json);
bool log_enabled(log_level level);

/* Logs an event with pairs of key and value (all const char *), ended by NULL:
 * log_event(LOG_INFO, "started", "db", path, NULL). A pair with a NULL value is left out. Any thread. */
void log_event(log_level level, const char *event, ...) __attribute__((sentinel));

/* Formats a value for log_event into a buffer of this thread; the text is valid for the next 7 calls. */
const char *log_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
