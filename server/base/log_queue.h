/* The lines of the log on their way to standard error. A thread of its own writes them, so that a log that nobody
 * reads (a full pipe, a stopped terminal) stops no other thread: lines wait in a queue of bounded size, and those
 * that have no room are dropped and counted. log_queue.c defines what is declared here. */
#ifndef SERVER_BASE_LOG_QUEUE_H
#define SERVER_BASE_LOG_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_QUEUE_BYTES = 1 << 20 }; /* of lines that wait */
enum { LOG_QUEUE_SECONDS = 1 };     /* how long the end of the queue waits for the log */

/* Starts the thread, which writes to this descriptor. dropped_line makes a line that says that so many were
 * dropped (malloc; NULL: out of memory, and nothing is said). False: no thread could be started. */
bool log_queue_start(int descriptor, char *(*dropped_line)(uint64_t dropped, size_t *size));

/* Adds a line, which it frees. Never waits for the log. Without a thread the line is written at once. Any thread. */
void log_queue_add(char *line, size_t size);

/* Lines that were dropped since the start of the program. */
uint64_t log_queue_dropped(void);

/* Waits until the lines are written, at most LOG_QUEUE_SECONDS, and ends the thread. Call as the last thing that has
 * to do with the log. */
void log_queue_stop(void);

#endif
