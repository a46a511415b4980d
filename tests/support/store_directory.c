#include "tests/support/store_directory.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

void store_directory_make(store_directory *out)
{
    snprintf(out->directory, sizeof out->directory, "/tmp/banditd-store-XXXXXX");
    assert_non_null(mkdtemp(out->directory));
    snprintf(out->path, sizeof out->path, "%s/test.db", out->directory);
}

void store_directory_remove(const store_directory *directory)
{
    DIR *entries = opendir(directory->directory);
    struct dirent *entry;
    assert_non_null(entries);
    while ((entry = readdir(entries))) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", directory->directory, entry->d_name);
        if (entry->d_name[0] != '.')
            assert_int_equal(unlink(path), 0);
    }
    closedir(entries);
    assert_int_equal(rmdir(directory->directory), 0);
}

int store_directory_setup(void **state)
{
    static store_directory directory;
    store_directory_make(&directory);
    *state = &directory;
    return 0;
}

int store_directory_teardown(void **state)
{
    store_directory_remove(*state);
    return 0;
}
