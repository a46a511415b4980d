/* Which threads the system prefers. Threads for sockets and the disk come first, so that each turn and each commit
 * handles more work; then threads for requests; then those for long reads and computations. */
#ifndef SERVER_BASE_NICE_H
#define SERVER_BASE_NICE_H

enum { NICER_SERVING = 5, NICER_CROWDS = 10, NICER_READING = 10, NICER_COMPUTING = 10 };

/* Sets the nice value of this thread to that of the process's first thread plus `by`. On Linux each thread has its own
 * nice value, and begins with that of the thread that creates it. */
void nice_raise(int by);

#endif
