/* `banditd token`: creates, lists and revokes tokens, with or without a running server. */
#ifndef SERVER_COMMANDS_TOKEN_H
#define SERVER_COMMANDS_TOKEN_H

/* argv: the arguments after `token`. Returns the program's exit code. */
int token_command(int argc, char **argv);

#endif
