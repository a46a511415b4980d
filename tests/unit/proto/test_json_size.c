/* The estimate of a tree's memory against what jansson allocates, for texts of every shape. */
#include "proto/json_size.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t in_use, most;

static void *counted(size_t size)
{
    size_t *block = malloc(size + 16);
    if (!block)
        return NULL;
    *block = (size + 8 + 15) / 16 * 16; /* as glibc rounds */
    *block = *block < 32 ? 32 : *block;
    in_use += *block;
    most = in_use > most ? in_use : most;
    return (char *)block + 16;
}

static void give_back(void *pointer)
{
    if (!pointer)
        return;
    size_t *block = (size_t *)(void *)((char *)pointer - 16);
    in_use -= *block;
    free(block);
}

static void check(const char *piece, size_t times)
{
    size_t width = strlen(piece), size = 2 + times * width;
    char *text = malloc(size + 1);
    assert_non_null(text);
    text[0] = '[';
    for (size_t i = 0; i < times; i++)
        memcpy(text + 1 + i * width, piece, width);
    text[size - 2] = ']'; /* instead of the last comma */
    text[size - 1] = ' ';
    in_use = most = 0;
    json_t *json = json_loadb(text, size, 0, NULL);
    assert_non_null(json);
    size_t guess = wire_tree_bytes(text, size);
    if (guess < in_use || guess > 8 * in_use)
        fail_msg("%s: %zu bytes guessed, %zu in use", piece, guess, in_use);
    json_decref(json);
    free(text);
}

static void guesses_are_near(void **state)
{
    static const char *const pieces[] = {
        "[],",
        "{},",
        "1,",
        "0.25,",
        "true,",
        "\"\",",
        "\"a string of some length\",",
        "[[[[]]]],",
        "{\"a\":{}},",
        "{\"trial\":1,\"value\":0.5},",
        "[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8],",
        "{\"a\":1,\"b\":2,\"c\":3,\"d\":\"x\"},",
    };
    (void)state;
    json_set_alloc_funcs(counted, give_back);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        check(pieces[i], 20000);
}

/* Commas and brackets in strings are not counted, and broken text is read to its end. */
static void strings_are_strings(void **state)
{
    (void)state;
    assert_true(wire_tree_bytes("\"[[[{{{,,,:::\"", 14) < 200);
    assert_true(wire_tree_bytes("\"\\\"[[[{{{\"", 10) < 200);
    assert_true(wire_tree_bytes("\"\\", 2) < 200);
    assert_true(wire_tree_bytes("", 0) < 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(guesses_are_near),
                                       cmocka_unit_test(strings_are_strings)};
    return cmocka_run_group_tests_name("json_size", tests, NULL, NULL);
}
