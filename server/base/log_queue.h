/* The lines of the log on their way to standard error. A separate thread writes them, so that a log that nobody reads
 * (a full pipe, a stopped terminal) stops no other thread. Lines wait in a queue of bounded size. Lines that have no
 * room are dropped and counted. log_queue.c defines what is declared here. */
#ifndef SERVER_BASE_LOG_QUEUE_H
#define SERVER_BASE_LOG_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_QUEUE_BYTES = 1 << 20 }; /* of lines that wait */
enum { LOG_QUEUE_SECONDS = 1 };     /* how long the end of the queue waits for the log */

/* Starts the thread, which writes to this descriptor. dropped_line makes the line that reports the number of dropped
 * lines (from malloc; NULL: out of memory, and nothing is reported). False: no thread could be started. */
bool log_queue_start(int descriptor, char *(*dropped_line)(uint64_t dropped, size_t *size));

/* Adds a line, and takes ownership of it. Never waits for the log. Before log_queue_start and after log_queue_stop, the
 * line is written at once. Any thread. */
void log_queue_add(char *line, size_t size);

/* Lines that were dropped since the start of the program. */
uint64_t log_queue_dropped(void);

/* Waits until the lines are written, for LOG_QUEUE_SECONDS at most, and ends the thread. Call it after everything that
 * logs has ended. */
void log_queue_stop(void);

#endif
