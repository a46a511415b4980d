/* The members of events. Only event*.c include this header.
 *
 *   event_list.c     the list: the members of each type of event
 *   event_values.c   kinds of members that have one value
 *   event_arrays.c   kinds of members that have many values
 *   event.c          copies, writes and reads whole events, member by member
 *
 * A new type of event needs a line in STORE_EVENT_LIST and a struct (records.h), and its members in
 * event_list.c. A new kind of member needs its three functions in one of the two files of kinds. */
#ifndef SERVER_STORE_EVENT_KINDS_H
#define SERVER_STORE_EVENT_KINDS_H

#include "proto/json_writer.h"
#include "server/store/arena.h"

#include <jansson.h>

typedef struct event_kind event_kind;

/* One entry of the list. */
typedef struct event_member {
    const char *name; /* in the payload. Names are stored: never change one */
    const event_kind *kind;
    size_t at;    /* offset of the value in store_event */
    size_t other; /* offset of a second value that the kind needs, such as an array's length or whether a
                         * value is present */
    const char *beside; /* name of a second member that the kind also handles, or NULL */
} event_member;

/* A payload that is being read. */
typedef struct event_reader {
    const json_t *object; /* numbers are reals */
    const char *bad;      /* name of the first member that is missing or wrong; NULL: none */
    bool no_memory;
    void *arrays[8]; /* the event points to these until it is copied */
    size_t n_arrays;
} event_reader;

/* How members of this kind are written, read and copied. */
struct event_kind {
    void (*write)(wire_writer *w, const event_member *m, const store_event *event);
    void (*read)(event_reader *r, const event_member *m, store_event *event);
    void (*copy)(arena *a, const event_member *m, store_event *event); /* an arena_parts; NULL: no part */
};

/* The kind of an array, with the functions for its elements. `kind` comes first, because pointers to the two are
 * converted into one another. */
typedef struct event_array_kind {
    event_kind kind;
    size_t size; /* of an element */
    void (*write)(wire_writer *w, const void *element);
    bool (*read)(const json_t *entry, void *element); /* false: not such an element */
    void (*copy)(arena *a,
                 void *element); /* makes its doubles canonical and copies its texts; NULL: it has neither */
} event_array_kind;

/* The members of a type of event, in the order of the payload. */
typedef struct event_members {
    const event_member *list;
    size_t n;
} event_members;

extern const event_members store_event_members[STORE_EVENT_TYPES];

/* ---- event_values.c ------------------------------------------------------------------------------------ */

extern const event_kind event_text;             /* NULL is copied as "" */
extern const event_kind event_text_unless_null; /* left out when it is NULL */
extern const event_kind event_text_unless_empty;
extern const event_kind event_integer;
extern const event_kind event_integer_or_0;     /* 0 if an older entry does not have it */
extern const event_kind event_integer_unless_0; /* left out when it is 0 */
extern const event_kind event_repeats;          /* at least 1; 1 if it is missing; 0 is copied as 1 */
extern const event_kind event_repeats_or_0;     /* at least 1; left out when it is 0 */
extern const event_kind event_attempt;          /* int32_t, at least 1 */
extern const event_kind event_attempt_or_0;     /* int32_t, at least 0 */
extern const event_kind event_candidate;        /* uint32_t */
extern const event_kind event_real;             /* finite */
extern const event_kind event_real_unless_0;    /* finite; left out when it is 0 */
extern const event_kind event_result;           /* a finite real; copying asserts this */
extern const event_kind event_real_or_nan;      /* NaN is null */
extern const event_kind event_result_if; /* a result; left out, and NaN, unless the bool `other` is true */
extern const event_kind event_real_if_trial; /* 0 unless the int64_t `other` is a trial's number */
extern const event_kind event_boolean;
extern const event_kind event_boolean_unless_false; /* left out when it is false */
extern const event_kind event_boolean_if; /* true only if the bool `other` is; otherwise `beside` is wrong */
extern const event_kind event_study_state;
extern const event_kind event_trial_state;

double event_canonical(double x); /* +0 for -0, NaN for infinities */

/* A real, or null for a double that is not finite. */
void event_write_real(wire_writer *w, double value);

/* False: the value is not such a number; *out is set in any case. */
bool event_read_real(const json_t *value, double *out); /* null is NaN */
bool event_read_integer(const json_t *value, int64_t *out);
bool event_read_index(const json_t *value, uint32_t *out);

/* The member's value as an integer. If it is not one: 0, and *r notes that the member is wrong. */
int64_t event_member_integer(event_reader *r, const char *name);

/* Notes in *r that the member is missing or wrong. */
void event_member_wrong(event_reader *r, const char *name);

/* ---- event_arrays.c: `other` is the array's length, unless said otherwise ------------------------------ */

extern const event_array_kind event_indices; /* uint32_t */
extern const event_array_kind event_sums;    /* store_arm_sum: [arm, count, sum] */
extern const event_array_kind event_picks;   /* store_pick: [candidate, variance] */
extern const event_array_kind
    event_observations; /* store_observation: [candidate, repeats, value (, recorded (, cost))] */
extern const event_kind event_texts;       /* const char *; none of them is NULL */
extern const event_kind event_bytes;       /* in hexadecimal */
extern const event_kind event_held_values; /* store_held; left out when nothing is held */
extern const event_kind event_points;      /* store_points; left out when there are none */
extern const event_kind event_rows;        /* store_points, at least one row */

/* ---- addresses ----------------------------------------------------------------------------------------- */

static inline const void *event_value(const store_event *event, size_t offset)
{
    return (const unsigned char *)event + offset;
}

static inline void *event_place(store_event *event, size_t offset)
{
    return (unsigned char *)event + offset;
}

#endif
