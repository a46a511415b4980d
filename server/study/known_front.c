#include "server/study/known_front.h"

#include "proto/arrays.h"
#include "server/data/modelled.h"
#include "server/study/commit.h"
#include "server/study/every_result.h"

#include <stdlib.h>
#include <string.h>

/* Sets out to the rewards of the k objectives. False: the result breaks a bound, or is not valid. */
static bool read_rewards(const study_config *config, double value, const char *recorded, double *out)
{
    double values[WIRE_MAX_MODELLED], rewards[WIRE_MAX_MODELLED];
    size_t k = 0;
    if (!modelled_values(config, value, recorded, values) || !modelled_is_feasible(config, values) ||
        !modelled_rewards(config, value, recorded, rewards))
        return false;
    for (size_t j = 0; j < config->n_modelled; j++)
        if (config->metrics[j].objective)
            out[k++] = rewards[j];
    return true;
}

/* Is `a` at least as good as `b` in every objective? */
static bool covers(const double *a, const double *b, size_t k)
{
    size_t j = 0;
    while (j < k && a[j] >= b[j])
        j++;
    return j == k;
}

/* Adds the point unless another covers it, and drops the points that it covers. *added says which. False: out of
 * memory. */
static bool add(known_front *front, const double *point, size_t k, bool *added)
{
    size_t kept = 0;
    *added = false;
    for (size_t i = 0; i < front->n; i++)
        if (covers(front->points + i * k, point, k))
            return true;
    for (size_t i = 0; i < front->n; i++)
        if (!covers(point, front->points + i * k, k))
            memmove(front->points + kept++ * k, front->points + i * k, k * sizeof *point);
    front->n = kept;
    if (!wire_grow(&front->points, &front->capacity, (kept + 1) * k, 64, sizeof *front->points))
        return false;
    memcpy(front->points + kept * k, point, k * sizeof *point);
    front->n++;
    *added = true;
    return true;
}

typedef struct search {
    study *s;
    bool failed; /* out of memory */
} search;

static void consider(void *arg, int64_t id, double value, const char *recorded)
{
    search *f = arg;
    const study_config *config = f->s->config;
    double point[WIRE_MAX_MODELLED] = {0};
    bool added;
    (void)id;
    if (read_rewards(config, value, recorded, point))
        f->failed |= !add(&f->s->front, point, config->n_objectives, &added);
}

static void consider_imported(void *arg, const store_imported *row)
{
    consider(arg, 0, row->value, row->recorded);
}

/* False: the turn has failed. */
static bool find(study *s)
{
    search f = {.s = s};
    if (s->front.known)
        return true;
    s->front.n = 0;
    store_status status = study_visit_results(s, consider, &f);
    if (status == STORE_OK)
        status = study_visit_imported(s, consider_imported, &f);
    if (status == STORE_OK && f.failed)
        status = STORE_NO_MEMORY;
    s->front.known = status == STORE_OK;
    if (status != STORE_OK)
        commit_fail(s->commit, status); /* the study is loaded again */
    return s->front.known;
}

bool study_enters_front(study *s, double value, const char *recorded)
{
    double point[WIRE_MAX_MODELLED] = {0};
    bool added;
    if (s->config->n_objectives < 2 || !find(s) || !read_rewards(s->config, value, recorded, point))
        return false;
    if (add(&s->front, point, s->config->n_objectives, &added))
        return added;
    commit_fail(s->commit, STORE_NO_MEMORY);
    return false;
}

bool study_front_before(study *s, bool has_value, double value, const char *recorded)
{
    size_t k = s->config->n_objectives;
    double point[WIRE_MAX_MODELLED] = {0};
    if (k < 2 || !find(s) || !has_value || !read_rewards(s->config, value, recorded, point))
        return false;
    for (size_t i = 0; i < s->front.n; i++)
        if (covers(s->front.points + i * k, point, k))
            return covers(point, s->front.points + i * k, k);
    return false;
}

bool study_front_after(study *s, bool was_on_front, bool has_value, double value, const char *recorded)
{
    if (!was_on_front)
        return has_value && study_enters_front(s, value, recorded);
    study_forget_front(s);
    return study_front_before(s, has_value, value, recorded); /* what is found includes the new value */
}

void study_forget_front(study *s)
{
    s->front.known = false;
}

void known_front_clear(known_front *front)
{
    free(front->points);
    *front = (known_front){0};
}
