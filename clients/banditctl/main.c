/* banditctl: the client of a banditd server. */
#include "clients/banditctl/commands.h"
#include "clients/banditctl/help.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    arguments a;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
        fputs("banditctl: cannot initialize libcurl\n", stderr);
        return STATUS_FAILED;
    }
    /* The shell's completion passes the words typed so far; the last one is incomplete. */
    if (argc > 2 && strcmp(argv[1], "complete") == 0) {
        complete_words(&command_table, argv + 2, (size_t)argc - 2, print_study_ids);
        return STATUS_OK;
    }
    switch (arguments_read(&a, &command_table, argc, argv)) {
    case ARGUMENTS_HELP:
        if (a.topic)
            help_print_group(&command_table, a.topic);
        else
            help_print(&command_table, a.command);
        return STATUS_OK;
    case ARGUMENTS_WRONG:
        return STATUS_USAGE;
    case ARGUMENTS_RUN:
        break;
    }
    /* For every connection of this program, and for those of the commands that `work` runs. */
    if (option_given(&a, OPTION_CACERT))
        setenv("BANDITD_CACERT", option_text(&a, OPTION_CACERT), 1);
    exit_status status = a.command->run(&a);
    if (status == STATUS_OK && (fflush(stdout) != 0 || ferror(stdout))) {
        fputs("banditctl: cannot write to standard output\n", stderr);
        status = STATUS_FAILED;
    }
    curl_global_cleanup();
    return (int)status;
}
