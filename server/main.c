/* banditd: the daemon and its administration. */
#include "server/base/blas.h"
#include "server/commands/admin.h"
#include "server/commands/serve.h"
#include "server/commands/token.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* A file that is opened while one of these is closed would get its number, and what is said there. */
static bool open_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    return fd >= 0 && close(fd) == 0;
}

int main(int argc, char **argv)
{
    if (!open_standard_streams())
        return 1;
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0))
        return usage(stdout);
    if (argc == 2 && (strcmp(argv[1], "version") == 0 || strcmp(argv[1], "--version") == 0)) {
        puts("banditd " BANDITD_VERSION);
        return 0;
    }
    if (argc >= 2 && strcmp(argv[1], "token") == 0)
        return token_command(argc - 2, argv + 2);
    for (const admin_command *c = admin_commands; argc >= 2 && c->name; c++)
        if (strcmp(argv[1], c->name) == 0)
            return c->run(argc - 2, argv + 2, c);
    if (argc < 2 || strcmp(argv[1], "serve") != 0) {
        if (argc >= 2)
            fprintf(stderr, "banditd: unknown command '%s%s%s'\n", argv[1], argc > 2 ? " " : "",
                    argc > 2 ? argv[2] : "");
        return usage(stderr);
    }
    if (!blas_prepare())
        return 1;
    return serve(argc - 2, argv + 2);
}
