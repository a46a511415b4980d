/* banditd: the daemon and its administration. */
#include "server/commands/admin.h"
#include "server/commands/serve.h"
#include "server/commands/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- one thread for OpenBLAS --------------------------------------------------------------------------- */

/* OpenBLAS starts its own threads before main begins, each with 128 MiB of address space, and if that fails it tries
 * again for ever. Only the environment can prevent this, so the program replaces itself once, before any library is
 * initialized. Therefore only system calls may be used here. */
#define ONE_THREAD "OPENBLAS_NUM_THREADS=1"
enum { NAME_SIZE = sizeof ONE_THREAD - 2, VARIABLES_MAX = 4096 };

static void start_with_one_thread(int argc, char **argv, char **environment)
{
    static char one_thread[] = ONE_THREAD, path[4096];
    static char *changed[VARIABLES_MAX + 2];
    size_t n = 0;
    (void)argc;
    for (char **variable = environment; *variable; variable++) {
        if (strcmp(*variable, one_thread) == 0 || n == VARIABLES_MAX)
            return;
        if (strncmp(*variable, one_thread, NAME_SIZE) != 0)
            changed[n++] = *variable;
    }
    changed[n] = one_thread;
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size > 0 && strstr(path, "/banditd"))
        execve(path, argv, changed); /* if this fails, OpenBLAS has its threads */
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(int, char **, char **) = start_with_one_thread;

/* ---- commands ------------------------------------------------------------------------------------------ */

static void print_form(FILE *out, const char *first, const char *command, const char *summary)
{
    fprintf(out, "%-6s banditd %-22s %s\n", first, command, summary);
}

static int usage(FILE *out)
{
    print_form(out, "usage:", "serve [options]", "serve studies over HTTP (banditd serve --help)");
    for (const admin_command *c = admin_commands; c->name; c++) {
        char form[64];
        char summary[128];
        snprintf(form, sizeof form, "%s %s", c->name, c->operands);
        snprintf(summary, sizeof summary, "%s (banditd %s --help)", c->summary, c->name);
        print_form(out, "", form, summary);
    }
    print_form(out, "", "token ...", "create, list and revoke tokens (banditd token --help)");
    print_form(out, "", "version", "print the version");
    return out == stdout ? 0 : 2;
}

/* Opens the standard streams that are closed. Otherwise a file that is opened later would get such a number, and the
 * output meant for the stream. */
static bool open_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    return fd >= 0 && close(fd) == 0;
}

/* For a command that has ended with this status, and whose purpose is its output. */
static int when_written(int status)
{
    bool failed = ferror(stdout), cut = fflush(stdout) != 0;
    if (status != 0 || !(failed || cut))
        return status;
    fprintf(stderr, "banditd: standard output: %s\n", cut ? strerror(errno) : "it could not be written");
    return 1;
}

int main(int argc, char **argv)
{
    if (!open_standard_streams())
        return 1;
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0))
        return when_written(usage(stdout));
    if (argc == 2 && (strcmp(argv[1], "version") == 0 || strcmp(argv[1], "--version") == 0)) {
        puts("banditd " BANDITD_VERSION);
        return when_written(0);
    }
    if (argc >= 2 && strcmp(argv[1], "token") == 0)
        return when_written(token_command(argc - 2, argv + 2));
    for (const admin_command *c = admin_commands; argc >= 2 && c->name; c++)
        if (strcmp(argv[1], c->name) == 0)
            return c->run(argc - 2, argv + 2, c);
    if (argc < 2 || strcmp(argv[1], "serve") != 0) {
        if (argc >= 2)
            fprintf(stderr, "banditd: unknown command '%s%s%s'\n", argv[1], argc > 2 ? " " : "",
                    argc > 2 ? argv[2] : "");
        return usage(stderr);
    }
    return serve(argc - 2, argv + 2);
}
