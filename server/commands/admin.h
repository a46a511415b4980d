/* The commands of banditd that work on the database of --db instead of serving it. A command is given the
 * arguments after its name, prints errors on standard error, and returns the exit status. */
#ifndef SERVER_COMMANDS_ADMIN_H
#define SERVER_COMMANDS_ADMIN_H

enum {
    ADMIN_DONE = 0,
    ADMIN_FAILED = 1,  /* the command failed and changed nothing */
    ADMIN_USAGE = 2,   /* the command line is wrong */
    ADMIN_UNSOUND = 3, /* check, copy: completed, and found problems */
};

typedef struct admin_command {
    const char *name;
    const char *operands; /* as in a usage line; "" */
    const char *summary;
    const char *help; /* paragraphs for --help */
    int (*run)(int argc, char **argv, const struct admin_command *command);
} admin_command;

/* Ends with an entry whose name is NULL. */
extern const admin_command admin_commands[];

#endif
