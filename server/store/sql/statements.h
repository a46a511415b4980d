/* All statements, in SQLite's dialect. Each is prepared at most once per connection. */
#ifndef SERVER_STORE_SQL_STATEMENTS_H
#define SERVER_STORE_SQL_STATEMENTS_H

#define STUDY_COLUMNS                                                                                                  \
    "study, id, definition, state, state_reason, epoch, created_at, updated_at, last_seq, trials, queued, "            \
    "pending, completed, failed, infeasible, stopped, issued, observations, imported, batches, "                       \
    "through_seq, best_trial, best_candidate, best_value, candidates, dimension, reference_candidates, digest, "       \
    "coalesce((SELECT b.advice FROM batches b WHERE b.study = studies.study AND b.batch = studies.batches - 1), ''), " \
    "cost, EXISTS (SELECT 1 FROM candidate_keys k WHERE k.study = studies.study)"

#define TRIAL_COLUMNS                                                                                        \
    "trial, state, attempt, batch, candidate, variance, worker, issued_at, lease_expires_at, value, "        \
    "reason, told_at, told_seq, repeats, recorded, metadata, cost"

#define LATE_COLUMNS                                                                                         \
    "l.trial, t.candidate, l.attempt, l.value, l.repeats, l.recorded, l.metadata, l.told_at, l.seq, l.cost " \
    "FROM late_results l JOIN trials t USING (study, trial)"

/* A damaged definition, which is not JSON, has no labels. */
#define HAS_LABEL(label, value)                                                                              \
    "EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(definition) THEN "                                 \
    "json_extract(definition, '$.labels') END) WHERE key = " label " AND value = " value                     \
    " AND type = 'text')"

#define AMENDMENT_COLUMNS                                                                                    \
    "coalesce(trial, 0), coalesce(observation, 0), seq, amended_at, reason, was, value, repeats, recorded, " \
    "was_reason"

#define OBSERVATION_COLUMNS                                                                                  \
    "observation, seq, imported_at, candidate, state, value, repeats, recorded, reason, cost"

/* One statement inserts several rows, at nearly the cost of one row. A ? without a number gets the next number. */
#define SQL_ROWS     8
#define TRIAL_INSERT "INSERT INTO trials (study, trial, batch, candidate, variance) VALUES "
#define TRIAL_ROW    "(?1, ?3, ?2, ?, ?)"
#define TRIAL_ROWS                                                                                           \
    TRIAL_ROW                                                                                                \
    ", (?1, ?3 + 1, ?2, ?, ?), (?1, ?3 + 2, ?2, ?, ?), (?1, ?3 + 3, ?2, ?, ?), "                             \
    "(?1, ?3 + 4, ?2, ?, ?), (?1, ?3 + 5, ?2, ?, ?), (?1, ?3 + 6, ?2, ?, ?), (?1, ?3 + 7, ?2, ?, ?)"
#define SUM_INSERT "INSERT INTO arm_sums (study, arm, count, sum) VALUES "
#define SUM_ROW    "(?1, ?, ?, ?)"
#define SUM_ROWS                                                                                             \
    SUM_ROW ", (?1, ?, ?, ?), (?1, ?, ?, ?), (?1, ?, ?, ?), (?1, ?, ?, ?), (?1, ?, ?, ?), (?1, ?, ?, ?), "   \
            "(?1, ?, ?, ?)"
#define SUM_UPDATE " ON CONFLICT (study, arm) DO UPDATE SET count = excluded.count, sum = excluded.sum"

/* X(identifier, text). Numbered parameters are bound in order. */
#define SQL_LIST(X)                                                                                                            \
    /* transactions */                                                                                                         \
    X(SQL_BEGIN, "BEGIN")                                                                                                      \
    X(SQL_BEGIN_IMMEDIATE, "BEGIN IMMEDIATE")                                                                                  \
    X(SQL_COMMIT, "COMMIT")                                                                                                    \
    X(SQL_ROLLBACK, "ROLLBACK")                                                                                                \
    X(SQL_SAVEPOINT, "SAVEPOINT write")                                                                                        \
    X(SQL_RELEASE, "RELEASE write")                                                                                            \
    X(SQL_ROLLBACK_TO, "ROLLBACK TO write")                                                                                    \
    /* studies and the log */                                                                                                  \
    X(SQL_STUDY_INSERT, "INSERT INTO studies (id, epoch, definition, state, created_at, updated_at, "                          \
                        "last_seq) VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0)")                                                        \
    X(SQL_STUDY_LOAD,                                                                                                          \
      "SELECT chain, epoch, last_seq, state, updated_at, trials, queued, pending, completed, failed, infeasible, "             \
      "stopped, issued, observations, imported, batches, through_seq, best_trial, best_candidate, "                            \
      "best_value, content, candidates, dimension, reference_candidates, cost FROM studies WHERE study = ?1 AND deleted <> 1") \
    /* Leaves the state, which has an index, to SQL_STUDY_DESCRIBE. */                                                         \
    X(SQL_STUDY_SAVE,                                                                                                          \
      "UPDATE studies SET last_seq = ?2, updated_at = ?3, trials = ?4, queued = ?5, pending = "                                \
      "?6, completed = ?7, failed = ?8, infeasible = ?9, stopped = ?10, issued = ?11, "                                        \
      "observations = ?12, batches = ?13, through_seq = ?14, best_trial = ?15, best_candidate = "                              \
      "?16, best_value = ?17, content = ?18, candidates = ?19, dimension = ?20, "                                              \
      "reference_candidates = ?21, imported = ?22, chain = ?23, cost = ?24 WHERE study = ?1")                                  \
    X(SQL_STUDY_DESCRIBE, "UPDATE studies SET definition = coalesce(?2, definition), state_reason = ?3, "                      \
                          "state = ?4 WHERE study = ?1")                                                                       \
    X(SQL_STUDY_DIGEST, "UPDATE studies SET digest = ?2 WHERE study = ?1")                                                     \
    X(SQL_STUDY_MARK_DELETED, "UPDATE studies SET deleted = 1 WHERE study = ?1")                                               \
    X(SQL_STUDY_STAGE, "UPDATE studies SET deleted = 2 WHERE study = ?1")                                                      \
    X(SQL_STUDY_PUBLISH, "UPDATE studies SET deleted = 0 WHERE study = ?1 AND deleted = 2")                                    \
    X(SQL_CONTENTS_DROP_OF_STAGED, "UPDATE contents SET state = 2, study = NULL WHERE study IN "                               \
                                   "(SELECT study FROM studies WHERE deleted = 2)")                                            \
    X(SQL_STUDIES_DROP_STAGED, "UPDATE studies SET deleted = 1 WHERE deleted = 2")                                             \
    X(SQL_STUDY_ALIVE, "SELECT content, candidates, dimension FROM studies "                                                   \
                       "WHERE study = ?1 AND deleted <> 1")                                                                    \
    X(SQL_STUDY_BY_ID, "SELECT " STUDY_COLUMNS " FROM studies WHERE id = ?1 AND deleted = 0")                                  \
    X(SQL_STUDIES_COUNT, "SELECT count(*) FROM studies INDEXED BY studies_by_id WHERE deleted = 0")                            \
    X(SQL_TOTALS, "SELECT state, count(*), sum(queued), sum(pending), sum(completed), sum(failed), "                           \
                  "sum(infeasible), sum(stopped) FROM studies WHERE deleted = 0 GROUP BY state")                               \
    X(SQL_STUDY_STAGED, "SELECT " STUDY_COLUMNS " FROM studies WHERE study = ?1 AND deleted = 2")                              \
    /* ?1 after, ?2 limit, then a state, a label and its value */                                                              \
    X(SQL_STUDIES,                                                                                                             \
      "SELECT " STUDY_COLUMNS " FROM studies WHERE id > ?1 AND deleted = 0 ORDER BY id LIMIT ?2")                              \
    X(SQL_STUDIES_OF_STATE, "SELECT " STUDY_COLUMNS " FROM studies INDEXED BY studies_by_state "                               \
                            "WHERE state = ?3 AND id > ?1 AND deleted = 0 ORDER BY id LIMIT ?2")                               \
    X(SQL_STUDIES_LABELLED, "SELECT " STUDY_COLUMNS " FROM studies WHERE id > ?1 AND deleted = 0 "                             \
                            "AND " HAS_LABEL("?3", "?4") " ORDER BY id LIMIT ?2")                                              \
    X(SQL_STUDIES_OF_ID,                                                                                                       \
      "SELECT " STUDY_COLUMNS " FROM studies WHERE id = ?6 AND id > ?1 AND deleted = 0 "                                       \
      "AND (?3 < 0 OR state = ?3) AND (?4 IS NULL OR " HAS_LABEL("?4", "?5") ") LIMIT ?2")                                     \
    X(SQL_STUDIES_OF_STATE_LABELLED, "SELECT " STUDY_COLUMNS " FROM studies INDEXED BY studies_by_state "                      \
                                     "WHERE state = ?3 AND id > ?1 AND deleted = 0 "                                           \
                                     "AND " HAS_LABEL("?4", "?5") " ORDER BY id LIMIT ?2")                                     \
    X(SQL_LOG_INSERT,                                                                                                          \
      "INSERT INTO log (study, seq, time, type, payload, chain) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")                              \
    X(SQL_LOG_AFTER, "SELECT seq, time, type, payload FROM log WHERE study = ?1 AND seq > ?2 "                                 \
                     "ORDER BY seq LIMIT ?3")                                                                                  \
    X(SQL_CHAIN_AFTER, "SELECT seq, time, type, payload, chain FROM log WHERE study = ?1 AND seq > ?2 "                        \
                       "ORDER BY seq LIMIT ?3")                                                                                \
    /* batches */                                                                                                              \
    X(SQL_BATCH_INSERT,                                                                                                        \
      "INSERT INTO batches (study, batch, size, ratio, stop_rule, beta, observations, update_seconds, "                        \
      "select_seconds, started_at, code_path, through_seq, dictionary_size, dictionary, advice) "                              \
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)")                                             \
    X(SQL_BATCH_EXTEND, "UPDATE batches SET size = size + ?3, ratio = ?4, stop_rule = ?5 "                                     \
                        "WHERE study = ?1 AND batch = ?2")                                                                     \
    X(SQL_BATCHES_AFTER,                                                                                                       \
      "SELECT batch, size, ratio, stop_rule, beta, dictionary_size, observations, update_seconds, "                            \
      "select_seconds, started_at, code_path, through_seq, advice FROM batches WHERE study = ?1 AND batch > ?2 "               \
      "ORDER BY batch LIMIT ?3")                                                                                               \
    X(SQL_SUM_PUT, SUM_INSERT SUM_ROW SUM_UPDATE)                                                                              \
    X(SQL_SUMS_PUT, SUM_INSERT SUM_ROWS SUM_UPDATE)                                                                            \
    X(SQL_SUMS, "SELECT arm, count, sum FROM arm_sums WHERE study = ?1 ORDER BY arm")                                          \
    X(SQL_SUMS_COUNT, "SELECT count(*) FROM arm_sums WHERE study = ?1")                                                        \
    X(SQL_ENGINE_PUT, "INSERT INTO engine_states (study, batch, state) VALUES (?1, ?2, ?3) "                                   \
                      "ON CONFLICT (study) DO UPDATE SET batch = ?2, state = ?3")                                              \
    X(SQL_ENGINE, "SELECT e.batch, b.through_seq, b.code_path, b.dictionary, e.state "                                         \
                  "FROM engine_states e JOIN batches b ON b.study = e.study AND b.batch = e.batch "                            \
                  "WHERE e.study = ?1")                                                                                        \
    /* trials */                                                                                                               \
    X(SQL_TRIAL_INSERT, TRIAL_INSERT TRIAL_ROW)                                                                                \
    X(SQL_TRIALS_INSERT, TRIAL_INSERT TRIAL_ROWS)                                                                              \
    X(SQL_TRIAL_LOAD, "SELECT state, attempt, candidate, issued_at, value IS NOT NULL FROM trials "                            \
                      "WHERE study = ?1 AND trial = ?2")                                                                       \
    X(SQL_TRIAL_ISSUE, "UPDATE trials SET state = 1, attempt = ?3, worker = ?4, issued_at = ?5, "                              \
                       "lease_expires_at = ?6 WHERE study = ?1 AND trial = ?2")                                                \
    X(SQL_TRIAL_RENEW, "UPDATE trials SET worker = coalesce(?3, worker), lease_expires_at = ?4 "                               \
                       "WHERE study = ?1 AND trial = ?2")                                                                      \
    X(SQL_TRIAL_REQUEUE,                                                                                                       \
      "UPDATE trials SET state = 0, attempt = ?3, cost = cost + ?4 WHERE study = ?1 AND trial = ?2")                           \
    X(SQL_TRIAL_TELL, "UPDATE trials SET state = ?3, attempt = ?4, value = ?5, reason = ?6, told_at = ?7, "                    \
                      "told_seq = ?8, repeats = ?9, recorded = ?10, metadata = ?11, cost = cost + ?12 "                        \
                      "WHERE study = ?1 AND trial = ?2")                                                                       \
    X(SQL_TRIAL_KEEP_AMENDED,                                                                                                  \
      "INSERT INTO amendments (study, trial, seq, amended_at, reason, was, value, repeats, recorded, "                         \
      "was_reason) SELECT study, trial, ?3, ?4, ?5, state, value, repeats, recorded, reason FROM trials "                      \
      "WHERE study = ?1 AND trial = ?2")                                                                                       \
    /* ?7: the repeats, or 0. The amendment's reason becomes the trial's. */                                                   \
    X(SQL_TRIAL_AMEND,                                                                                                         \
      "UPDATE trials SET state = ?3, value = ?4, recorded = ?5, reason = ?6, "                                                 \
      "repeats = CASE WHEN ?7 > 0 THEN ?7 WHEN ?4 IS NULL THEN 1 ELSE repeats END WHERE study = ?1 AND trial = ?2")            \
    X(SQL_LATE_INSERT, "INSERT INTO late_results (study, trial, seq, attempt, value, repeats, recorded, "                      \
                       "metadata, told_at, cost) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")                            \
    X(SQL_LATE_OF_TRIAL, "SELECT " LATE_COLUMNS " WHERE l.study = ?1 AND l.trial = ?2 AND l.seq > ?3 "                         \
                         "AND l.seq <= ?4 ORDER BY l.seq")                                                                     \
    X(SQL_LATE, "SELECT " LATE_COLUMNS " WHERE l.study = ?1 AND l.seq > ?2 AND l.seq <= ?3 ORDER BY l.seq")                    \
    X(SQL_AMENDMENTS_OF_TRIAL, "SELECT " AMENDMENT_COLUMNS " FROM amendments "                                                 \
                               "WHERE study = ?1 AND trial = ?2 AND seq > ?3 ORDER BY seq")                                    \
    X(SQL_AMENDMENTS, "SELECT " AMENDMENT_COLUMNS " FROM amendments WHERE study = ?1 AND seq > ?2 "                            \
                      "ORDER BY seq")                                                                                          \
    X(SQL_MEASUREMENT_PUT, "INSERT INTO measurements (study, trial, attempt, step, value, time) "                              \
                           "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (study, trial, attempt, step) "                        \
                           "DO UPDATE SET value = ?5, time = ?6")                                                              \
    X(SQL_MEASUREMENTS_FORGET, "DELETE FROM measurements WHERE study = ?1 AND trial = ?2 AND attempt > ?3")                    \
    X(SQL_MEASUREMENTS_OF_TRIAL, "SELECT trial, attempt, step, value, time FROM measurements "                                 \
                                 "WHERE study = ?1 AND trial = ?2 ORDER BY trial, attempt, step")                              \
    X(SQL_MEASUREMENTS, "SELECT trial, attempt, step, value, time FROM measurements "                                          \
                        "WHERE study = ?1 ORDER BY trial, attempt, step")                                                      \
    X(SQL_TRIAL, "SELECT " TRIAL_COLUMNS " FROM trials WHERE study = ?1 AND trial = ?2")                                       \
    /* ?2 after, ?3 states (bits), ?4 worker or NULL, ?5 limit, ?6 < told_seq <= ?7 */                                         \
    X(SQL_TRIALS, "SELECT " TRIAL_COLUMNS " FROM trials WHERE study = ?1 AND trial > ?2 "                                      \
                  "AND (?3 >> state) & 1 AND (?4 IS NULL OR worker = ?4) ORDER BY trial LIMIT ?5")                             \
    X(SQL_TRIALS_OPEN, "SELECT " TRIAL_COLUMNS " FROM trials INDEXED BY trials_open WHERE study = ?1 "                         \
                       "AND trial > ?2 AND state <= 1 AND (?3 >> state) & 1 "                                                  \
                       "AND (?4 IS NULL OR worker = ?4) ORDER BY trial LIMIT ?5")                                              \
    X(SQL_TRIALS_TOLD, "SELECT " TRIAL_COLUMNS " FROM trials INDEXED BY trials_told WHERE study = ?1 "                         \
                       "AND trial > ?2 AND (?3 >> state) & 1 AND (?4 IS NULL OR worker = ?4) "                                 \
                       "AND told_seq > 0 AND told_seq > ?6 AND told_seq <= ?7 ORDER BY trial LIMIT ?5")                        \
    X(SQL_TRIALS_FAILED_ARMS,                                                                                                  \
      "SELECT " TRIAL_COLUMNS " FROM trials WHERE study = ?1 AND trial > ?2 AND +told_seq > 0 "                                \
      "AND +told_seq <= ?4 AND candidate IN (SELECT candidate FROM trials WHERE study = ?1 "                                   \
      "AND state IN (3, 4)) ORDER BY trial LIMIT ?3")                                                                          \
    X(SQL_VALUES, "SELECT trial, value, told_at FROM trials WHERE study = ?1 AND value IS NOT NULL "                           \
                  "ORDER BY trial")                                                                                            \
    X(SQL_OBSERVATION_INSERT,                                                                                                  \
      "INSERT INTO observations (study, observation, seq, imported_at, candidate, state, value, repeats, "                     \
      "recorded, cost) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")                                                      \
    X(SQL_OBSERVATION_HAS_VALUE, "SELECT value IS NOT NULL FROM observations WHERE study = ?1 "                                \
                                 "AND observation = ?2")                                                                       \
    X(SQL_OBSERVATION_KEEP_AMENDED,                                                                                            \
      "INSERT INTO amendments (study, observation, seq, amended_at, reason, was, value, repeats, recorded, "                   \
      "was_reason) SELECT study, observation, ?3, ?4, ?5, state, value, repeats, recorded, reason "                            \
      "FROM observations WHERE study = ?1 AND observation = ?2")                                                               \
    X(SQL_OBSERVATION_AMEND, "UPDATE observations SET state = ?3, value = ?4, recorded = ?5, reason = ?6 "                     \
                             "WHERE study = ?1 AND observation = ?2")                                                          \
    X(SQL_OBSERVATIONS,                                                                                                        \
      "SELECT " OBSERVATION_COLUMNS " FROM observations INDEXED BY observations_by_seq WHERE study = ?1 "                      \
      "AND seq > ?2 AND seq <= ?3 ORDER BY seq, observation")                                                                  \
    X(SQL_OBSERVATION_PAGE, "SELECT " OBSERVATION_COLUMNS " FROM observations WHERE study = ?1 "                               \
                            "AND observation > ?2 ORDER BY observation LIMIT ?3")                                              \
    X(SQL_AMENDMENTS_OF_OBSERVATION, "SELECT " AMENDMENT_COLUMNS " FROM amendments "                                           \
                                     "WHERE study = ?1 AND observation = ?2 ORDER BY seq")                                     \
    /* attempts */                                                                                                             \
    X(SQL_ATTEMPT_INSERT, "INSERT INTO attempts (study, trial, issued_seq, attempt, worker, issued_at, "                       \
                          "lease_expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                             \
    X(SQL_ATTEMPT_RENEW, "UPDATE attempts SET worker = coalesce(?3, worker), lease_expires_at = ?4 "                           \
                         "WHERE study = ?1 AND trial = ?2 AND ended_at = 0")                                                   \
    X(SQL_ATTEMPT_END, "UPDATE attempts SET ended_at = ?3, outcome = ?4 "                                                      \
                       "WHERE study = ?1 AND trial = ?2 AND ended_at = 0")                                                     \
    X(SQL_ATTEMPT_TELL, "UPDATE attempts SET ended_at = ?4, outcome = ?5 WHERE study = ?1 AND trial = ?2 "                     \
                        "AND issued_seq = (SELECT max(issued_seq) FROM attempts WHERE study = ?1 "                             \
                        "AND trial = ?2 AND attempt = ?3)")                                                                    \
    X(SQL_ATTEMPTS,                                                                                                            \
      "SELECT trial, attempt, worker, issued_at, lease_expires_at, ended_at, outcome FROM attempts "                           \
      "WHERE study = ?1 AND trial BETWEEN ?2 AND ?3 ORDER BY trial, issued_seq")                                               \
    /* candidates */                                                                                                           \
    X(SQL_CONTENT_INSERT, "INSERT INTO contents (content, dimension, count) VALUES (?1, ?2, 0)")                               \
    X(SQL_CONTENT_LOAD, "SELECT state, dimension, count FROM contents WHERE content = ?1")                                     \
    X(SQL_CONTENT_GROW, "UPDATE contents SET count = count + ?2 WHERE content = ?1")                                           \
    X(SQL_CONTENT_ATTACH, "UPDATE contents SET state = 1, study = ?2 WHERE content = ?1")                                      \
    X(SQL_CONTENT_DROP, "UPDATE contents SET state = 2, study = NULL WHERE content = ?1")                                      \
    X(SQL_CONTENT_DROP_STAGED, "UPDATE contents SET state = 2 WHERE content = ?1 AND state = 0")                               \
    X(SQL_CONTENTS_DROP_STAGED, "UPDATE contents SET state = 2 WHERE state = 0 AND state <> 1")                                \
    X(SQL_CONTENTS_DROP_OF_STUDY, "UPDATE contents SET state = 2, study = NULL WHERE study = ?1")                              \
    X(SQL_CONTENT_LAST, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'contents'")                           \
    X(SQL_BLOCK_INSERT, "INSERT INTO candidate_blocks (content, first, n, rows) VALUES (?1, ?2, ?3, ?4)")                      \
    X(SQL_BLOCKS, "SELECT block, first, n FROM candidate_blocks WHERE content = ?1 AND first >= "                              \
                  "coalesce((SELECT max(first) FROM candidate_blocks WHERE content = ?1 AND first <= ?2), "                    \
                  "0) AND first < ?3 ORDER BY first")                                                                          \
    X(SQL_RETIRE, "INSERT INTO retired_candidates (study, candidate) VALUES (?1, ?2)")                                         \
    X(SQL_RESTORE, "DELETE FROM retired_candidates WHERE study = ?1 AND candidate = ?2")                                       \
    X(SQL_RETIRED, "SELECT candidate FROM retired_candidates WHERE study = ?1 ORDER BY candidate")                             \
    X(SQL_KEYS_CLEAR, "DELETE FROM candidate_keys WHERE study = ?1")                                                           \
    X(SQL_KEY_PUT, "INSERT INTO candidate_keys (study, candidate, key) VALUES (?1, ?2, ?3) "                                   \
                   "ON CONFLICT (study, candidate) DO UPDATE SET key = ?3")                                                    \
    X(SQL_KEYS, "SELECT candidate, key FROM candidate_keys WHERE study = ?1 AND candidate >= ?2 "                              \
                "ORDER BY candidate LIMIT ?3")                                                                                 \
    X(SQL_KEY, "SELECT candidate, key FROM candidate_keys WHERE study = ?1 AND candidate = ?2")                                \
    X(SQL_KEY_FIND, "SELECT candidate FROM candidate_keys WHERE study = ?1 AND key = ?2 ORDER BY candidate")                   \
    /* answers: an expired one may be replaced */                                                                              \
    X(SQL_ANSWER_PUT,                                                                                                          \
      "INSERT INTO answers (token, path, key, time, body_hash, response) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "                     \
      "ON CONFLICT (token, path, key) DO UPDATE SET time = ?4, body_hash = ?5, response = ?6 "                                 \
      "WHERE answers.time <= ?7")                                                                                              \
    X(SQL_ANSWER, "SELECT time, body_hash, response FROM answers "                                                             \
                  "WHERE token = ?1 AND path = ?2 AND key = ?3 AND time > ?4")                                                 \
    /* ?1: now. Answers that were stored while the clock was ahead count as stored now. */                                     \
    X(SQL_ANSWERS_AHEAD, "UPDATE answers SET time = ?1 WHERE time > ?1 + ?2")                                                  \
    X(SQL_ANSWERS_EXPIRE, "DELETE FROM answers WHERE answer IN (SELECT answer FROM answers "                                   \
                          "WHERE time <= ?1 - ?2 ORDER BY time LIMIT 500)")                                                    \
    /* tokens */                                                                                                               \
    X(SQL_TOKEN_STUDY, "SELECT study FROM studies WHERE id = ?1 AND deleted = 0")                                              \
    X(SQL_TOKEN_PUT, "INSERT INTO tokens (id, hash, role, study, description, created_at, expires_at) "                        \
                     "VALUES (?1, ?2, ?3, (SELECT study FROM studies WHERE id = ?4 AND deleted = 0), ?5, "                     \
                     "?6, ?7) ON CONFLICT (id) DO NOTHING")                                                                    \
    X(SQL_TOKEN_REMOVE, "DELETE FROM tokens WHERE id = ?1")                                                                    \
    X(SQL_TOKENS_OF_STUDY_REMOVE, "DELETE FROM tokens WHERE study = ?1")                                                       \
    X(SQL_TOKENS_AFTER, "SELECT t.token, t.id, t.hash, t.role, coalesce(s.id, ''), t.description, "                            \
                        "t.created_at, t.expires_at FROM tokens t LEFT JOIN studies s USING (study) "                          \
                        "WHERE t.token > ?1 ORDER BY t.token LIMIT ?2")                                                        \
    X(SQL_SETTING_PUT, "INSERT INTO settings (name, value) VALUES (?1, ?2) "                                                   \
                       "ON CONFLICT (name) DO UPDATE SET value = ?2")                                                          \
    X(SQL_SETTING, "SELECT value FROM settings WHERE name = ?1")                                                               \
    /* chores: remove a slice of at most ?2 rows */                                                                            \
    X(SQL_MARK_LOG, "UPDATE log_mark SET before = mark, "                                                                      \
                    "mark = 4611686018427387904 | (random() & 4611686018427387903)")                                           \
    X(SQL_TOUCH, "UPDATE touched SET times = times + 1")                                                                       \
    X(SQL_DELETED_STUDY, "SELECT study FROM studies WHERE deleted = 1 LIMIT 1")                                                \
    X(SQL_DROPPED_CONTENT, "SELECT content FROM contents WHERE state = 2 AND state <> 1 LIMIT 1")                              \
    X(SQL_SLICE_LOG, "DELETE FROM log WHERE study = ?1 AND seq IN "                                                            \
                     "(SELECT seq FROM log WHERE study = ?1 ORDER BY seq LIMIT ?2)")                                           \
    X(SQL_SLICE_ATTEMPTS, "DELETE FROM attempts WHERE study = ?1 AND (trial, issued_seq) IN (SELECT trial, "                   \
                          "issued_seq FROM attempts WHERE study = ?1 ORDER BY trial, issued_seq LIMIT ?2)")                    \
    X(SQL_SLICE_TRIALS, "DELETE FROM trials WHERE study = ?1 AND trial IN "                                                    \
                        "(SELECT trial FROM trials WHERE study = ?1 ORDER BY trial LIMIT ?2)")                                 \
    X(SQL_SLICE_LATE, "DELETE FROM late_results WHERE study = ?1 AND seq IN "                                                  \
                      "(SELECT seq FROM late_results WHERE study = ?1 ORDER BY seq LIMIT ?2)")                                 \
    X(SQL_SLICE_AMENDMENTS, "DELETE FROM amendments WHERE study = ?1 AND seq IN "                                              \
                            "(SELECT seq FROM amendments WHERE study = ?1 ORDER BY seq LIMIT ?2)")                             \
    X(SQL_SLICE_MEASUREMENTS,                                                                                                  \
      "DELETE FROM measurements WHERE study = ?1 AND (trial, attempt, step) IN (SELECT trial, attempt, "                       \
      "step FROM measurements WHERE study = ?1 ORDER BY trial, attempt, step LIMIT ?2)")                                       \
    X(SQL_SLICE_OBSERVATIONS,                                                                                                  \
      "DELETE FROM observations WHERE study = ?1 AND observation IN "                                                          \
      "(SELECT observation FROM observations WHERE study = ?1 ORDER BY observation LIMIT ?2)")                                 \
    X(SQL_SLICE_RETIRED,                                                                                                       \
      "DELETE FROM retired_candidates WHERE study = ?1 AND candidate IN "                                                      \
      "(SELECT candidate FROM retired_candidates WHERE study = ?1 ORDER BY candidate LIMIT ?2)")                               \
    X(SQL_SLICE_KEYS, "DELETE FROM candidate_keys WHERE study = ?1 AND candidate IN "                                          \
                      "(SELECT candidate FROM candidate_keys WHERE study = ?1 ORDER BY candidate LIMIT ?2)")                   \
    X(SQL_SLICE_SUMS, "DELETE FROM arm_sums WHERE study = ?1 AND arm IN "                                                      \
                      "(SELECT arm FROM arm_sums WHERE study = ?1 ORDER BY arm LIMIT ?2)")                                     \
    X(SQL_SLICE_ENGINE, "DELETE FROM engine_states WHERE study = ?1 AND ?2 > 0")                                               \
    X(SQL_SLICE_BATCHES, "DELETE FROM batches WHERE study = ?1 AND batch IN "                                                  \
                         "(SELECT batch FROM batches WHERE study = ?1 ORDER BY batch LIMIT ?2)")                               \
    X(SQL_SLICE_BLOCKS, "DELETE FROM candidate_blocks WHERE content = ?1 AND first IN (SELECT first FROM "                     \
                        "candidate_blocks WHERE content = ?1 ORDER BY first LIMIT ?2)")                                        \
    X(SQL_STUDY_REMOVE, "DELETE FROM studies WHERE study = ?1")                                                                \
    X(SQL_CONTENT_REMOVE, "DELETE FROM contents WHERE content = ?1")                                                           \
    X(SQL_FREE_PAGES, "PRAGMA freelist_count")                                                                                 \
    X(SQL_VACUUM, "PRAGMA incremental_vacuum(256)")

typedef enum sql_id {
#define X(identifier, text) identifier,
    SQL_LIST(X)
#undef X
        SQL_COUNT
} sql_id;

#endif
