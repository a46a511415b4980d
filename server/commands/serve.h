/* `banditd serve`. */
#ifndef SERVER_COMMANDS_SERVE_H
#define SERVER_COMMANDS_SERVE_H

#include "server/base/config.h"

/* argv: the options. The program's exit code. */
int serve(int argc, char **argv);

/* Serves on the owner's socket alone, for as long as `use` runs; its value, or −1 when it cannot. */
int serve_briefly(const server_config *options, int (*use)(void *arg), void *arg);

#endif
