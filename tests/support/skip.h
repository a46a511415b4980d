/* Skipping a test and saying why: the runner of suites shows the reason. */
#ifndef TESTS_SUPPORT_SKIP_H
#define TESTS_SUPPORT_SKIP_H

/* Arguments as of printf, e.g. skip_because("set BANDITD_DATA to a folder with %s", name). Does not return.
 */
#define skip_because(...)                                                                                    \
    do {                                                                                                     \
        print_message("skipped: ");                                                                          \
        print_message(__VA_ARGS__);                                                                          \
        print_message("\n");                                                                                 \
        skip();                                                                                              \
    } while (0)

#endif
