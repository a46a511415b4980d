/* What a service manager that started us wants to hear, and the sockets that it passes on: systemd's
 * protocols sd_notify(3) and sd_listen_fds(3), which are a datagram and two environment variables. Without a
 * service manager all of this does nothing. */
#ifndef SERVER_BASE_SUPERVISOR_H
#define SERVER_BASE_SUPERVISOR_H

#include "server/base/pool.h"

#include <signal.h>

/* The listening socket that was passed to us; −1 when there is none, or not exactly one. It stays open. */
int supervisor_socket(void);

void supervisor_ready(const char *url);
void supervisor_stopping(void);

/* Waits for one of the signals and returns it. Meanwhile the service manager's watchdog is fed by way of the
 * pool: a pool that gets nothing done any more is one to restart. */
int supervisor_wait(const sigset_t *signals, pool *p);

#endif
