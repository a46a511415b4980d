/* `make bench-fit`: milliseconds of CPU that learning takes, by candidates with a reward and features. A fit
 * runs at a batch's start on the engine's lane: tells and reads go on meanwhile, asks that need the batch
 * wait. */
#include "bandit/engine.h"
#include "bandit/rng.h"
#include "core/learning/hyperparameters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

extern void openblas_set_num_threads(int threads);

static void must(bandit_status status, const bandit_error *err)
{
    if (status != BANDIT_OK) {
        fprintf(stderr, "%s: %s\n", bandit_status_text(status), err->message);
        exit(1);
    }
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double normal(uint64_t index)
{
    return bandit_random_normal(1, 2, BANDIT_PURPOSE_UNIFORM, index);
}

/* n arms of d features; rewards smooth in the first two, with noise; every `stray`-th a thousandfold. */
static double milliseconds(size_t n, size_t d, size_t stray)
{
    bandit_error err;
    bandit_arms *arms;
    bandit_options options = BANDIT_OPTIONS_INIT;
    bandit_fit_settings how;
    bandit_fitted prior, learned;
    bandit_ledger ledger = {0}, none = {0};
    double *rows = malloc(n * d * sizeof *rows);
    bandit_result *results = malloc(n * sizeof *results);
    if (!rows || !results)
        exit(1);
    for (size_t i = 0; i < n * d; i++)
        rows[i] = normal(i);
    for (size_t i = 0; i < n; i++) {
        double reward = 5.0 + sin(rows[i * d]) + rows[i * d + 1] + 0.1 * normal(n * d + i);
        results[i] = (bandit_result){
            .arm = (uint32_t)i, .repeats = 1, .reward = stray && i % stray == 5 ? 1000.0 * reward : reward};
    }
    must(bandit_arms_new(&arms, n, d, &err), &err);
    must(bandit_arms_set_rows(arms, 0, n, rows, &err), &err);
    must(bandit_arms_finish(arms, BANDIT_SCALING_STANDARDIZE, n, &err), &err);
    options.learn_lengthscale = options.learn_noise = options.standardize_rewards = true;
    must(bandit_fit_settings_init(&how, &options, arms, &err), &err);
    must(bandit_fitted_prior(&prior, &how, &err), &err);
    must(bandit_ledger_add(&ledger, &none, n, results, n, &err), &err);
    double start = cpu_seconds();
    must(bandit_refit(&learned, &prior, &how, &ledger, NULL, &(bandit_repeated){0}, &bandit_executor_serial,
                      &err),
         &err);
    double spent = 1e3 * (cpu_seconds() - start);
    bandit_fitted_clear(&learned);
    bandit_fitted_clear(&prior);
    bandit_fit_settings_clear(&how);
    bandit_ledger_clear(&ledger);
    bandit_arms_free(arms);
    free(rows);
    free(results);
    return spent;
}

int main(void)
{
    static const size_t dimensions[] = {2, 8, 20}, counts[] = {10, 50, 100, 200, 256, 500, 1000, 100000};
    openblas_set_num_threads(1);
    printf("ms of CPU a fit        d = 2        8       20   d = 8, 2 %% strays\n");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        printf("%6zu candidates ", counts[i]);
        for (size_t k = 0; k < sizeof dimensions / sizeof *dimensions; k++)
            printf(" %8.1f", milliseconds(counts[i], dimensions[k], 0));
        printf(" %12.1f\n", milliseconds(counts[i], 8, 50));
    }
    return 0;
}
