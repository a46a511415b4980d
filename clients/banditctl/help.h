/* Texts that are made from the tables of commands and options: the help and the shell's completion. */
#ifndef CLIENTS_BANDITCTL_HELP_H
#define CLIENTS_BANDITCTL_HELP_H

#include "clients/banditctl/options.h"

/* Prints the help of one command, or of all (c NULL), on standard output. */
void help_print(const command_list *commands, const command *c);

/* Prints the possible completions of the last of these words, one per line. Calls `studies` where the id of a
 * study is expected. */
void complete_words(const command_list *commands, char *const *words, size_t n,
                    void (*studies)(const char *prefix));

/* Prints the commands that begin with this word. */
void help_print_group(const command_list *commands, const char *word);

#endif
