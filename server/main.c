/* banditd: the daemon and its administration. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "version") == 0) {
        puts("banditd " BANDITD_VERSION);
        return 0;
    }
    fputs("usage: banditd version\n", stderr);
    return 2;
}
