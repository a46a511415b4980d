/* `banditd serve`. */
#ifndef SERVER_SERVE_H
#define SERVER_SERVE_H

/* argv: the options. The program's exit code. */
int serve(int argc, char **argv);

#endif
