/* The engine's decisions, as recorded by an earlier version.
 *
 * Every file of tests/golden/recorded is one test: a made-up study (tests/support/scripted_study.h says what
 * its settings mean), and all that its engine let be seen when it was recorded. The same is to be seen now,
 * also when the engine is stored and restored on the way, which the recorded one was not.
 *
 * `test_recorded --record [NAME]...` writes what is seen, instead of comparing it: for new files, or where
 * decisions change on purpose (docs/testing.md says what goes with that). */
#include "bandit/engine.h"
#include "core/simd/simd.h"
#include "tests/support/engine_view.h"
#include "tests/support/must.h"
#include "tests/support/recording.h"
#include "tests/support/scripted_study.h"

#include <assert.h>
#include <dirent.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER "tests/golden/recorded"

enum {
    MOST_CASES = 1000,
    AT_LEAST = 190,
    MOST_OUT = 512,
    MOST_JOINED = 4096,
    FIRST_HELD = 2000000 /* number of the point whose first parameter is held in the first batch */
};

extern void openblas_set_num_threads(int threads);

/* Stands in the place of the engine's own choice: the program is linked so. */
static const bandit_simd *code_path;
const bandit_simd *__wrap_bandit_simd_best(void);
const bandit_simd *__wrap_bandit_simd_best(void)
{
    return code_path;
}

typedef struct trial {
    bandit_pick pick;
    bool chosen; /* by the engine */
} trial;

typedef struct study {
    script script;
    bandit_options options;
    engine_view view;
    bool restarts;
    bandit_arms *arms;
    bandit_engine *engine;
    trial out[MOST_OUT]; /* whose results are out, the oldest first */
    size_t n_out;
    bandit_pick pending[MOST_OUT], since[MOST_OUT]; /* out when the batch began; hallucinated since then */
    size_t n_pending, n_since;
    bandit_result
        joined[MOST_JOINED]; /* in the order in which they joined; without repeats: without a reward */
    size_t n_joined;
    uint32_t withheld[MOST_OUT]; /* ascending */
    size_t n_withheld;
    uint64_t told, handed_out;
} study;

/* ---- storing and restoring ----------------------------------------------------------------------------- */

static void *copied(const void *from, size_t n, size_t size)
{
    void *copy = malloc(n * size + 1);
    assert_non_null(copy);
    if (n > 0)
        memcpy(copy, from, n * size);
    return copy;
}

/* A set that grows is made anew from its points, as after a start. */
static void remake_arms(study *s)
{
    size_t n = bandit_arms_count(s->arms), width = bandit_arms_point_width(s->arms);
    bandit_arms *again = script_arms(&s->script);
    bandit_error err;
    for (size_t i = 0; i < n; i++) {
        double coded[SCRIPT_WIDTH];
        assert_true(width <= SCRIPT_WIDTH);
        bandit_arms_coded(s->arms, i, coded);
        must(bandit_arms_append(again, coded, 1, &err), &err);
    }
    bandit_arms_free(s->arms);
    s->arms = again;
}

/* Frees the engine and makes its equal, on a list that has `appended` points more; from another state than
 * its own, unless that is NULL. */
static void restart(study *s, size_t appended, const unsigned char *other, size_t n_other)
{
    bandit_checkpoint c;
    bandit_error err;
    bandit_engine_checkpoint(s->engine, &c);
    uint32_t *dictionary = copied(c.dictionary, c.n_dictionary, sizeof *dictionary);
    bandit_arm_sum *sums = copied(c.sums, c.n_sums, sizeof *sums);
    c.n_state = other ? n_other : c.n_state;
    unsigned char *state = copied(other ? other : c.state, c.n_state, 1);
    c.dictionary = dictionary;
    c.sums = sums;
    c.state = state;
    bandit_engine_free(s->engine);
    if (script_is_open(&s->script))
        remake_arms(s);
    for (size_t i = 0; i < appended; i++) {
        double row[SCRIPT_WIDTH];
        script_row(&s->script, bandit_arms_count(s->arms), row);
        must(bandit_arms_append(s->arms, row, 1, &err), &err);
    }
    must(bandit_engine_restore(&s->engine, s->arms, &s->options, 0, &c, s->pending, s->n_pending,
                               &bandit_executor_serial, &err),
         &err);
    s->view.engine = s->engine;
    s->view.arms = s->arms;
    must(bandit_engine_replay_picks(s->engine, s->since, s->n_since, &bandit_executor_serial, &err), &err);
    free(dictionary);
    free(sums);
    free(state);
}

/* ---- what happens -------------------------------------------------------------------------------------- */

static bool happens(const study *s, script_number what, uint64_t i, double share)
{
    return script_uniform(&s->script, what, i, 0) < share;
}

static bandit_result reward(study *s, uint32_t arm)
{
    uint64_t t = s->told++;
    bandit_result result = {.arm = arm, .repeats = 1, .reward = script_reward(&s->script, s->arms, arm, t)};
    if (happens(s, SCRIPT_REPEATED, t, s->script.repeated))
        result.repeats = 2 + (uint32_t)(3.0 * script_uniform(&s->script, SCRIPT_REPEATED, t, 1));
    return result;
}

static bool is_withheld(const study *s, uint32_t arm)
{
    size_t i = 0;
    while (i < s->n_withheld && s->withheld[i] < arm)
        i++;
    return i < s->n_withheld && s->withheld[i] == arm;
}

static void withhold(study *s, uint32_t arm)
{
    size_t at = s->n_withheld;
    if (is_withheld(s, arm))
        return;
    assert_true(s->n_withheld < MOST_OUT);
    for (; at > 0 && s->withheld[at - 1] > arm; at--)
        s->withheld[at] = s->withheld[at - 1];
    s->withheld[at] = arm;
    s->n_withheld++;
}

/* An arm that somebody brings: of a list any, of a space another point, which joins it. */
static uint32_t brought(study *s, uint64_t number)
{
    bandit_error err;
    double coded[SCRIPT_WIDTH];
    if (!script_is_open(&s->script))
        return (uint32_t)(script_uniform(&s->script, SCRIPT_OWN, number, 1) *
                          (double)bandit_arms_count(s->arms));
    script_point(&s->script, number, coded);
    size_t arm = bandit_arms_find(s->arms, coded);
    if (arm == SIZE_MAX) {
        arm = bandit_arms_count(s->arms);
        must(bandit_arms_append(s->arms, coded, 1, &err), &err);
    }
    return (uint32_t)arm;
}

/* Results before batch number `round`: some of what is out, two by two the later one first, and imports. */
static size_t tell(study *s, size_t round, bandit_result *results)
{
    size_t n = 0, kept = 0, n_imports = round == 0 ? s->script.imports : round == 3 ? s->script.later : 0;
    for (size_t i = 0; i < s->n_out; i++) {
        trial t = s->out[i];
        if (script_uniform(&s->script, SCRIPT_TOLD, round, i) >= s->script.told) {
            s->out[kept++] = t;
            continue;
        }
        assert_true(s->n_joined < MOST_JOINED);
        bandit_result result = reward(s, t.pick.arm);
        result.chosen = t.chosen;
        result.variance = t.pick.variance;
        if (happens(s, SCRIPT_FAILED, s->told, s->script.failed) ||
            script_is_barred(&s->script, s->arms, t.pick.arm)) {
            result.repeats = 0;
            s->joined[s->n_joined++] = result;
            withhold(s, t.pick.arm);
            continue;
        }
        results[n++] = result;
    }
    s->n_out = kept;
    for (size_t i = 0; i + 1 < n && s->script.told < 1.0; i += 2) {
        bandit_result swap = results[i];
        results[i] = results[i + 1];
        results[i + 1] = swap;
    }
    for (size_t i = 0; i < n_imports; i++)
        results[n++] = reward(s, brought(s, 1000 * (round + 1) + i));
    assert_true(s->n_joined + n <= MOST_JOINED);
    memcpy(s->joined + s->n_joined, results, n * sizeof *results);
    s->n_joined += n;
    return n;
}

/* What an arm has, added up in the order in which its results joined. */
static bandit_arm_sum sum_of(const study *s, uint32_t arm)
{
    bandit_arm_sum sum = {.arm = arm};
    for (size_t i = 0; i < s->n_joined; i++) {
        if (s->joined[i].arm != arm)
            continue;
        sum.count += s->joined[i].repeats;
        sum.sum += s->joined[i].repeats > 0 ? s->joined[i].repeats * s->joined[i].reward : 0.0;
    }
    return sum;
}

/* Corrects three results: one is another one, one is taken back, or there is one where there was none. */
static void amend(study *s, size_t round)
{
    enum { N = 3 };
    bandit_amendment amendments[N];
    bandit_arm_sum sums[N];
    size_t n_sums = 0, shares = s->n_joined / N;
    bandit_error err;
    if (s->n_joined < 2 * N)
        return;
    for (size_t i = 0; i < N; i++) {
        double u = script_uniform(&s->script, SCRIPT_AMENDED, round, 1 + i);
        bandit_result *r = &s->joined[(i + (size_t)(u * (double)shares)) * N % s->n_joined];
        amendments[i] = (bandit_amendment){.arm = r->arm, .chosen = r->chosen, .variance = r->variance};
        amendments[i].was.repeats = r->repeats;
        amendments[i].was.reward = r->repeats > 0 ? r->reward : 0.0;
        r->repeats = r->repeats > 0 && i == 1 ? 0 : 1 + (uint32_t)(i % 2);
        r->reward += 0.25 * s->script.magnitude;
        amendments[i].now.repeats = r->repeats;
        amendments[i].now.reward = r->repeats > 0 ? r->reward : 0.0;
    }
    for (size_t i = 0; i < N; i++) { /* ascending, without repetition */
        size_t at = 0;
        while (at < n_sums && sums[at].arm < amendments[i].arm)
            at++;
        if (at == n_sums || sums[at].arm != amendments[i].arm) {
            memmove(sums + at + 1, sums + at, (n_sums++ - at) * sizeof *sums);
            sums[at] = sum_of(s, amendments[i].arm);
        }
    }
    must(bandit_engine_amend(s->engine, amendments, N, sums, n_sums, NULL, 0, &err), &err);
}

static void begin(study *s, size_t round)
{
    static bandit_result results[MOST_JOINED];
    bandit_error err;
    size_t n = tell(s, round, results);
    for (size_t i = 0; i < s->n_out; i++)
        s->pending[i] = s->out[i].pick;
    s->n_pending = s->n_out;
    s->n_since = 0;
    must(bandit_engine_begin_batch(s->engine, results, n, s->pending, s->n_pending, &bandit_executor_serial,
                                   &err),
         &err);
}

static void note_out(study *s, bandit_pick pick, bool chosen)
{
    assert_true(s->n_out < MOST_OUT && s->n_since < MOST_OUT);
    s->out[s->n_out++] = (trial){.pick = pick, .chosen = chosen};
    s->since[s->n_since++] = pick;
}

static void choose(study *s, size_t round, bool second)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_pick picks[MOST_OUT];
    bandit_selection selection;
    bandit_error err;
    double fixed[SCRIPT_WIDTH];
    const script *p = &s->script;

    limits.max_picks = p->picks;
    if (s->options.horizon > 0)
        limits.remaining = s->options.horizon - s->handed_out;
    limits.withheld = s->withheld;
    limits.n_withheld = s->n_withheld;
    if (script_is_open(p)) {
        limits.failed = s->withheld;
        limits.n_failed = s->n_withheld;
    }
    if (second && p->beyond > 0 && round % p->beyond == p->beyond - 1) {
        limits.beyond_bound = true;
        limits.max_picks = 2;
    }
    if (script_is_space(p) && p->fixed > 0 && round % p->fixed == p->fixed - 1) {
        double held[SCRIPT_WIDTH];
        script_point(p, FIRST_HELD + round, held);
        for (size_t i = 0; i < bandit_arms_point_width(s->arms); i++)
            fixed[i] = i == 0 ? held[i] : NAN;
        limits.fixed = fixed;
    }
    bandit_status status =
        bandit_engine_select(s->engine, &limits, &bandit_executor_serial, picks, &selection, &err);
    if (status != BANDIT_OK) {
        recording_words(s->view.seen, "select", bandit_status_text(status));
        return;
    }
    engine_view_picks(&s->view, picks, &selection);
    for (size_t i = 0; i < selection.n_picks; i++)
        note_out(s, picks[i], true);
    s->handed_out += selection.n_picks;
}

static void propose(study *s, size_t round)
{
    bandit_error err;
    bandit_pick pick = {.arm = brought(s, 100 + round)};
    must(bandit_engine_replay_picks(s->engine, &pick, 1, &bandit_executor_serial, &err), &err);
    note_out(s, pick, false);
}

/* Records the state, or goes on from the one that was recorded: what an earlier version stored is read. */
static void store(study *s)
{
    bandit_checkpoint c;
    bandit_engine_checkpoint(s->engine, &c);
    size_t n = c.n_state;
    unsigned char *state = recording_stored(s->view.seen, "state", c.state, &n);
    if (s->restarts)
        restart(s, 0, state, n);
    free(state);
}

static void one_round(study *s, size_t round)
{
    if (s->script.appended > 0 && round == s->script.rounds / 2)
        restart(s, s->script.appended, NULL, 0);
    if (round > 0 && happens(s, SCRIPT_AMENDED, round, s->script.amended))
        amend(s, round);
    begin(s, round);
    engine_view_model(&s->view);
    if (round % s->script.looks == s->script.looks - 1)
        engine_view_posterior(&s->view);
    if (s->script.stored && round == s->script.rounds / 2)
        store(s);
    choose(s, round, false);
    if (happens(s, SCRIPT_OWN, round, s->script.own))
        propose(s, round);
    if (s->restarts && round % 4 == 2)
        restart(s, 0, NULL, 0);
    if (s->script.twice)
        choose(s, round, true);
    if (s->n_out > 0 && happens(s, SCRIPT_RETIRED, round, s->script.retired))
        withhold(s, s->out[s->n_out - 1].pick.arm);
}

typedef struct recorded_case {
    char path[sizeof FOLDER + 256], name[300], by[80];
    const bandit_simd *code_path;
    bool writes, restarts;
} recorded_case;

static void case_test(void **state)
{
    const recorded_case *c = *state;
    bandit_error err;
    study *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->view.seen = recording_open(c->path, c->writes, c->by);
    code_path = c->code_path;
    s->restarts = c->restarts;
    script_read(&s->script, s->view.seen);
    s->options = script_options(&s->script);
    s->arms = script_arms(&s->script);
    must(bandit_engine_new(&s->engine, s->arms, &s->options, 0, &err), &err);
    s->view.script = &s->script;
    s->view.engine = s->engine;
    s->view.arms = s->arms;
    for (size_t i = 0; i < s->script.withheld; i++)
        withhold(s, (uint32_t)(i * bandit_arms_count(s->arms) / s->script.withheld));
    for (size_t round = 0; round < s->script.rounds; round++)
        one_round(s, round);
    engine_view_sums(&s->view);
    /* How much is held is no decision, but is not to be another figure altogether; a restart changes how much
     * room there is to grow. */
    engine_view_memory(&s->view, s->restarts ? DBL_MAX : 0.5);
    recording_close(s->view.seen);
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
    free(s);
}

/* ---- all files ----------------------------------------------------------------------------------------- */

static int is_case(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".txt") == 0;
}

static bool is_wanted(const char *name, char *const *names, int n)
{
    size_t length = strlen(name) - strlen(".txt");
    for (int i = 0; i < n; i++) {
        if (strlen(names[i]) == length && strncmp(name, names[i], length) == 0)
            return true;
    }
    return n == 0;
}

/* The kernels that run on this processor, the engine's own choice first; the last ones run everywhere. */
static size_t code_paths(const bandit_simd **paths)
{
    static const char *const names[] = {"avx512", "avx2", "portable"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        paths[n] = bandit_simd_named(names[i]);
        n += paths[n] != NULL;
    }
    return n;
}

int main(int argc, char **argv)
{
    static recorded_case cases[MOST_CASES];
    static struct CMUnitTest tests[MOST_CASES];
    struct dirent **entries;
    const bandit_simd *paths[4];
    bool writes = argc > 1 && strcmp(argv[1], "--record") == 0;
    size_t n_tests = 0, n_paths = code_paths(paths);
    assert(n_paths > 0);
    size_t n_runs = writes ? 1 : n_paths < 2 ? 2 : n_paths;

    openblas_set_num_threads(1);
    int n = scandir(FOLDER, &entries, is_case, alphasort);
    if (n < AT_LEAST || (size_t)n * n_runs > MOST_CASES) {
        fprintf(stderr, "%d cases in " FOLDER ", not %d to %zu (run it from the project's folder)\n", n,
                AT_LEAST, MOST_CASES / n_runs);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        const char *file = entries[i]->d_name;
        bool wanted = is_wanted(file, argv + 1 + writes, argc - 1 - writes);
        for (size_t run = 0; run < n_runs && wanted; run++) {
            recorded_case *c = &cases[n_tests];
            *c = (recorded_case){.code_path = paths[run % n_paths], .writes = writes, .restarts = run > 0};
            snprintf(c->path, sizeof c->path, "%s/%s", FOLDER, file);
            snprintf(c->name, sizeof c->name, "%s, %s%s", file, c->code_path->name, run ? ", restarts" : "");
            snprintf(c->by, sizeof c->by, "banditd %s: test_recorded --record, %s", BANDITD_VERSION,
                     c->code_path->name);
            tests[n_tests++] =
                (struct CMUnitTest){.name = c->name, .test_func = case_test, .initial_state = c};
        }
        free(entries[i]);
    }
    free(entries);
    if (n_tests == 0) {
        fprintf(stderr, "no such case\n");
        return 1;
    }
    /* what the macro for tests does, which wants to know their number */
    return _cmocka_run_group_tests("recorded decisions", tests, n_tests, NULL, NULL);
}
