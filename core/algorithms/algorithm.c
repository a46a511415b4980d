#include "core/algorithms/algorithm.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- names -------------------------------------------------------------------------------------------- */

static const char *const names[] = {
#define X(enumerator, name) #name,
    BANDIT_ALGORITHM_LIST(X)
#undef X
        NULL};

const char *const *bandit_algorithm_names(void)
{
    return names;
}

const char *bandit_algorithm_name(bandit_algorithm algorithm)
{
    assert((unsigned)algorithm < BANDIT_ALGORITHMS);
    return names[algorithm];
}

const char *bandit_stop_rule_name(bandit_stop_rule rule)
{
    static const char *const stop_rules[BANDIT_STOP_RULES] = {
#define X(enumerator, name) [enumerator] = name,
        BANDIT_STOP_RULE_LIST(X)
#undef X
    };
    assert(rule > BANDIT_STOP_NONE && rule < BANDIT_STOP_RULES);
    return stop_rules[rule];
}

bool bandit_algorithm_parse(bandit_algorithm *out, const char *name)
{
    for (unsigned i = 0; i < BANDIT_ALGORITHMS; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (bandit_algorithm)i;
            return true;
        }
    }
    return false;
}

/* ---- for the algorithms ------------------------------------------------------------------------------- */

size_t bandit_engine_own_memory(const bandit_engine *engine)
{
    size_t doubles = engine->options.kernel.n_lengthscales + engine->covariance.dimension;
    return engine->table->size + doubles * sizeof(double);
}

size_t bandit_engine_memory(const bandit_engine *engine)
{
    return bandit_engine_own_memory(engine) + engine->table->memory(engine);
}

bandit_status bandit_engine_check_memory(const bandit_engine *engine, double bytes, bandit_error *err)
{
    if (bytes <= (double)engine->memory_limit)
        return BANDIT_OK;
    return bandit_fail(err, BANDIT_MEMORY_LIMIT, "",
                       "%s would need %.0f MB in addition to the candidates; the limit is %.0f MB",
                       bandit_algorithm_name(engine->options.algorithm), ceil(bytes / 1e6),
                       (double)engine->memory_limit / 1e6);
}

bandit_status bandit_engine_next_ledger(const bandit_engine *engine, bandit_ledger *out,
                                        const bandit_ledger *base, const bandit_result *results,
                                        size_t n_results, bandit_error *err)
{
    const bandit_ledger *given = engine->given;
    if (!given)
        return bandit_ledger_add(out, base, bandit_arms_count(engine->arms), results, n_results, err);
    return bandit_ledger_load(out, bandit_arms_count(engine->arms), given->sums, given->n, given->sum_squares,
                              err);
}

void bandit_engine_grow_norm_bound(bandit_engine *engine, double mean_norm,
                                   double (*radius)(const bandit_engine *engine, const void *batch),
                                   const void *batch)
{
    enum { MOST_DOUBLINGS = 64 };
    double *F = &engine->options.norm_bound;
    for (int i = 0; i < MOST_DOUBLINGS && engine->grows_norm_bound && mean_norm > *F + radius(engine, batch);
         i++)
        *F *= 2.0;
}

bool bandit_engine_uniform_arm(const bandit_engine *engine, bandit_purpose purpose, uint64_t index,
                               const bandit_select_limits *limits, uint32_t *arm)
{
    size_t n = bandit_arms_count(engine->arms);
    if (limits->n_withheld >= n)
        return false;
    uint64_t place =
        bandit_random_below(engine->options.seed, engine->batch, purpose, index, n - limits->n_withheld);
    /* the arm at that position among the arms that are not withheld */
    for (size_t i = 0; i < limits->n_withheld && limits->withheld[i] <= place; i++)
        place++;
    *arm = (uint32_t)place;
    return true;
}

bandit_status bandit_check_schedule(size_t value, const char *field, size_t most, uint64_t horizon,
                                    bandit_error *err)
{
    if (value > most)
        return bandit_fail(err, BANDIT_INVALID_OPTION, field, "must be at most %zu", most);
    if (value == 0 && horizon == 0)
        return bandit_fail(err, BANDIT_INVALID_OPTION, field, "must be at least 1 without a horizon");
    return BANDIT_OK;
}
