#include "server/study/known_front.h"

#include "bandit/front.h"
#include "server/data/modelled.h"
#include "server/study/commit.h"
#include "server/study/every_result.h"

#include <stdlib.h>
#include <string.h>

/* Each result is compared with all points of the front, in the study's turn. */
enum { MOST_POINTS = 2000 };

/* Sets out to the rewards of the objectives. False: the result breaks a bound, or is not valid. */
static bool read_rewards(const study_config *config, double value, const char *recorded, double *out)
{
    double values[WIRE_MAX_MODELLED];
    size_t k = 0;
    if (!modelled_values(config, value, recorded, values) || !modelled_is_feasible(config, values))
        return false;
    for (size_t j = 0; j < config->n_modelled; j++)
        if (config->metrics[j].objective)
            out[k++] = config->signs[j] * values[j];
    return true;
}

/* Adds the point if it is on the front, and drops the points that it dominates. False: out of memory. */
static bool add(known_front *front, const double *point, size_t k, bool *added)
{
    size_t which[MOST_POINTS + 1];
    *added = false;
    if (front->large)
        return true;
    if (!front->points && !(front->points = calloc((MOST_POINTS + 1) * k, sizeof *front->points)))
        return false;
    memcpy(front->points + front->n * k, point, k * sizeof *point);
    for (size_t i = 0; i < front->n; i++)
        which[i] = i;
    size_t size = bandit_front_extend(front->points, front->n, front->n + 1, k, which, front->n);
    *added = size <= MOST_POINTS && which[size - 1] == front->n;
    for (size_t i = 0; i < size; i++)
        memmove(front->points + i * k, front->points + which[i] * k, k * sizeof *point);
    front->n = size;
    front->large = size > MOST_POINTS;
    return true;
}

typedef struct front_search {
    study *s;
    bool failed; /* out of memory */
} front_search;

static void take_result(void *arg, int64_t id, double value, const char *recorded)
{
    front_search *f = arg;
    double point[WIRE_MAX_OBJECTIVES] = {0};
    bool added;
    (void)id;
    if (read_rewards(f->s->config, value, recorded, point))
        f->failed |= !add(&f->s->front, point, f->s->config->n_objectives, &added);
}

static void take_imported(void *arg, const store_imported *row)
{
    take_result(arg, 0, row->value, row->recorded);
}

/* False: the turn has failed. */
static bool find(study *s)
{
    front_search f = {.s = s};
    if (s->front.known)
        return true;
    s->front.n = 0;
    s->front.large = false;
    store_status status = study_visit_results(s, take_result, &f);
    if (status == STORE_OK)
        status = study_visit_imported(s, take_imported, &f);
    if (status == STORE_OK && f.failed)
        status = STORE_NO_MEMORY;
    s->front.known = status == STORE_OK;
    if (status != STORE_OK)
        commit_fail(s->commit, status); /* the study is loaded again */
    return s->front.known;
}

bool study_enters_front(study *s, double value, const char *recorded)
{
    double point[WIRE_MAX_OBJECTIVES] = {0};
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
    double point[WIRE_MAX_OBJECTIVES] = {0};
    if (k < 2 || !find(s) || s->front.large || !has_value || !read_rewards(s->config, value, recorded, point))
        return false;
    size_t i = 0;
    while (i < s->front.n && !bandit_dominates(s->front.points + i * k, point, k))
        i++;
    return i == s->front.n;
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
