/* Log lines on standard error, one an event: time, level, event and key=value pairs, as text or JSON. */
#ifndef SERVER_BASE_LOG_H
#define SERVER_BASE_LOG_H

#include <stdbool.h>

typedef enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } log_level;

bool log_level_parse(log_level *out, const char *name);

/* Once, before threads start. */
void log_configure(log_level level, bool json);
bool log_enabled(log_level level);

/* Keys and values in turn (all const char *), closed by NULL: log_event(LOG_INFO, "started", "db", path,
 * NULL). A NULL value leaves its pair out. Any thread. */
void log_event(log_level level, const char *event, ...) __attribute__((sentinel));

/* A printf into one of a few buffers of this thread, for log_event's values; valid for the next 7 calls. */
const char *log_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
