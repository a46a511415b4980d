/* Sets of arms that grow: the visited points of a space, and candidates that are added to a study. */
#include "core/arms/arms_storage.h"
#include "core/base/allocate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARMS = 0x7fffffff, SMALLEST_TABLE = 64 };

bandit_status bandit_arms_new_space(bandit_arms **out, const bandit_parameter *parameters, size_t n,
                                    bandit_error *err)
{
    *out = NULL;
    bandit_arms *arms = calloc(1, sizeof *arms);
    if (!arms)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bandit_space_new(&arms->space, parameters, n, err);
    if (status != BANDIT_OK) {
        bandit_arms_free(arms);
        return status;
    }
    arms->dimension = arms->space->dimension;
    arms->finished = true;
    *out = arms;
    return BANDIT_OK;
}

bool bandit_arms_is_open_space(const bandit_arms *arms)
{
    return arms->space && !arms->space->closed;
}

const bandit_parameter *bandit_arms_parameters(const bandit_arms *arms, size_t *n)
{
    *n = arms->space ? arms->space->n : 0;
    return arms->space ? arms->space->parameters : NULL;
}

size_t bandit_arms_point_width(const bandit_arms *arms)
{
    return arms->space ? arms->space->n : arms->dimension;
}

size_t bandit_arms_feature_parameter(const bandit_arms *arms, size_t j)
{
    assert(arms->space && j < arms->dimension);
    return arms->space->owner[j];
}

size_t bandit_arms_space_size(const bandit_arms *arms)
{
    assert(arms->space);
    return arms->space->size;
}

bandit_status bandit_arms_check_point(const bandit_arms *arms, const double *coded, bandit_error *err)
{
    assert(arms->space);
    return bandit_space_check_point(arms->space, coded, err);
}

void bandit_arms_constrain(bandit_arms *arms, bandit_rules *rules)
{
    assert(arms->space && arms->n == 0 && !arms->space->rules);
    arms->space->rules = rules;
}

bool bandit_arms_allows(const bandit_arms *arms, const double *coded, size_t *rule)
{
    const bandit_rules *rules = arms->space->rules;
    for (*rule = 0; rules && *rule < rules->n; ++*rule) {
        if (rules->slack(rules, *rule, coded) > 0.0)
            return false;
    }
    return true;
}

static bool count_point(void *context, const double *coded)
{
    size_t *left = context;
    (void)coded;
    if (*left == 0)
        return false;
    --*left;
    return true;
}

bandit_status bandit_arms_count_allowed(const bandit_arms *arms, size_t most, size_t *count,
                                        bandit_error *err)
{
    size_t left = most;
    bool complete;
    bandit_status status = bandit_space_walk(arms->space, count_point, &left, &complete, err);
    *count = complete ? most - left : SIZE_MAX;
    return status;
}

/* ---- looking up ---------------------------------------------------------------------------------------- */

static bool same_point(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])))
            return false;
    }
    return true;
}

/* FNV-1a over the bits of the values, with an extra mixing step. −0 counts as 0, and all NaN are alike. */
static size_t hash_point(const double *coded, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) {
        double value = isnan(coded[i]) ? (double)NAN : coded[i] + 0.0;
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        h = (h ^ (isnan(coded[i]) ? 1 : bits)) * 0x100000001b3u;
        h ^= h >> 29;
    }
    return (size_t)(h ^ h >> 32);
}

/* The slot of the table that holds this point, or the free slot where it belongs. */
static size_t slot_of(const bandit_space *s, const double *coded)
{
    size_t mask = s->n_table - 1, slot = hash_point(coded, s->n) & mask;
    while (s->table[slot] != 0 && !same_point(s->coded + (s->table[slot] - 1) * s->n, coded, s->n))
        slot = (slot + 1) & mask;
    return slot;
}

size_t bandit_arms_find(const bandit_arms *arms, const double *coded)
{
    const bandit_space *s = arms->space;
    assert(s);
    if (s->n_table == 0)
        return SIZE_MAX;
    uint32_t entry = s->table[slot_of(s, coded)];
    return entry == 0 ? SIZE_MAX : entry - 1;
}

void bandit_arms_coded(const bandit_arms *arms, size_t arm, double *out)
{
    const bandit_space *s = arms->space;
    assert(s && arm < arms->n);
    memcpy(out, s->coded + arm * s->n, s->n * sizeof *out);
}

/* ---- growing ------------------------------------------------------------------------------------------- */

/* Makes the table large enough to be at most half full with `wanted` arms, and inserts the n existing
 * ones. */
static bool reserve_table(bandit_space *s, size_t n, size_t wanted)
{
    size_t size = s->n_table ? s->n_table : SMALLEST_TABLE;
    while (size / 2 < wanted)
        size *= 2;
    if (size == s->n_table)
        return true;
    uint32_t *table = bandit_alloc_zeroed(size, sizeof *table);
    if (!table)
        return false;
    free(s->table);
    s->table = table;
    s->n_table = size;
    for (size_t a = 0; a < n; a++)
        s->table[slot_of(s, s->coded + a * s->n)] = (uint32_t)a + 1;
    return true;
}

/* Reserves memory for n more arms. Unused features are set to zero, because they pad the last tile. */
static bool reserve_arms(bandit_arms *arms, size_t n)
{
    bandit_space *s = arms->space;
    size_t wanted = arms->n + n, tile = arms->dimension * BANDIT_TILE;
    size_t used = arms->n_tiles * tile, features = bandit_pieces(wanted, BANDIT_TILE) * tile;
    size_t before = arms->capacity_features;
    if (!bandit_reserve_keep((void **)&arms->features, &arms->capacity_features, used, features,
                             sizeof(double)))
        return false;
    if (arms->capacity_features > before)
        memset(arms->features + used, 0, (arms->capacity_features - used) * sizeof(double));
    if (!s)
        return true;
    return bandit_reserve_keep((void **)&s->coded, &s->capacity_coded, arms->n * s->n, wanted * s->n,
                               sizeof(double)) &&
           reserve_table(s, arms->n, wanted);
}

/* Appends an arm with these features; its memory must have been reserved. */
static void add_arm(bandit_arms *arms, const double *features)
{
    size_t a = arms->n, d = arms->dimension;
    for (size_t j = 0; j < d; j++)
        arms->features[(a / BANDIT_TILE * d + j) * BANDIT_TILE + a % BANDIT_TILE] = features[j];
    arms->n = a + 1;
    arms->n_tiles = bandit_pieces(arms->n, BANDIT_TILE);
}

/* Removes the arms from n on. */
static void drop_arms(bandit_arms *arms, size_t n)
{
    for (size_t a = n; a < arms->n; a++) {
        for (size_t j = 0; j < arms->dimension; j++)
            arms->features[(a / BANDIT_TILE * arms->dimension + j) * BANDIT_TILE + a % BANDIT_TILE] = 0.0;
    }
    arms->n = n;
    arms->n_tiles = bandit_pieces(n, BANDIT_TILE);
    if (arms->space && arms->space->table) {
        memset(arms->space->table, 0, arms->space->n_table * sizeof *arms->space->table);
        for (size_t a = 0; a < n; a++)
            arms->space->table[slot_of(arms->space, arms->space->coded + a * arms->space->n)] =
                (uint32_t)a + 1;
    }
}

/* Appends a point; its memory must have been reserved. `features` is scratch. */
static bandit_status append_point(bandit_arms *arms, const double *coded, double *features, size_t row,
                                  bandit_error *err)
{
    bandit_space *s = arms->space;
    bandit_error why;
    if (bandit_space_check_point(s, coded, &why) != BANDIT_OK)
        return bandit_fail(err, BANDIT_INVALID_ARMS, "", "row %zu, %s", row, why.message);
    size_t slot = slot_of(s, coded);
    if (s->table[slot] != 0)
        return bandit_fail(err, BANDIT_INVALID_ARMS, "", "row %zu repeats the point of arm %u", row,
                           s->table[slot] - 1);
    for (size_t i = 0; i < s->n; i++)
        s->coded[arms->n * s->n + i] = isnan(coded[i]) ? (double)NAN : coded[i] + 0.0; /* −0 becomes 0 */
    bandit_space_encode(s, coded, features);
    add_arm(arms, features);
    s->table[slot] = (uint32_t)arms->n;
    return BANDIT_OK;
}

static bandit_status append_features(bandit_arms *arms, const double *raw, double *features, size_t row,
                                     bandit_error *err)
{
    for (size_t j = 0; j < arms->dimension; j++) {
        features[j] = (raw[j] - arms->shift[j]) * arms->factor[j];
        if (!isfinite(raw[j]))
            return bandit_fail(err, BANDIT_INVALID_ARMS, "", "row %zu, column %zu is not a finite number",
                               row, j);
        if (!isfinite(features[j]))
            return bandit_fail(err, BANDIT_INVALID_ARMS, "", "row %zu, column %zu overflows when scaled", row,
                               j);
    }
    add_arm(arms, features);
    return BANDIT_OK;
}

bandit_status bandit_arms_append(bandit_arms *arms, const double *rows, size_t n, bandit_error *err)
{
    assert(arms->finished);
    if (arms->matrix || (arms->space && arms->space->closed))
        return bandit_fail(err, BANDIT_UNSUPPORTED, "", "candidates cannot be added to this set");
    if (n > MAX_ARMS - arms->n)
        return bandit_fail(err, BANDIT_INVALID_ARMS, "",
                           "the number of candidates must be from 1 to 2147483647");
    size_t before = arms->n, width = bandit_arms_point_width(arms);
    double *features = bandit_alloc(arms->dimension, sizeof *features);
    bandit_status status = BANDIT_OK;
    if (!features || !reserve_arms(arms, n))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for %zu more candidates", n);
    for (size_t i = 0; i < n && status == BANDIT_OK; i++)
        status = arms->space ? append_point(arms, rows + i * width, features, i, err)
                             : append_features(arms, rows + i * width, features, i, err);
    if (status != BANDIT_OK && arms->n > before)
        drop_arms(arms, before);
    free(features);
    return status;
}

/* ---- enumeration --------------------------------------------------------------------------------------- */

void bandit_arms_first_point(const bandit_arms *arms, double *coded)
{
    assert(arms->space);
    bandit_space_first_point(arms->space, coded);
}

bool bandit_arms_next_point(const bandit_arms *arms, double *coded)
{
    return bandit_space_next_point(arms->space, coded);
}

typedef struct listing {
    bandit_arms *arms;
    bandit_status status;
    bandit_error *err;
} listing;

static bool list_point(void *context, const double *coded)
{
    listing *l = context;
    if (bandit_arms_count(l->arms) == MAX_ARMS)
        l->status =
            bandit_fail(l->err, BANDIT_INVALID_ARMS, "", "the space has too many points to list them");
    else
        l->status = bandit_arms_append(l->arms, coded, 1, l->err);
    return l->status == BANDIT_OK;
}

static bandit_status enumerate_allowed(bandit_arms *arms, bandit_error *err)
{
    listing l = {.arms = arms, .err = err};
    bool complete;
    bandit_status status = bandit_space_walk(arms->space, list_point, &l, &complete, err);
    if (status == BANDIT_OK)
        status = l.status;
    if (status == BANDIT_OK && !complete)
        status = bandit_fail(err, BANDIT_INVALID_ARMS, "", "the space has too many points to count");
    if (status == BANDIT_OK)
        arms->space->closed = true;
    else
        drop_arms(arms, 0);
    return status;
}

bandit_status bandit_arms_enumerate(bandit_arms *arms, bandit_error *err)
{
    bandit_space *s = arms->space;
    assert(s && arms->n == 0 && !s->closed);
    if (s->rules)
        return enumerate_allowed(arms, err);
    if (s->size > MAX_ARMS)
        return bandit_fail(err, BANDIT_INVALID_ARMS, "", "the space has too many points to list them");
    double *coded = bandit_alloc(s->n, sizeof *coded);
    bandit_status status = BANDIT_OK;
    if (!coded || !reserve_arms(arms, s->size))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for %zu candidates", s->size);
    if (status == BANDIT_OK) {
        bandit_space_first_point(s, coded);
        do {
            status = bandit_arms_append(arms, coded, 1, err);
        } while (status == BANDIT_OK && bandit_space_next_point(s, coded));
    }
    if (status == BANDIT_OK)
        s->closed = true;
    else
        drop_arms(arms, 0);
    free(coded);
    return status;
}
