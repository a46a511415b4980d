/* banditd: the daemon and its administration. */
#include "server/blas.h"
#include "server/serve.h"
#include "server/token_command.h"

#include <stdio.h>
#include <string.h>

static int usage(FILE *out)
{
    fputs("usage: banditd serve [options]   serve studies over HTTP (banditd serve --help)\n"
          "       banditd token …           make, list and revoke tokens (banditd token --help)\n"
          "       banditd version           print the version\n",
          out);
    return out == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0))
        return usage(stdout);
    if (argc == 2 && (strcmp(argv[1], "version") == 0 || strcmp(argv[1], "--version") == 0)) {
        puts("banditd " BANDITD_VERSION);
        return 0;
    }
    if (argc >= 2 && strcmp(argv[1], "token") == 0)
        return token_command(argc - 2, argv + 2);
    if (argc < 2 || strcmp(argv[1], "serve") != 0)
        return usage(stderr);
    if (!blas_prepare())
        return 1;
    return serve(argc - 2, argv + 2);
}
