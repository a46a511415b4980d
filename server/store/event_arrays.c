#include "server/store/event_kinds.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Memory for an array that is being read. NULL: out of memory, which *r notes. */
static void *new_array(event_reader *r, size_t n, size_t size)
{
    assert(r->n_arrays < sizeof r->arrays / sizeof *r->arrays);
    void *array = calloc(n ? n : 1, size);
    if (array)
        r->arrays[r->n_arrays++] = array;
    else
        r->no_memory = true;
    return array;
}

/* A pointer to the array, whatever the type of its elements. */
static const void *array_at(const store_event *event, const event_member *m)
{
    const void *array;
    memcpy(&array, event_value(event, m->at), sizeof array);
    return array;
}

static void set_array(store_event *event, const event_member *m, const void *array)
{
    memcpy(event_place(event, m->at), &array, sizeof array);
}

static size_t length_of(const event_member *m, const store_event *event)
{
    return *(const size_t *)event_value(event, m->other);
}

static void set_length(const event_member *m, store_event *event, size_t n)
{
    *(size_t *)event_place(event, m->other) = n;
}

/* ---- arrays of elements -------------------------------------------------------------------------------- */

static const event_array_kind *array_kind_of(const event_member *m)
{
    return (const event_array_kind *)m->kind;
}

static void write_array(wire_writer *w, const event_member *m, const store_event *event)
{
    const event_array_kind *kind = array_kind_of(m);
    const unsigned char *elements = array_at(event, m);
    size_t n = length_of(m, event);
    wire_key(w, m->name);
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++)
        kind->write(w, elements + i * kind->size);
    wire_array_end(w);
}

static void read_array(event_reader *r, const event_member *m, store_event *event)
{
    const event_array_kind *kind = array_kind_of(m);
    const json_t *entries = json_object_get(r->object, m->name);
    size_t n = json_array_size(entries);
    if (!json_is_array(entries))
        event_member_wrong(r, m->name);
    unsigned char *elements = new_array(r, n, kind->size);
    if (!elements)
        return;
    for (size_t i = 0; i < n; i++)
        if (!kind->read(json_array_get(entries, i), elements + i * kind->size))
            event_member_wrong(r, m->name);
    set_array(event, m, elements);
    set_length(m, event, n);
}

/* Elements are copied one by one, because while an arena measures, there is no copy in which they could be changed. */
static void copy_array(arena *a, const event_member *m, store_event *event)
{
    const event_array_kind *kind = array_kind_of(m);
    const unsigned char *from = array_at(event, m);
    size_t n = length_of(m, event);
    unsigned char *elements = arena_copy(a, from, n * kind->size);
    max_align_t element[4];
    assert(kind->size <= sizeof element);
    for (size_t i = 0; kind->copy && i < n; i++) {
        memcpy(element, from + i * kind->size, kind->size);
        kind->copy(a, element);
        if (elements)
            memcpy(elements + i * kind->size, element, kind->size);
    }
    set_array(event, m, elements);
}

#define ARRAY(type, write, read, copy)                                                                       \
    {                                                                                                        \
        {write_array, read_array, copy_array}, sizeof(type), write, read, copy                               \
    }

static void write_index(wire_writer *w, const void *element)
{
    wire_integer_value(w, *(const uint32_t *)element);
}

static bool read_index(const json_t *entry, void *element)
{
    return event_read_index(entry, element);
}

const event_array_kind event_indices = ARRAY(uint32_t, write_index, read_index, NULL);

static void write_sum(wire_writer *w, const void *element)
{
    const store_arm_sum *sum = element;
    wire_array_begin(w);
    wire_integer_value(w, sum->arm);
    wire_integer_value(w, (int64_t)sum->count);
    event_write_real(w, sum->sum);
    wire_array_end(w);
}

static bool read_sum(const json_t *entry, void *element)
{
    store_arm_sum *sum = element;
    int64_t count;
    bool good = event_read_index(json_array_get(entry, 0), &sum->arm) &&
                event_read_integer(json_array_get(entry, 1), &count) && count >= 0 &&
                event_read_real(json_array_get(entry, 2), &sum->sum);
    sum->count = good ? (uint64_t)count : 0;
    return good;
}

const event_array_kind event_sums = ARRAY(store_arm_sum, write_sum, read_sum, NULL);

static void write_pick(wire_writer *w, const void *element)
{
    const store_pick *pick = element;
    wire_array_begin(w);
    wire_integer_value(w, pick->candidate);
    event_write_real(w, pick->variance);
    wire_array_end(w);
}

static bool read_pick(const json_t *entry, void *element)
{
    store_pick *pick = element;
    return event_read_index(json_array_get(entry, 0), &pick->candidate) &&
           event_read_real(json_array_get(entry, 1), &pick->variance);
}

static void copy_pick(arena *a, void *element)
{
    (void)a;
    store_pick *pick = element;
    pick->variance = event_canonical(pick->variance);
}

const event_array_kind event_picks = ARRAY(store_pick, write_pick, read_pick, copy_pick);

static void write_observation(wire_writer *w, const void *element)
{
    const store_observation *observation = element;
    wire_array_begin(w);
    wire_integer_value(w, observation->candidate);
    wire_integer_value(w, observation->repeats);
    wire_real(w, observation->value);
    bool has_cost = observation->cost != 0.0;
    if (has_cost || (observation->recorded && *observation->recorded))
        wire_string(w, observation->recorded ? observation->recorded : "");
    if (has_cost)
        wire_real(w, observation->cost);
    wire_array_end(w);
}

static bool read_observation(const json_t *entry, void *element)
{
    store_observation *observation = element;
    const json_t *recorded = json_array_get(entry, 3), *cost = json_array_get(entry, 4);
    observation->recorded = recorded ? json_string_value(recorded) : "";
    observation->cost = 0.0;
    bool good = !cost || (event_read_real(cost, &observation->cost) && isfinite(observation->cost));
    return good && observation->recorded &&
           event_read_index(json_array_get(entry, 0), &observation->candidate) &&
           event_read_integer(json_array_get(entry, 1), &observation->repeats) &&
           event_read_real(json_array_get(entry, 2), &observation->value) && isfinite(observation->value);
}

static void copy_observation(arena *a, void *element)
{
    store_observation *observation = element;
    assert(isfinite(observation->value));
    observation->value = event_canonical(observation->value);
    observation->cost = event_canonical(observation->cost);
    observation->recorded = arena_text_or_empty(a, observation->recorded);
}

const event_array_kind event_observations =
    ARRAY(store_observation, write_observation, read_observation, copy_observation);

/* ---- texts --------------------------------------------------------------------------------------------- */

static void write_texts(wire_writer *w, const event_member *m, const store_event *event)
{
    const char *const *texts = array_at(event, m);
    size_t n = length_of(m, event);
    wire_key(w, m->name);
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++)
        wire_string(w, texts[i]);
    wire_array_end(w);
}

static void read_texts(event_reader *r, const event_member *m, store_event *event)
{
    const json_t *entries = json_object_get(r->object, m->name);
    size_t n = json_array_size(entries);
    if (!json_is_array(entries))
        event_member_wrong(r, m->name);
    const char **texts = new_array(r, n, sizeof *texts);
    if (!texts)
        return;
    for (size_t i = 0; i < n; i++) {
        texts[i] = json_string_value(json_array_get(entries, i));
        if (!texts[i])
            event_member_wrong(r, m->name);
    }
    set_array(event, m, texts);
    set_length(m, event, n);
}

static void copy_texts(arena *a, const event_member *m, store_event *event)
{
    const char *const *texts = array_at(event, m);
    size_t n = length_of(m, event);
    const char **copies = arena_copy(a, texts, n * sizeof *texts);
    for (size_t i = 0; i < n; i++) {
        const char *copy = arena_text(a, texts[i]); /* while measuring, `texts` stay as they are */
        if (copies)
            copies[i] = copy;
    }
    set_array(event, m, copies);
}

const event_kind event_texts = {write_texts, read_texts, copy_texts};

/* ---- bytes --------------------------------------------------------------------------------------------- */

static void write_bytes(wire_writer *w, const event_member *m, const store_event *event)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = array_at(event, m);
    size_t n = length_of(m, event);
    char *text = malloc(2 * n + 1);
    if (!text) {
        w->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * n] = '\0';
    wire_key(w, m->name);
    wire_string(w, text);
    free(text);
}

/* The value of a hexadecimal digit; -1: it is not one. */
static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_bytes(event_reader *r, const event_member *m, store_event *event)
{
    const char *text = json_string_value(json_object_get(r->object, m->name));
    size_t n = text ? strlen(text) / 2 : 0;
    if (!text || text[2 * n] != '\0')
        event_member_wrong(r, m->name);
    unsigned char *bytes = new_array(r, n, 1);
    if (!bytes)
        return;
    for (size_t i = 0; i < n; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            event_member_wrong(r, m->name);
        bytes[i] = (unsigned char)((high & 15) << 4 | (low & 15));
    }
    set_array(event, m, bytes);
    set_length(m, event, n);
}

static void copy_bytes(arena *a, const event_member *m, store_event *event)
{
    set_array(event, m, arena_copy(a, array_at(event, m), length_of(m, event)));
}

const event_kind event_bytes = {write_bytes, read_bytes, copy_bytes};

/* ---- reals --------------------------------------------------------------------------------------------- */

static const double *copy_reals(arena *a, const double *values, size_t n)
{
    double *copy = arena_copy(a, values, n * sizeof *values);
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = event_canonical(copy[i]);
    return copy;
}

static void write_reals(wire_writer *w, const double *values, size_t n)
{
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++)
        event_write_real(w, values[i]);
    wire_array_end(w);
}

/* False: one of the entries is not a real. */
static bool read_reals(const json_t *entries, double *values, size_t n)
{
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good &= event_read_real(json_array_get(entries, i), &values[i]);
    return good;
}

static void write_held(wire_writer *w, const event_member *m, const store_event *event)
{
    const store_held *held = event_value(event, m->at);
    if (held->n_values == 0)
        return;
    wire_key(w, m->name);
    write_reals(w, held->values, held->n_values);
    wire_key(w, m->beside);
    wire_integer_value(w, (int64_t)held->n_picks);
}

static void read_held(event_reader *r, const event_member *m, store_event *event)
{
    const json_t *entries = json_object_get(r->object, m->name);
    size_t n = json_array_size(entries);
    if (!entries)
        return;
    double *values = new_array(r, n, sizeof *values);
    if (!values)
        return;
    if (!json_is_array(entries) || !read_reals(entries, values, n))
        event_member_wrong(r, m->name);
    int64_t n_picks = event_member_integer(r, m->beside);
    if (n_picks < 0)
        event_member_wrong(r, m->beside);
    *(store_held *)event_place(event, m->at) =
        (store_held){.values = values, .n_values = n, .n_picks = (size_t)n_picks};
}

static void copy_held(arena *a, const event_member *m, store_event *event)
{
    store_held *held = event_place(event, m->at);
    held->values = copy_reals(a, held->values, held->n_values);
}

const event_kind event_held_values = {write_held, read_held, copy_held};

static void write_rows(wire_writer *w, const event_member *m, const store_event *event)
{
    const store_points *points = event_value(event, m->at);
    size_t dimension = (size_t)points->dimension;
    wire_key(w, m->beside);
    wire_integer_value(w, points->dimension);
    wire_key(w, m->name);
    wire_array_begin(w);
    for (size_t i = 0; i < points->n; i++)
        write_reals(w, points->rows + i * dimension, dimension);
    wire_array_end(w);
}

/* True: each entry is an array of this many values. */
static bool are_rows(const json_t *entries, size_t dimension)
{
    for (size_t i = 0; i < json_array_size(entries); i++)
        if (json_array_size(json_array_get(entries, i)) != dimension)
            return false;
    return true;
}

/* Allocates only if the entries are rows, so that a large dimension alone takes no memory. */
static void read_rows(event_reader *r, const event_member *m, store_event *event)
{
    const json_t *entries = json_object_get(r->object, m->name);
    int64_t dimension = event_member_integer(r, m->beside);
    size_t n = json_array_size(entries), width = (size_t)dimension;
    if (n == 0 || dimension < 1 || !are_rows(entries, width)) {
        event_member_wrong(r, m->name);
        return;
    }
    double *rows = new_array(r, n * width, sizeof *rows);
    if (!rows)
        return;
    for (size_t i = 0; i < n; i++)
        if (!read_reals(json_array_get(entries, i), rows + i * width, width))
            event_member_wrong(r, m->name);
    *(store_points *)event_place(event, m->at) = (store_points){.n = n, .dimension = dimension, .rows = rows};
}

static void copy_rows(arena *a, const event_member *m, store_event *event)
{
    store_points *points = event_place(event, m->at);
    points->rows = copy_reals(a, points->rows, points->n * (size_t)points->dimension);
}

const event_kind event_rows = {write_rows, read_rows, copy_rows};

static void write_points(wire_writer *w, const event_member *m, const store_event *event)
{
    const store_points *points = event_value(event, m->at);
    if (points->n > 0)
        write_rows(w, m, event);
}

static void read_points(event_reader *r, const event_member *m, store_event *event)
{
    if (json_object_get(r->object, m->name))
        read_rows(r, m, event);
}

const event_kind event_points = {write_points, read_points, copy_rows};
