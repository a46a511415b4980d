/* The statements that PostgreSQL has in another form than SQLite, or that only it has. All others are those of
 * sql/statements.h, with $1 in place of ?1. */
#ifndef SERVER_STORE_POSTGRES_STATEMENTS_H
#define SERVER_STORE_POSTGRES_STATEMENTS_H

#include "server/store/sql/statements.h"

/* A statement that must change a row, or it fails with SQLSTATE 22012 (sql_must_change). */
#define MUST_CHANGE(text) "WITH done AS (" text " RETURNING 1) SELECT 1 / count(*) FROM done"

#define PG_LABEL(label, value) "banditd.label_of(definition, " label ") = " value

/* X(identifier, text) */
#define PG_CHANGED_LIST(X)                                                                                        \
    X(SQL_BEGIN, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")                                               \
    X(SQL_BEGIN_IMMEDIATE, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")                                     \
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
