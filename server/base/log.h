/* Log lines on standard error, one per event: time, level, event and key=value pairs, as text or JSON. */
#ifndef SERVER_BASE_LOG_H
#define SERVER_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

typedef enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } log_level;

bool log_level_parse(log_level *out, const char *name);

/* Call once, before any thread starts. */
void log_configure(log_level level, bool json);
bool log_enabled(log_level level);

/* Between log_start and log_stop a separate thread writes the lines, so that no other thread waits for the log. Before
 * and after, each line is written at once. log_start: false if no thread could be started. If nobody reads the log,
 * log_stop waits for one second at most. log_lines_dropped: the number of lines that had no room in the queue. */
bool log_start(void);
void log_stop(void);
uint64_t log_lines_dropped(void);

/* Logs an event with pairs of key and value (all const char *), ended by NULL:
 * log_event(LOG_INFO, "started", "db", path, NULL). A pair with a NULL value is left out. Any thread. */
void log_event(log_level level, const char *event, ...) __attribute__((sentinel));

/* Formats a value for log_event into a buffer of this thread; the text is valid for the next 7 calls. */
const char *log_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
