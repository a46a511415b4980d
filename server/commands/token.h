/* `banditd token`: makes, lists and revokes tokens, of a database whose server runs or not. */
#ifndef SERVER_COMMANDS_TOKEN_H
#define SERVER_COMMANDS_TOKEN_H

/* argv: what follows `token`. The program's exit code. */
int token_command(int argc, char **argv);

#endif
