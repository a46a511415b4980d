/* The memory backend: plain arrays under one lock, which a transaction holds for writing. A write is undone by cutting
 * back the study's log and applying the remaining events again. Only the files of the backend include this header.
 *
 *   memory.c  transactions, opening, closing
 *   tables.c  writes the tables, except those of trials
 *   trials.c  writes the tables of trials
 *   tokens.c  writes and reads tokens
 *   settings.c  writes and reads settings
 *   keys.c    writes and reads the keys of candidates
 *   read.c    reads */
#ifndef SERVER_STORE_MEMORY_MEMORY_H
#define SERVER_STORE_MEMORY_MEMORY_H

#include "server/store/backend.h"

typedef struct memory_log {
    store_event *event;
    char *payload;
    log_chain chain;
} memory_log;

typedef struct memory_trial {
    store_trial t;           /* worker and reason are owned */
    store_attempt *attempts; /* their strings are owned */
    size_t n_attempts;
    store_measurement *measurements; /* by attempt and step */
    size_t n_measurements;
} memory_trial;

typedef struct memory_batch {
    store_batch b; /* stop_rule, code_path and advice are owned */
    int64_t through_seq;
    uint32_t *dictionary;
} memory_batch;

typedef struct memory_study {
    struct memory_study *next; /* in descending order of number */
    bool staged;               /* readers do not see it */
    bool deleted, damaged;     /* damaged: memory ran out while a write was undone */
    study_record record;
    int64_t created_at;
    const char *id, *definition, *reason, *digest; /* owned */
    memory_log *log;
    size_t n_log;
    memory_trial *trials;
    size_t n_trials;
    memory_batch *batches;
    size_t n_batches;
    store_arm_sum *sums; /* ascending by arm */
    size_t n_sums;
    uint32_t *retired; /* ascending */
    size_t n_retired;
    char **keys; /* by candidate, owned; NULL: it has none */
    size_t n_keys;
    unsigned char *engine;
    size_t n_engine;
    store_late_result *late; /* their strings are owned; by log position */
    size_t n_late;
    store_amendment *amendments; /* likewise */
    size_t n_amendments;
    store_imported *imported; /* their reasons are owned; by number */
    size_t n_imported;
} memory_study;

typedef struct memory_content {
    struct memory_content *next;
    int64_t content, study, count, dimension; /* study 0: staged */
    double *rows;
} memory_content;

typedef struct memory_answer {
    struct memory_answer *next;
    store_answer *answer;
} memory_answer;

typedef struct memory_setting {
    struct memory_setting *next;
    store_setting *setting; /* NULL: its first write was undone */
} memory_setting;

typedef struct memory_token {
    struct memory_token *next; /* in ascending order of number */
    store_token *token;
} memory_token;

typedef struct memory_store {
    store base;
    pthread_rwlock_t lock;
    bool in_transaction;
    int64_t last_study;
    memory_study *studies;
    memory_content *contents;
    memory_answer *answers; /* each is less than a day older than the newest */
    memory_study *touched;  /* the study that the write since the mark has changed; NULL: none */
    size_t kept;            /* how many log entries it had at the mark; 0: it is new */
    bool replaying;
    int64_t last_token;
    memory_token *tokens;
    /* The tokens that the write since the mark has added or removed; NULL: none. */
    memory_token *new_token;     /* still in the list */
    memory_token *removed_token; /* taken out of the list */
    memory_setting *settings;
    /* The setting that the write since the mark has set, and its earlier value; NULL: none. */
    memory_setting *set;
    store_setting *replaced;
} memory_store;

static inline memory_store *memory_of(store *s)
{
    return (memory_store *)s;
}

/* ---- memory.c ------------------------------------------------------------------------------------------ */

/* The study of that number or id that is not deleted; NULL: none. */
memory_study *memory_find(memory_store *s, int64_t number);
memory_study *memory_find_id(memory_store *s, const char *id);
memory_content *memory_find_content(memory_store *s, int64_t number);

void memory_free_content(memory_store *s, memory_content *content);

/* ---- tables.c ------------------------------------------------------------------------------------------ */

memory_answer *memory_find_answer(memory_store *s, const char *token, const char *path, const char *key);

/* Frees the answers up to that time. */
void memory_expire_answers(memory_store *s, int64_t time);

store_status memory_exhausted(store_error *err); /* STORE_NO_MEMORY */

/* The array with room for at least n + 1 elements, perhaps at another address. The capacity is the smallest power of
 * two that is not below n. NULL: out of memory; the array is unchanged. */
void *memory_with_room(void *array, size_t n, size_t size);

bool memory_set_text(const char **text, const char *value); /* replaces an owned string by a copy */
void *memory_copy(const void *bytes, size_t size);          /* NULL: out of memory */

store_status memory_study_count(store *base, size_t *n, store_error *err);
store_status memory_study_insert(store *base, const store_event *event, int64_t epoch, study_record *record,
                                 store_error *err);
store_status memory_study_load(store *base, int64_t number, study_record *record, store_error *err);
store_status memory_study_save(store *base, const study_record *record, store_error *err);
store_status memory_study_describe(store *base, const study_record *record, const char *definition,
                                   const char *reason, store_error *err);
store_status memory_study_delete(store *base, int64_t number, store_error *err);
store_status memory_study_stage(store *base, int64_t number, store_error *err);
store_status memory_study_publish(store *base, int64_t number, store_error *err);
store_status memory_log_append(store *base, int64_t number, int64_t seq, const store_event *event,
                               const char *payload, const log_chain *chain, store_error *err);
store_status memory_batch_insert(store *base, int64_t number, const store_event *event, store_error *err);
store_status memory_batch_extend(store *base, int64_t number, const store_event *event, store_error *err);
store_status memory_sums_put(store *base, int64_t number, const store_arm_sum *sums, size_t n,
                             store_error *err);
store_status memory_content_append(store *base, int64_t number, int64_t first, size_t n, size_t dimension,
                                   const double *rows, store_error *err);
store_status memory_content_abandon(store *base, int64_t number, store_error *err);
store_status memory_content_extend(store *base, const study_record *record, const store_points *points,
                                   int64_t *content, store_error *err);
store_status memory_candidate_retire(store *base, int64_t number, uint32_t candidate, store_error *err);
store_status memory_candidate_restore(store *base, int64_t number, uint32_t candidate, store_error *err);
store_status memory_content_attach(store *base, const study_record *record, const store_event *event,
                                   store_error *err);
store_status memory_answer_put(store *base, const store_answer *answer, store_error *err);

/* ---- trials.c ------------------------------------------------------------------------------------------ */

/* Adds a copy. False: out of memory. */
bool memory_keep_amendment(memory_study *study, const store_amendment *amendment);

store_status memory_trials_insert(store *base, int64_t number, int64_t first, int64_t batch,
                                  const store_pick *picks, size_t n, store_error *err);
store_status memory_trial_load(store *base, int64_t number, int64_t trial, trial_record *record,
                               store_error *err);
store_status memory_trial_issue(store *base, int64_t number, int64_t seq, const store_event *event,
                                store_error *err);
store_status memory_trial_renew(store *base, int64_t number, const store_event *event, store_error *err);
store_status memory_trial_requeue(store *base, int64_t number, int32_t attempt, const store_event *event,
                                  store_error *err);
store_status memory_trial_tell(store *base, int64_t number, int64_t seq, int32_t attempt,
                               const store_event *event, store_error *err);
store_status memory_late_result_insert(store *base, int64_t number, int64_t seq, const store_event *event,
                                       store_error *err);
store_status memory_trial_amend(store *base, int64_t number, int64_t seq, const store_event *event,
                                store_error *err);
store_status memory_measurement_put(store *base, int64_t number, const store_event *event, store_error *err);

/* ---- settings.c ---------------------------------------------------------------------------------------- */

store_status memory_setting_put(store *base, const store_setting *setting, store_error *err);
void memory_undo_setting(memory_store *s);    /* undoes what the write did to settings */
void memory_release_setting(memory_store *s); /* keeps what the write did to settings */
void memory_free_settings(memory_store *s);
store_status memory_read_setting(store *base, const char *name, store_setting_row *row, void *arg,
                                 store_error *err);

/* ---- tokens.c ------------------------------------------------------------------------------------------ */

store_status memory_token_put(store *base, const store_token *token, store_error *err);
store_status memory_token_remove(store *base, const char *id, store_error *err);
void memory_undo_token(memory_store *s);    /* undoes what the write did to tokens */
void memory_release_token(memory_store *s); /* keeps what the write did to tokens */
void memory_remove_tokens_of(memory_store *s, const char *study);
void memory_free_tokens(memory_store *s);
store_status memory_read_tokens(store *base, int64_t after, size_t limit, store_token_row *row, void *arg,
                                store_error *err);

/* ---- keys.c -------------------------------------------------------------------------------------------- */

void memory_clear_keys(memory_study *study);
bool memory_has_keys(const memory_study *study);
store_status memory_keys_clear(store *base, int64_t number, store_error *err);
store_status memory_key_put(store *base, int64_t number, int64_t candidate, const char *key,
                            store_error *err);
store_status memory_read_keys(store *base, int64_t number, int64_t first, size_t limit, store_key_row *row,
                              void *arg, store_error *err);
store_status memory_read_keys_at(store *base, int64_t number, const int64_t *indices, size_t n,
                                 store_key_row *row, void *arg, store_error *err);
store_status memory_find_key(store *base, int64_t number, const char *key, int64_t *candidate,
                             store_error *err);

/* ---- observations.c ------------------------------------------------------------------------------------ */

void memory_clear_imported(memory_study *study);
store_status memory_observation_insert(store *base, int64_t number, const store_imported *observation,
                                       store_error *err);
store_status memory_observation_amend(store *base, int64_t number, int64_t seq, const store_event *event,
                                      bool *had_value, store_error *err);
store_status memory_read_observations(store *base, int64_t number, int64_t after_seq, int64_t through_seq,
                                      store_observation_row *row, void *arg, store_error *err);
store_status memory_read_observation_page(store *base, int64_t number, int64_t after, size_t limit,
                                          store_observation_row *row, void *arg, store_error *err);
store_status memory_read_observation_amendments(store *base, int64_t number, int64_t observation,
                                                store_amendment_row *row, void *arg, store_error *err);

/* ---- read.c -------------------------------------------------------------------------------------------- */

/* The study, with the lock held for reading. NULL: there is no such study; the lock is released. */
memory_study *memory_lock_study(store *base, int64_t number, store_status *status, store_error *err);
store_status memory_unlock(store *base, store_status status); /* returns `status` */

store_status memory_read_studies(store *base, const store_study_filter *filter, size_t limit,
                                 store_study_row *row, void *arg, store_error *err);
store_status memory_count_studies(store *base, size_t *n, store_error *err);
store_status memory_read_totals(store *base, store_totals *out, store_error *err);
store_status memory_read_study(store *base, const char *id, store_study_row *row, void *arg,
                               store_error *err);
store_status memory_read_staged(store *base, int64_t number, store_study_row *row, void *arg,
                                store_error *err);
store_status memory_read_trials(store *base, int64_t number, const store_trial_filter *filter, size_t limit,
                                store_trial_row *row, void *arg, store_error *err);
store_status memory_read_trial(store *base, int64_t number, int64_t trial, store_trial_row *row, void *arg,
                               store_error *err);
store_status memory_read_attempts(store *base, int64_t number, int64_t first, int64_t last,
                                  store_attempt_row *row, void *arg, store_error *err);
store_status memory_read_late_results(store *base, int64_t number, int64_t trial, int64_t after_seq,
                                      int64_t through_seq, store_late_result_row *row, void *arg,
                                      store_error *err);
store_status memory_read_amendments(store *base, int64_t number, int64_t trial, int64_t after_seq,
                                    store_amendment_row *row, void *arg, store_error *err);
store_status memory_read_measurements(store *base, int64_t number, int64_t trial, store_measurement_row *row,
                                      void *arg, store_error *err);
store_status memory_read_candidates_at(store *base, int64_t number, const int64_t *indices, size_t n,
                                       size_t dimension, double *rows, store_error *err);
store_status memory_read_batches(store *base, int64_t number, int64_t after, size_t limit,
                                 store_batch_row *row, void *arg, store_error *err);
store_status memory_read_values(store *base, int64_t study, store_value_row *row, void *arg,
                                store_error *err);
store_status memory_read_retired(store *base, int64_t number, store_retired_row *row, void *arg,
                                 store_error *err);
store_status memory_read_candidates(store *base, int64_t number, int64_t first, size_t n, size_t dimension,
                                    double *rows, store_error *err);
store_status memory_read_engine_state(store *base, int64_t number, store_engine_state *out, store_error *err);
store_status memory_read_answer(store *base, const char *token, const char *path, const char *key,
                                int64_t now, store_answer_row *row, void *arg, store_error *err);
store_status memory_read_log(store *base, int64_t number, int64_t after_seq, size_t limit, store_log_row *row,
                             void *arg, store_error *err);
store_status memory_read_chain(store *base, int64_t number, int64_t after_seq, size_t limit,
                               log_chain_row *row, void *arg, store_error *err);

#endif
