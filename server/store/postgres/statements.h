/* The statements that differ between PostgreSQL and SQLite, or that only PostgreSQL has. All others are those of
 * sql/statements.h, with $1 in place of ?1. */
#ifndef SERVER_STORE_POSTGRES_STATEMENTS_H
#define SERVER_STORE_POSTGRES_STATEMENTS_H

#include "server/store/sql/statements.h"

/* A statement that must change a row, or it fails with SQLSTATE 22012 (sql_must_change). */
#define MUST_CHANGE(text) "WITH done AS (" text " RETURNING 1) SELECT 1 / count(*) FROM done"

/* Deletes a part of a deleted study, by the places of its rows. A join over keys could be planned while the table is
 * empty, and would then search all rows for each row. */
#define PG_SLICE(table, of)                                                                                  \
    "DELETE FROM " table " WHERE ctid = ANY (ARRAY(SELECT ctid FROM " table " WHERE " of " = ?1 LIMIT ?2))"

#define PG_LABEL(label, value) "banditd.label_of(definition, " label ") = " value

/* X(identifier, text) */
#define PG_CHANGED_LIST(X)                                                                                        \
    X(SQL_BEGIN, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")                                               \
    X(SQL_BEGIN_IMMEDIATE, "BEGIN ISOLATION LEVEL READ COMMITTED")                                                \
    X(SQL_STUDY_INSERT, "INSERT INTO studies (study, id, epoch, definition, state, created_at, updated_at, "      \
                        "last_seq) VALUES (?6, ?1, ?2, ?3, ?4, ?5, ?5, 0)")                                       \
    X(SQL_STUDY_PUBLISH, MUST_CHANGE("UPDATE studies SET deleted = 0 WHERE study = ?1 AND deleted = 2"))          \
    X(SQL_STUDIES_COUNT, "SELECT count(*) FROM studies WHERE deleted = 0")                                        \
    X(SQL_TOTALS, "SELECT state, count(*), sum(queued)::int8, sum(pending)::int8, sum(completed)::int8, "         \
                  "sum(failed)::int8, sum(infeasible)::int8, sum(stopped)::int8 FROM studies "                    \
                  "WHERE deleted = 0 GROUP BY state")                                                             \
    X(SQL_STUDIES_OF_STATE, "SELECT " STUDY_COLUMNS " FROM studies WHERE state = ?3 AND id > ?1 "                 \
                            "AND deleted = 0 ORDER BY id LIMIT ?2")                                               \
    X(SQL_STUDIES_LABELLED, "SELECT " STUDY_COLUMNS " FROM studies WHERE id > ?1 AND deleted = 0 "                \
                            "AND " PG_LABEL("?3", "?4") " ORDER BY id LIMIT ?2")                                  \
    X(SQL_STUDIES_OF_ID, "SELECT " STUDY_COLUMNS " FROM studies WHERE id = ?6 AND id > ?1 AND deleted = 0 "       \
                         "AND (?3 < 0 OR state = ?3) AND (?4 IS NULL OR " PG_LABEL("?4", "?5") ") LIMIT ?2")      \
    X(SQL_STUDIES_OF_STATE_LABELLED, "SELECT " STUDY_COLUMNS " FROM studies WHERE state = ?3 AND id > ?1 "        \
                                     "AND deleted = 0 AND " PG_LABEL("?4", "?5") " ORDER BY id LIMIT ?2")         \
    X(SQL_TRIALS, "SELECT " TRIAL_COLUMNS " FROM trials WHERE study = ?1 AND trial > ?2 "                         \
                  "AND (?3 >> state::int4) & 1 = 1 AND (?4 IS NULL OR worker = ?4) ORDER BY trial LIMIT ?5")      \
    X(SQL_TRIALS_OPEN, "SELECT " TRIAL_COLUMNS " FROM trials WHERE study = ?1 AND trial > ?2 "                    \
                       "AND state <= 1 AND (?3 >> state::int4) & 1 = 1 "                                          \
                       "AND (?4 IS NULL OR worker = ?4) ORDER BY trial LIMIT ?5")                                 \
    X(SQL_TRIALS_TOLD, "SELECT " TRIAL_COLUMNS " FROM trials WHERE study = ?1 "                                   \
                       "AND trial > ?2 AND (?3 >> state::int4) & 1 = 1 AND (?4 IS NULL OR worker = ?4) "          \
                       "AND told_seq > 0 AND told_seq > ?6 AND told_seq <= ?7 ORDER BY trial LIMIT ?5")           \
    /* A full join is linear with any plan. A semijoin is quadratic if the table has no statistics. */            \
    X(SQL_TRIALS_FAILED_ARMS,                                                                                     \
      "SELECT " TRIAL_COLUMNS " FROM (SELECT * FROM trials WHERE study = ?1 AND trial > ?2 "                      \
      "AND told_seq > 0 AND told_seq <= ?4) t FULL JOIN (SELECT DISTINCT candidate AS arm "                       \
      "FROM trials WHERE study = ?1 AND state IN (3, 4)) f ON t.candidate = f.arm "                               \
      "WHERE coalesce(trial, -1) >= 0 AND coalesce(arm, -1) >= 0 ORDER BY trial LIMIT ?3")                        \
    X(SQL_OBSERVATIONS, "SELECT " OBSERVATION_COLUMNS " FROM observations WHERE study = ?1 "                      \
                        "AND seq > ?2 AND seq <= ?3 ORDER BY seq, observation")                                   \
    X(SQL_RESTORE, MUST_CHANGE("DELETE FROM retired_candidates WHERE study = ?1 AND candidate = ?2"))             \
    X(SQL_ANSWER_PUT,                                                                                             \
      MUST_CHANGE("INSERT INTO answers (token, path, key, time, body_hash, response) "                            \
                  "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (token, path, key) DO UPDATE "                     \
                  "SET time = ?4, body_hash = ?5, response = ?6 WHERE answers.time <= ?7"))                       \
    X(SQL_TOKEN_PUT,                                                                                              \
      MUST_CHANGE(                                                                                                \
          "INSERT INTO tokens (id, hash, role, study, description, created_at, expires_at) "                      \
          "VALUES (?1, ?2, ?3, (SELECT study FROM studies WHERE id = ?4 AND deleted = 0), ?5, ?6, ?7)"            \
          " ON CONFLICT (id) DO NOTHING"))                                                                        \
    X(SQL_TOKEN_REMOVE, MUST_CHANGE("DELETE FROM tokens WHERE id = ?1"))                                          \
    X(SQL_SUMS_PUT,                                                                                               \
      "INSERT INTO arm_sums (study, arm, count, sum) SELECT DISTINCT ON (arm) ?1, arm, count, sum "               \
      "FROM unnest(?2, ?3, ?4) WITH ORDINALITY AS s(arm, count, sum, place) ORDER BY arm, place DESC" SUM_UPDATE) \
    X(SQL_SLICE_LOG, PG_SLICE("log", "study"))                                                                    \
    X(SQL_SLICE_ATTEMPTS, PG_SLICE("attempts", "study"))                                                          \
    X(SQL_SLICE_TRIALS, PG_SLICE("trials", "study"))                                                              \
    X(SQL_SLICE_LATE, PG_SLICE("late_results", "study"))                                                          \
    X(SQL_SLICE_AMENDMENTS, PG_SLICE("amendments", "study"))                                                      \
    X(SQL_SLICE_MEASUREMENTS, PG_SLICE("measurements", "study"))                                                  \
    X(SQL_SLICE_OBSERVATIONS, PG_SLICE("observations", "study"))                                                  \
    X(SQL_SLICE_RETIRED, PG_SLICE("retired_candidates", "study"))                                                 \
    X(SQL_SLICE_KEYS, PG_SLICE("candidate_keys", "study"))                                                        \
    X(SQL_SLICE_SUMS, PG_SLICE("arm_sums", "study"))                                                              \
    X(SQL_SLICE_BATCHES, PG_SLICE("batches", "study"))                                                            \
    X(SQL_SLICE_BLOCKS, PG_SLICE("candidate_blocks", "content"))                                                  \
    X(SQL_TRIALS_INSERT, "INSERT INTO trials (study, trial, batch, candidate, variance) SELECT ?1, "              \
                         "?3 + place - 1, ?2, candidate, variance FROM unnest(?4, ?5) "                           \
                         "WITH ORDINALITY AS p(candidate, variance, place)")

#define LEFT_IN(table) "EXISTS (SELECT FROM " table " WHERE study = d.s)"

/* X(identifier, text) */
#define PG_LIST(X)                                                                                                                                                                                               \
    /* Every commit has the next number. ?1 generation, ?2 number, ?3 and ?4 as in the table. */                                                                                                                 \
    X(PG_NUMBER, MUST_CHANGE("UPDATE writer SET number = ?2, studies = ?3, contents = ?4 "                                                                                                                       \
                             "WHERE generation = ?1 AND number = ?2 - 1"))                                                                                                                                       \
    /* ?2 first, ?3 end, ?4 bytes in a row: the part of each block */                                                                                                                                            \
    X(PG_ROWS, "SELECT first, n, octet_length(rows)::int8, substring(rows FROM "                                                                                                                                 \
               "((greatest(first, ?2) - first) * ?4 + 1)::int4 FOR "                                                                                                                                             \
               "((least(first + n, ?3) - greatest(first, ?2)) * ?4)::int4) FROM candidate_blocks "                                                                                                               \
               "WHERE content = ?1 AND first >= coalesce((SELECT max(first) FROM candidate_blocks "                                                                                                              \
               "WHERE content = ?1 AND first <= ?2), 0) AND first < ?3 ORDER BY first")                                                                                                                          \
    X(PG_ROWS_AT,                                                                                                                                                                                                \
      "SELECT place, substring(b.rows FROM ((i.at - b.first) * ?3 + 1)::int4 FOR ?3::int4) "                                                                                                                     \
      "FROM unnest(?2) WITH ORDINALITY AS i(at, place) JOIN LATERAL (SELECT first, rows "                                                                                                                        \
      "FROM candidate_blocks WHERE content = ?1 AND first <= i.at ORDER BY first DESC LIMIT 1) b "                                                                                                               \
      "ON true")                                                                                                                                                                                                 \
    X(PG_TRIALS_LOAD, "SELECT trial, state, attempt, candidate, issued_at, value IS NOT NULL FROM trials "                                                                                                       \
                      "WHERE study = ?1 AND trial >= ?2 AND trial < ?3")                                                                                                                                         \
    /* The attempt that reported ends with the outcome; other open attempts are superseded. */                                                                                                                   \
    X(PG_ATTEMPT_TOLD, "UPDATE attempts SET ended_at = ?4, outcome = CASE WHEN issued_seq = (SELECT "                                                                                                            \
                       "max(issued_seq) FROM attempts WHERE study = ?1 AND trial = ?2 AND attempt = ?3) "                                                                                                        \
                       "THEN ?5 ELSE 'superseded' END WHERE study = ?1 AND trial = ?2 AND (ended_at = 0 "                                                                                                        \
                       "OR issued_seq = (SELECT max(issued_seq) FROM attempts WHERE study = ?1 AND trial"                                                                                                        \
                       " = ?2 AND attempt = ?3))")                                                                                                                                                               \
    /* Rows of many writes (merge.c). */                                                                                                                                                                         \
    X(PG_LOG_INSERTS,                                                                                                                                                                                            \
      "INSERT INTO log (study, seq, time, type, payload, chain) SELECT * FROM unnest(?1, ?2, ?3, "                                                                                                               \
      "?4, ?5, ?6)")                                                                                                                                                                                             \
    X(PG_TRIAL_ISSUES, "UPDATE trials t SET state = 1, attempt = x.attempt, worker = x.worker, issued_at"                                                                                                        \
                       " = x.time, lease_expires_at = x.lease FROM unnest(?1, ?2, ?3, ?4, ?5, ?6) AS "                                                                                                           \
                       "x(study, trial, attempt, worker, time, lease) WHERE t.study = x.study AND "                                                                                                              \
                       "t.trial = x.trial")                                                                                                                                                                      \
    X(PG_ATTEMPT_INSERTS, "INSERT INTO attempts (study, trial, issued_seq, attempt, worker, issued_at, "                                                                                                         \
                          "lease_expires_at) SELECT * FROM unnest(?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                                                                                                  \
    X(PG_TRIAL_TELLS,                                                                                                                                                                                            \
      "UPDATE trials t SET state = x.state, attempt = x.attempt, value = x.value, "                                                                                                                              \
      "reason = x.reason, told_at = x.time, told_seq = x.seq, repeats = x.repeats, "                                                                                                                             \
      "recorded = x.recorded, metadata = x.metadata, cost = t.cost + x.cost FROM unnest(?1, ?2, ?3, ?4, ?5, ?6,"                                                                                                 \
      " ?7, ?8, ?9, ?10, ?11, ?12) AS x(study, trial, state, attempt, value, reason, time, "                                                                                                                     \
      "seq, repeats, recorded, metadata, cost) WHERE t.study = x.study AND t.trial = x.trial")                                                                                                                   \
    X(PG_ATTEMPTS_TOLD, "UPDATE attempts a SET ended_at = x.time, outcome = CASE WHEN a.issued_seq = "                                                                                                           \
                        "x.told THEN x.state ELSE 'superseded' END FROM (SELECT r.study, r.trial, r.time,"                                                                                                       \
                        " r.state, (SELECT max(issued_seq) FROM attempts WHERE study = r.study AND trial "                                                                                                       \
                        "= r.trial AND attempt = r.attempt) AS told FROM unnest(?1, ?2, ?3, ?4, ?5) AS "                                                                                                         \
                        "r(study, trial, attempt, time, state)) x WHERE a.study = x.study AND a.trial = "                                                                                                        \
                        "x.trial AND (a.ended_at = 0 OR a.issued_seq = x.told)")                                                                                                                                 \
    X(PG_STUDY_SAVES,                                                                                                                                                                                            \
      "UPDATE studies s SET last_seq = x.c2, updated_at = x.c3, trials = x.c4, queued ="                                                                                                                         \
      " x.c5, pending = x.c6, completed = x.c7, failed = x.c8, infeasible = x.c9, "                                                                                                                              \
      "stopped = x.c10, issued = x.c11, observations = x.c12, batches = x.c13, "                                                                                                                                 \
      "through_seq = x.c14, best_trial = x.c15, best_candidate = x.c16, best_value = "                                                                                                                           \
      "x.c17, content = x.c18, candidates = x.c19, dimension = x.c20, "                                                                                                                                          \
      "reference_candidates = x.c21, imported = x.c22, chain = x.c23, cost = x.c24 FROM unnest(?1, ?2, ?3, ?4, ?5, "                                                                                             \
      "?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)"                                                                                                               \
      " AS x(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, "                                                                                                                            \
      "c17, c18, c19, c20, c21, c22, c23, c24) WHERE s.study = x.c1")                                                                                                                                            \
    X(PG_DROPPED_CONTENT, "SELECT content FROM contents WHERE state = ?1 AND state <> 1 + ?2 LIMIT 1")                                                                                                           \
    X(PG_DELETED_STUDY, "SELECT study FROM studies WHERE deleted = ?1 + ?2 AND deleted = 1 LIMIT 1")                                                                                                             \
    X(PG_BLOCKS_LEFT,                                                                                                                                                                                            \
      "SELECT count(*) FROM (SELECT FROM candidate_blocks WHERE content = ?1 + ?2 LIMIT 1) b")                                                                                                                   \
    X(PG_ROWS_LEFT,                                                                                                                                                                                              \
      "SELECT count(*) FROM (SELECT ?1 + ?2 AS s) d WHERE " LEFT_IN("log") " OR " LEFT_IN("attempts") " OR " LEFT_IN("late_results") " OR " LEFT_IN("amendments") " OR " LEFT_IN("measurements") " OR " LEFT_IN( \
          "trials") " OR " LEFT_IN("observations") " OR " LEFT_IN("arm_sums") " OR " LEFT_IN("retired_candidates") " OR " LEFT_IN("candidate_keys") " OR " LEFT_IN("engine_states") " OR " LEFT_IN("batches"))   \
    X(PG_ANSWERS_EXPIRED, "SELECT count(*) FROM (SELECT FROM answers WHERE time <= ?1 - ?2 LIMIT 1) a")

typedef enum pg_id {
    PG_BEFORE_FIRST = SQL_COUNT - 1,
#define X(identifier, text) identifier,
    PG_LIST(X)
#undef X
        PG_COUNT
} pg_id;

#endif
