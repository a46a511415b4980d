/* The limits of a control group, read from files as the kernel writes them. */
#include "server/base/control_group.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

static char mount[] = "/tmp/banditd-groups-XXXXXX", membership[64];

static const char *const folders[] = {"", "/system", "/system/banditd"};
static const char *const files[] = {"/cpu.max", "/memory.max"};

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void set_limit(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s%s", mount, name);
    write_file(path, text);
}

static int set_up(void **state)
{
    (void)state;
    char path[128];
    assert_non_null(mkdtemp(mount));
    snprintf(membership, sizeof membership, "%s/membership", mount);
    for (size_t i = 1; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", mount, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char path[128];
    remove(membership);
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;) {
        for (size_t j = 0; j < sizeof files / sizeof *files; j++) {
            snprintf(path, sizeof path, "%s%s%s", mount, folders[i], files[j]);
            remove(path);
        }
        snprintf(path, sizeof path, "%s%s", mount, folders[i]);
        remove(path);
    }
    return 0;
}

static double processors(void)
{
    return control_group_limit(mount, membership, "cpu.max");
}

static void without_files_there_is_no_limit(void **state)
{
    (void)state;
    assert_true(isinf(processors()));
    write_file(membership, "0::/\n");
    assert_true(isinf(processors()));
}

/* In a container, its own group is the root. */
static void the_root_of_a_container_has_its_limits(void **state)
{
    (void)state;
    set_limit("/cpu.max", "250000 100000\n");
    set_limit("/memory.max", "1073741824\n");
    assert_true(processors() == 2.5);
    assert_true(control_group_limit(mount, membership, "memory.max") == 1073741824.0);
    set_limit("/cpu.max", "max 100000\n");
    assert_true(isinf(processors()));
}

/* A service has a group of its own, and those above it may have lower limits. */
static void the_lowest_limit_on_the_way_counts(void **state)
{
    (void)state;
    write_file(membership, "9:name=systemd:/other\n0::/system/banditd\n");
    set_limit("/system/banditd/cpu.max", "300000 100000\n");
    assert_true(processors() == 3.0);
    set_limit("/system/cpu.max", "20000 40000\n");
    assert_true(processors() == 0.5);
    set_limit("/system/cpu.max", "max 100000\n");
    assert_true(processors() == 3.0);
    write_file(membership, "0::/system\n");
    assert_true(isinf(processors()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_files_there_is_no_limit),
        cmocka_unit_test(the_root_of_a_container_has_its_limits),
        cmocka_unit_test(the_lowest_limit_on_the_way_counts),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
