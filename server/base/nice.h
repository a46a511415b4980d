/* Which threads the system prefers: sockets and the disk first, so that more work collects for each turn and each
 * commit; then requests; then long reads and computations. */
#ifndef SERVER_BASE_NICE_H
#define SERVER_BASE_NICE_H

enum { NICER_SERVING = 5, NICER_CROWDS = 10, NICER_READING = 10, NICER_COMPUTING = 10 };

/* Sets the nice value of this thread to that of the process's first thread plus `by`. On Linux each thread has its own,
 * and begins with that of the thread that makes it. */
void nice_raise(int by);

#endif
