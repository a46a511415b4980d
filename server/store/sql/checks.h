/* Checks of rows that belong together, for every SQL backend. */
#ifndef SERVER_STORE_SQL_CHECKS_H
#define SERVER_STORE_SQL_CHECKS_H

/* Queries, each of which yields one line per problem. infinity: the value in the dialect's form. */
#define SQL_CHECKS(infinity)                                                                                            \
    "SELECT 'study ' || id || ': the log has ' || count(l.seq) || ' entries, not ' || last_seq "                        \
    "FROM studies s LEFT JOIN log l USING (study) WHERE deleted = 0 GROUP BY s.study "                                  \
    "HAVING count(l.seq) <> last_seq OR max(l.seq) <> last_seq",                                                        \
                                                                                                                        \
        "SELECT 'study ' || id || ': its last log entry, ' || s.last_seq || ', is not the one that was written last' "  \
        "FROM studies s JOIN log l ON l.study = s.study AND l.seq = s.last_seq WHERE deleted = 0 "                      \
        "AND (l.chain <> s.chain OR (l.chain IS NULL) <> (s.chain IS NULL))",                                           \
                                                                                                                        \
        "SELECT 'study ' || id || ': its counters of trials are wrong' "                                                \
        "FROM studies s LEFT JOIN trials t USING (study) WHERE deleted = 0 GROUP BY s.study "                           \
        "HAVING count(t.trial) <> trials OR coalesce(max(t.trial), 0) <> trials "                                       \
        "OR count(*) FILTER (WHERE t.state = 0) <> queued OR count(*) FILTER (WHERE t.state = 1) <> pending "           \
        "OR count(*) FILTER (WHERE t.state = 2) <> completed OR count(*) FILTER (WHERE t.state = 3) <> s.failed "       \
        "OR count(*) FILTER (WHERE t.state = 4) <> infeasible OR count(*) FILTER (WHERE t.state = 5) <> stopped "       \
        "OR count(*) FILTER (WHERE t.issued_at <> 0) <> issued OR count(t.value) + (SELECT count(o.value) FROM "        \
        "observations o WHERE o.study = s.study) + (SELECT count(*) FROM late_results l WHERE l.study = s.study "       \
        "AND l.attempt > 0) <> s.observations",                                                                         \
                                                                                                                        \
        "SELECT 'study ' || id || ': it has ' || count(o.observation) || ' imported results, not ' || imported "        \
        "FROM studies s LEFT JOIN observations o USING (study) WHERE deleted = 0 GROUP BY s.study "                     \
        "HAVING count(o.observation) <> imported OR coalesce(max(o.observation), 0) <> imported",                       \
                                                                                                                        \
        "SELECT 'study ' || id || ': its best trial ' || best_trial || ' does not have the best value' FROM studies s " \
        "WHERE deleted = 0 AND best_trial > 0 AND NOT EXISTS (SELECT 1 FROM trials t WHERE t.study = s.study "          \
        "AND t.trial = best_trial AND t.candidate = best_candidate AND (t.value = best_value OR EXISTS "                \
        "(SELECT 1 FROM late_results l WHERE l.study = t.study AND l.trial = t.trial AND l.attempt > 0 "                \
        "AND l.value = best_value)))",                                                                                  \
                                                                                                                        \
        "SELECT 'study ' || id || ': ' || place || ' is not finite' FROM studies JOIN ("                                \
        "SELECT study, 'its best value' AS place FROM studies WHERE abs(best_value) = " infinity                        \
        " UNION ALL "                                                                                                   \
        "SELECT study, 'the value of trial ' || trial FROM trials WHERE abs(value) = " infinity                         \
        " UNION ALL "                                                                                                   \
        "SELECT study, 'the variance of trial ' || trial FROM trials WHERE abs(variance) = " infinity                   \
        " UNION ALL "                                                                                                   \
        "SELECT study, 'a late value of trial ' || trial FROM late_results WHERE abs(value) = " infinity                \
        " UNION ALL SELECT study, 'an amended value of ' || coalesce('trial ' || trial, "                               \
        "'imported result ' || observation) FROM amendments WHERE abs(value) = " infinity " UNION ALL "                 \
        "SELECT study, 'a measurement of trial ' || trial FROM measurements WHERE abs(value) = " infinity               \
        " UNION ALL SELECT study, 'imported result ' || observation FROM observations WHERE abs(value) = " infinity     \
        " UNION ALL SELECT study, 'a number of batch ' || batch FROM batches WHERE coalesce(abs(ratio) + abs(beta) + "  \
        "abs(update_seconds) + abs(select_seconds), " infinity ") = " infinity                                          \
        ") AS found USING (study) WHERE deleted = 0",                                                                   \
                                                                                                                        \
        "SELECT 'study ' || id || ', trial ' || trial || ': ' || state_of || ' with ' || open || ' open "               \
        "attempts' "                                                                                                    \
        "FROM (SELECT s.id, t.trial, t.state AS state_of, count(a.trial) FILTER (WHERE a.ended_at = 0) AS open "        \
        "FROM trials t JOIN studies s USING (study) LEFT JOIN attempts a USING (study, trial) "                         \
        "WHERE s.deleted = 0 GROUP BY study, t.trial, t.state, s.id) AS found "                                         \
        "WHERE open <> CASE WHEN state_of = 1 THEN 1 ELSE 0 END",                                                       \
                                                                                                                        \
        "SELECT 'study ' || id || ': ' || count(b.batch) || ' batches, not ' || batches "                               \
        "FROM studies s LEFT JOIN batches b USING (study) WHERE deleted = 0 GROUP BY s.study "                          \
        "HAVING count(b.batch) <> batches OR coalesce(max(b.batch) + 1, 0) <> batches",                                 \
                                                                                                                        \
        "SELECT 'study ' || id || ': its candidates are incomplete' FROM studies s WHERE deleted = 0 "                  \
        "AND candidates > 0 AND candidates <> coalesce((SELECT sum(n) FROM candidate_blocks b "                         \
        "WHERE b.content = s.content AND length(rows) = n * s.dimension * 8), 0)"

#endif
