/* Talks to the service manager that started the server, and takes the socket that it passes: systemd's
 * protocols sd_notify(3) and sd_listen_fds(3), which are datagrams and two environment variables. Without a
 * service manager these functions do nothing. */
#ifndef SERVER_BASE_SUPERVISOR_H
#define SERVER_BASE_SUPERVISOR_H

#include "server/base/pool.h"

#include <signal.h>

/* The listening socket that was passed, which stays open; −1 unless exactly one was passed. */
int supervisor_socket(void);

void supervisor_ready(const char *url);
void supervisor_stopping(void);

/* Waits for one of the signals and returns it. While it waits, tasks of the pool notify the service manager's
 * watchdog, so that a server whose pool is stuck gets restarted. */
int supervisor_wait(const sigset_t *signals, pool *p);

#endif
