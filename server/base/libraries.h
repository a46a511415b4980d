/* What is known of the libraries that the server runs on, by version. libraries.c defines what is declared here. */
#ifndef SERVER_BASE_LIBRARIES_H
#define SERVER_BASE_LIBRARIES_H

/* Logs the version, and what is known of it and handled here, for debugging; warns of one that is older than those
 * that the tests have run with. version: numbers and dots, perhaps with a suffix; NULL: unknown. */
void libraries_check(const char *name, const char *version);

/* As strverscmp for such versions: negative: a is older. */
int libraries_compare(const char *a, const char *b);

#endif
