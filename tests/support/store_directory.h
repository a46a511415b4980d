/* A directory of its own for a test's database. */
#ifndef TESTS_SUPPORT_STORE_DIRECTORY_H
#define TESTS_SUPPORT_STORE_DIRECTORY_H

typedef struct store_directory {
    char directory[64];
    char path[96]; /* <directory>/test.db */
} store_directory;

void store_directory_make(store_directory *out);
void store_directory_remove(const store_directory *directory); /* and the files in it */

/* The same for cmocka_unit_test_setup_teardown: *state is the directory. */
int store_directory_setup(void **state);
int store_directory_teardown(void **state);

#endif
