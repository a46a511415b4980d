/* What banditd does beside serving, on the database of its --db. Each command is given what follows its name,
 * says on standard error what went wrong, and returns the exit status. */
#ifndef SERVER_COMMANDS_ADMIN_H
#define SERVER_COMMANDS_ADMIN_H

enum {
    ADMIN_DONE = 0,
    ADMIN_FAILED = 1,  /* it could not be done, and nothing was changed */
    ADMIN_USAGE = 2,   /* the command line is wrong */
    ADMIN_UNSOUND = 3, /* check: it was done, and there are problems */
};

typedef struct admin_command {
    const char *name;
    const char *operands; /* as in a usage line; "" */
    const char *summary;
    const char *help; /* paragraphs */
    int (*run)(int argc, char **argv, const struct admin_command *command);
} admin_command;

/* Closed by a null name. */
extern const admin_command admin_commands[];

#endif
