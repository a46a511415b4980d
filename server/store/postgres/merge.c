/* Makes the statements that are sent from the journal. Rows of the same statement become one statement with arrays, so
 * that a group of many asks and tells becomes a few statements. The order of such rows may change, since they write
 * different tables, or different rows of one table. Every other statement keeps its place. */
#include "server/store/postgres/postgres.h"

#include "proto/arrays.h"

#include <stdlib.h>
#include <string.h>

/* Statements that are merged, the rows that they write, and their form with arrays. The first two parameters are a
 * study and a trial, or the first one a study. */
typedef enum row_kind { ROWS_NEW, ROWS_OF_TRIALS, ROWS_OF_ATTEMPTS, ROWS_OF_STUDIES } row_kind;

static const struct {
    int id, many;
    row_kind rows;
} merged[] = {
    {SQL_LOG_INSERT, PG_LOG_INSERTS, ROWS_NEW},
    {SQL_TRIAL_ISSUE, PG_TRIAL_ISSUES, ROWS_OF_TRIALS},
    {SQL_ATTEMPT_INSERT, PG_ATTEMPT_INSERTS, ROWS_OF_ATTEMPTS},
    {SQL_TRIAL_TELL, PG_TRIAL_TELLS, ROWS_OF_TRIALS},
    {PG_ATTEMPT_TOLD, PG_ATTEMPTS_TOLD, ROWS_OF_ATTEMPTS},
    {SQL_STUDY_SAVE, PG_STUDY_SAVES, ROWS_OF_STUDIES},
};
enum { KINDS = sizeof merged / sizeof *merged };
_Static_assert((int)KINDS == (int)PG_MERGED, "a list for each");

enum { largest_row = 1 << 14 }; /* bytes: an array has less than 1 GiB */

/* Can the statement stay out of the merge without ending it? Its table is one that no other statement of an ask or tell
 * reads or writes; or its row is too large for an array. */
static bool stands_apart(int id, size_t size)
{
    return id == SQL_ANSWER_PUT || id == SQL_MEASUREMENT_PUT || (id == SQL_LOG_INSERT && size > largest_row);
}

static size_t kind_of(int id)
{
    size_t kind = 0;
    while (kind < KINDS && merged[kind].id != id)
        kind++;
    return kind;
}

/* ---- rows that have been written since the last other statement ---------------------------------------- */

/* Makes at least twice as many slots as entries. */
static bool make_slots(pg_merge *m, size_t most)
{
    size_t wanted = 64;
    while (wanted < 2 * most)
        wanted *= 2;
    if (wanted <= m->n_slots)
        return true;
    pg_slot *slots = calloc(wanted, sizeof *slots);
    if (!slots)
        return false;
    free(m->slots);
    m->slots = slots;
    m->n_slots = wanted;
    m->round = 0;
    return true;
}

/* Forgets the rows. This happens at every entry that is not merged, so its time must not depend on the number of
 * slots. */
static void clear_rows(pg_merge *m)
{
    if (++m->round > 0)
        return;
    memset(m->slots, 0, m->n_slots * sizeof *m->slots);
    m->round = 1;
}

/* The row's slot. *is_new: it was free. */
static pg_slot *find_slot(pg_merge *m, row_kind rows, const pg_bytes *bytes, size_t at, bool *is_new)
{
    enum { FIRST = 4, SECOND = 16 }; /* offsets of the values, after their lengths */
    pg_slot row = {.rows = (int)rows, .round = m->round};
    memcpy(&row.study, bytes->bytes + at + FIRST, sizeof row.study);
    if (rows != ROWS_OF_STUDIES)
        memcpy(&row.trial, bytes->bytes + at + SECOND, sizeof row.trial);
    uint64_t hash = (row.study * 0x9e3779b97f4a7c15u + (uint64_t)rows) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 29 ^ row.trial) * 0xbf58476d1ce4e5b9u;
    size_t place = (hash ^ hash >> 31) & (m->n_slots - 1);
    pg_slot *slot = &m->slots[place];
    while (slot->round == m->round &&
           (slot->rows != row.rows || slot->study != row.study || slot->trial != row.trial)) {
        place = (place + 1) & (m->n_slots - 1);
        slot = &m->slots[place];
    }
    *is_new = slot->round != m->round;
    if (*is_new)
        *slot = row;
    return slot;
}

/* ---- sending ------------------------------------------------------------------------------------------- */

static bool add(pg_merge *m, pg_entry entry, const pg_bytes *bytes)
{
    if (!wire_grow(&m->list, &m->capacity, m->n + 1, 64, sizeof *m->list))
        return false;
    m->list[m->n++] = (pg_sending){.entry = entry, .bytes = bytes};
    return true;
}

/* Sends the rows that were collected. */
static bool close_lists(pg_merge *m, const pg_bytes *bytes)
{
    bool good = true;
    for (size_t kind = 0; good && kind < KINDS; kind++) {
        pg_rows *rows = &m->rows[kind];
        pg_entry entry = {.id = merged[kind].many, .types = rows->types, .at = m->bytes.n};
        if (rows->n == 1)
            good = add(m, rows->only, bytes);
        else if (rows->n > 1)
            good = pg_encode_rows(&m->bytes, rows->only.types, bytes, rows->at, rows->n, rows->types) &&
                   add(m, entry, &m->bytes);
        rows->n = 0;
    }
    return good;
}

static bool collect(pg_merge *m, size_t kind, const pg_entry *entry, const pg_bytes *bytes)
{
    pg_rows *rows = &m->rows[kind];
    row_kind of = merged[kind].rows;
    if (of != ROWS_NEW) {
        bool is_new;
        pg_slot *slot = find_slot(m, of, bytes, entry->at, &is_new);
        if (!is_new && of == ROWS_OF_STUDIES) { /* the last row replaces earlier ones */
            rows->at[slot->row] = entry->at;
            rows->only = *entry;
            return true;
        }
        if (!is_new) { /* the row is written for the second time */
            if (!close_lists(m, bytes))
                return false;
            clear_rows(m);
            slot = find_slot(m, of, bytes, entry->at, &is_new);
        }
        slot->row = rows->n;
    }
    if (!wire_grow(&rows->at, &rows->capacity, rows->n + 1, 64, sizeof *rows->at))
        return false;
    rows->at[rows->n++] = entry->at;
    rows->only = *entry;
    return true;
}

bool pg_merge_entries(pg_merge *m, const pg_entry *entries, size_t n, const pg_bytes *bytes)
{
    m->n = m->bytes.n = 0;
    for (size_t kind = 0; kind < KINDS; kind++)
        m->rows[kind].n = 0; /* an earlier failure may have left rows */
    if (n == 1)
        return add(m, entries[0], bytes);
    bool good = make_slots(m, n);
    if (good)
        clear_rows(m);
    for (size_t i = 0; good && i < n; i++) {
        size_t kind = kind_of(entries[i].id);
        size_t size = (i + 1 < n ? entries[i + 1].at : bytes->n) - entries[i].at;
        if (stands_apart(entries[i].id, size)) {
            good = add(m, entries[i], bytes);
        } else if (kind < KINDS) {
            good = collect(m, kind, &entries[i], bytes);
        } else {
            good = close_lists(m, bytes) && add(m, entries[i], bytes);
            clear_rows(m);
        }
    }
    return good && close_lists(m, bytes);
}

void pg_merge_free(pg_merge *m)
{
    for (size_t kind = 0; kind < KINDS; kind++)
        free(m->rows[kind].at);
    free(m->list);
    free(m->slots);
    free(m->bytes.bytes);
}
