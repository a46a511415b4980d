/* Known problems of the libraries that the server uses, by version. libraries.c defines what is declared here. */
#ifndef SERVER_BASE_LIBRARIES_H
#define SERVER_BASE_LIBRARIES_H

/* Logs the version at level debug, with the problems of it that are known and handled. Warns of a version that is older
 * than those that the tests have run with. version: numbers and dots, perhaps with a suffix; NULL: unknown. */
void libraries_check(const char *name, const char *version);

/* Compares such versions like strverscmp; negative: a is older. */
int libraries_compare(const char *a, const char *b);

#endif
