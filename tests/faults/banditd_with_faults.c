/* banditd on a disk that fails on demand: the released program's parts, with the layer of
 * tests/support/store_faults.h under its database. Takes the options of `banditd serve`, and orders on
 * standard input, each answered by a line on the file descriptor $BANDITD_ANSWERS once it is in force:
 *
 *   full N | short N | io N | sync N [once]   the Nth such call from now on fails, and (without `once`) all
 * later ones power N SEED                              the Nth call is the last one none the disk is well
 * again; answers how many calls have failed calls                                     answers how many calls
 * there were */
#include "server/commands/serve.h"
#include "tests/support/store_faults.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static store_fault fault_of(const char *word)
{
    static const struct {
        const char *word;
        store_fault fault;
    } faults[] = {{"full", STORE_FAULT_FULL},
                  {"short", STORE_FAULT_SHORT},
                  {"io", STORE_FAULT_IO},
                  {"sync", STORE_FAULT_SYNC}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(word, faults[i].word) == 0)
            return faults[i].fault;
    return STORE_FAULT_NONE;
}

static void *obey(void *arg)
{
    char line[128], word[16], last[16];
    FILE *answers = arg;
    while (fgets(line, sizeof line, stdin)) {
        int nth = 0;
        unsigned seed = 0;
        *last = '\0';
        if (sscanf(line, "power %d %u", &nth, &seed) == 2) {
            store_faults_cut_power(nth, seed);
            fprintf(answers, "power\n");
        } else if (strcmp(line, "calls\n") == 0) {
            fprintf(answers, "%d\n", store_faults_calls());
        } else if (strcmp(line, "none\n") == 0) {
            fprintf(answers, "%d\n", store_faults_failed());
            store_faults_set(STORE_FAULT_NONE, 0, 0);
        } else if (sscanf(line, "%15s %d %15s", word, &nth, last) >= 2 && fault_of(word)) {
            store_faults_set(fault_of(word), nth, strcmp(last, "once") == 0);
            fprintf(answers, "%s\n", word);
        } else {
            fprintf(answers, "no such order\n");
        }
        fflush(answers);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const char *descriptor = getenv("BANDITD_ANSWERS");
    FILE *answers = descriptor ? fdopen((int)strtol(descriptor, NULL, 10), "w") : NULL;
    if (argc < 2 || strcmp(argv[1], "serve") != 0 || !answers)
        return 2;
    store_faults_install(getenv("BANDITD_POWER") != NULL);
    if (pthread_create(&thread, NULL, obey, answers) != 0)
        return 2;
    pthread_detach(thread);
    return serve(argc - 2, argv + 2);
}
