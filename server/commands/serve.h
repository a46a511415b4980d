/* `banditd serve`. */
#ifndef SERVER_COMMANDS_SERVE_H
#define SERVER_COMMANDS_SERVE_H

#include "server/base/config.h"

/* argv: the options. Returns the program's exit code. */
int serve(int argc, char **argv);

/* Serves only on the database owner's socket while `use` runs. Returns the value of `use`, or −1 if the
 * server could not start. */
int serve_briefly(server_config *options, int (*use)(void *arg), void *arg);

#endif
