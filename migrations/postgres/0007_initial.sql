-- The schema of PostgreSQL, in step with the SQLite schema of the same number: the same tables and columns, with a
-- few of its own. What columns mean is said there. Times are milliseconds since 1970 UTC; a NULL real is a NaN or an
-- absent value; blobs are little-endian. Texts sort by their bytes, as pages of studies do. There are no foreign keys,
-- since each row would lock its parent; `banditd check` looks instead.

CREATE TABLE banditd.migrations (
    version    int8 PRIMARY KEY,
    name       text COLLATE "C" NOT NULL,
    program    text COLLATE "C" NOT NULL,
    applied_at int8 NOT NULL
);

-- One row. Each start of a server that writes is a new generation, and each of its commits has the next number: so it
-- can be told whether a commit whose answer was lost has happened.
CREATE TABLE banditd.writer (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    generation int8 NOT NULL DEFAULT 0,
    number     int8 NOT NULL DEFAULT 0,
    studies    int8 NOT NULL DEFAULT 0, -- numbers of studies up to this one have been used
    contents   int8 NOT NULL DEFAULT 0  -- the same for contents
) WITH (fillfactor = 10);
INSERT INTO banditd.writer DEFAULT VALUES;

CREATE TABLE banditd.studies (
    study        int8 PRIMARY KEY,
    id           text COLLATE "C" NOT NULL,
    deleted      int8 NOT NULL DEFAULT 0,
    epoch        int8 NOT NULL,
    definition   text COLLATE "C" NOT NULL,
    state        int8 NOT NULL,
    state_reason text COLLATE "C" NOT NULL DEFAULT '',
    created_at   int8 NOT NULL,
    updated_at   int8 NOT NULL,
    last_seq     int8 NOT NULL,
    trials       int8 NOT NULL DEFAULT 0,
    queued       int8 NOT NULL DEFAULT 0,
    pending      int8 NOT NULL DEFAULT 0,
    completed    int8 NOT NULL DEFAULT 0,
    failed       int8 NOT NULL DEFAULT 0,
    infeasible   int8 NOT NULL DEFAULT 0,
    stopped      int8 NOT NULL DEFAULT 0,
    issued       int8 NOT NULL DEFAULT 0,
    observations int8 NOT NULL DEFAULT 0,
    batches      int8 NOT NULL DEFAULT 0,
    through_seq  int8 NOT NULL DEFAULT 0,
    best_trial   int8 NOT NULL DEFAULT 0,
    best_candidate int8 NOT NULL DEFAULT 0,
    best_value   float8 NOT NULL DEFAULT 0,
    content      int8 NOT NULL DEFAULT 0,
    candidates   int8 NOT NULL DEFAULT 0,
    dimension    int8 NOT NULL DEFAULT 0,
    reference_candidates int8 NOT NULL DEFAULT 0,
    digest       text COLLATE "C" NOT NULL DEFAULT '',
    imported     int8 NOT NULL DEFAULT 0,
    CHECK (queued + pending + completed + failed + infeasible + stopped = trials)
) WITH (fillfactor = 50); -- every write updates it in its place
CREATE UNIQUE INDEX studies_by_id ON banditd.studies (id) WHERE deleted = 0;
CREATE INDEX studies_deleted ON banditd.studies (study) WHERE deleted = 1;
CREATE INDEX studies_by_state ON banditd.studies (state, id) WHERE deleted = 0;

CREATE TABLE banditd.log (
    study   int8 NOT NULL,
    seq     int8 NOT NULL,
    time    int8 NOT NULL,
    type    text COLLATE "C" NOT NULL,
    payload text COLLATE "C" NOT NULL,
    PRIMARY KEY (study, seq)
);

CREATE TABLE banditd.trials (
    study            int8 NOT NULL,
    trial            int8 NOT NULL,
    state            int8 NOT NULL DEFAULT 0,
    attempt          int8 NOT NULL DEFAULT 0,
    batch            int8 NOT NULL,
    candidate        int8 NOT NULL,
    variance         float8,
    worker           text COLLATE "C" NOT NULL DEFAULT '',
    issued_at        int8 NOT NULL DEFAULT 0,
    lease_expires_at int8 NOT NULL DEFAULT 0,
    value            float8,
    reason           text COLLATE "C" NOT NULL DEFAULT '',
    told_at          int8 NOT NULL DEFAULT 0,
    told_seq         int8 NOT NULL DEFAULT 0,
    repeats          int8 NOT NULL DEFAULT 1,
    recorded         text COLLATE "C" NOT NULL DEFAULT '',
    metadata         text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (study, trial)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX trials_open ON banditd.trials (study, trial) WHERE state <= 1;
CREATE INDEX trials_told ON banditd.trials (study, told_seq) WHERE told_seq > 0;

CREATE TABLE banditd.attempts (
    study            int8 NOT NULL,
    trial            int8 NOT NULL,
    issued_seq       int8 NOT NULL,
    attempt          int8 NOT NULL,
    worker           text COLLATE "C" NOT NULL,
    issued_at        int8 NOT NULL,
    lease_expires_at int8 NOT NULL,
    ended_at         int8 NOT NULL DEFAULT 0,
    outcome          text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (study, trial, issued_seq)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE banditd.observations (
    study       int8 NOT NULL,
    observation int8 NOT NULL,
    seq         int8 NOT NULL,
    imported_at int8 NOT NULL,
    candidate   int8 NOT NULL,
    state       int8 NOT NULL,
    value       float8,
    repeats     int8 NOT NULL,
    reason      text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (study, observation)
);
CREATE INDEX observations_by_seq ON banditd.observations (study, seq);

CREATE TABLE banditd.batches (
    study           int8 NOT NULL,
    batch           int8 NOT NULL,
    size            int8 NOT NULL,
    ratio           float8,
    stop_rule       text COLLATE "C" NOT NULL,
    beta            float8,
    observations    int8 NOT NULL,
    update_seconds  float8,
    select_seconds  float8,
    started_at      int8 NOT NULL,
    code_path       text COLLATE "C" NOT NULL,
    through_seq     int8 NOT NULL,
    dictionary_size int8 NOT NULL,
    dictionary      bytea NOT NULL,
    PRIMARY KEY (study, batch)
);

CREATE TABLE banditd.arm_sums (
    study int8 NOT NULL,
    arm   int8 NOT NULL,
    count int8 NOT NULL,
    sum   int8 NOT NULL,
    PRIMARY KEY (study, arm)
);

CREATE TABLE banditd.engine_states (
    study int8 PRIMARY KEY,
    batch int8 NOT NULL,
    state bytea NOT NULL
);

CREATE TABLE banditd.contents (
    content   int8 PRIMARY KEY,
    state     int8 NOT NULL DEFAULT 0,
    study     int8,
    dimension int8 NOT NULL,
    count     int8 NOT NULL
);
CREATE INDEX contents_by_state ON banditd.contents (state) WHERE state <> 1;
CREATE INDEX contents_by_study ON banditd.contents (study) WHERE study IS NOT NULL;

CREATE TABLE banditd.candidate_blocks (
    block   int8 GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    content int8 NOT NULL,
    first   int8 NOT NULL,
    n       int8 NOT NULL,
    rows    bytea NOT NULL,
    UNIQUE (content, first)
);
ALTER TABLE banditd.candidate_blocks ALTER COLUMN rows SET STORAGE EXTERNAL; -- a part is read without the rest

CREATE TABLE banditd.answers (
    answer    int8 GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    token     text COLLATE "C" NOT NULL,
    path      text COLLATE "C" NOT NULL,
    key       text COLLATE "C" NOT NULL,
    time      int8 NOT NULL,
    body_hash bytea NOT NULL,
    response  bytea NOT NULL,
    UNIQUE (token, path, key)
);
CREATE INDEX answers_by_time ON banditd.answers (time);

CREATE TABLE banditd.touched (
    times int8 NOT NULL
);
INSERT INTO banditd.touched VALUES (0);

CREATE TABLE banditd.retired_candidates (
    study     int8 NOT NULL,
    candidate int8 NOT NULL,
    PRIMARY KEY (study, candidate)
);

CREATE TABLE banditd.late_results (
    study    int8 NOT NULL,
    seq      int8 NOT NULL,
    trial    int8 NOT NULL,
    attempt  int8 NOT NULL,
    value    float8 NOT NULL,
    repeats  int8 NOT NULL,
    recorded text COLLATE "C" NOT NULL,
    metadata text COLLATE "C" NOT NULL,
    told_at  int8 NOT NULL,
    PRIMARY KEY (study, seq)
);
CREATE INDEX late_results_by_trial ON banditd.late_results (study, trial);

CREATE TABLE banditd.amendments (
    study       int8 NOT NULL,
    seq         int8 NOT NULL,
    trial       int8,
    observation int8,
    amended_at  int8 NOT NULL,
    reason      text COLLATE "C" NOT NULL,
    was         int8 NOT NULL,
    value       float8,
    repeats     int8 NOT NULL,
    recorded    text COLLATE "C" NOT NULL,
    was_reason  text COLLATE "C" NOT NULL,
    PRIMARY KEY (study, seq)
);
CREATE INDEX amendments_by_trial ON banditd.amendments (study, trial) WHERE trial IS NOT NULL;
CREATE INDEX amendments_by_observation ON banditd.amendments (study, observation) WHERE observation IS NOT NULL;

CREATE TABLE banditd.measurements (
    study   int8 NOT NULL,
    trial   int8 NOT NULL,
    attempt int8 NOT NULL,
    step    int8 NOT NULL,
    value   float8 NOT NULL,
    time    int8 NOT NULL,
    PRIMARY KEY (study, trial, attempt, step)
);

CREATE TABLE banditd.tokens (
    token       int8 GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    id          text COLLATE "C" NOT NULL UNIQUE,
    hash        bytea NOT NULL,
    role        text COLLATE "C" NOT NULL,
    study       int8,
    description text COLLATE "C" NOT NULL,
    created_at  int8 NOT NULL,
    expires_at  int8 NOT NULL
);
CREATE INDEX tokens_by_study ON banditd.tokens (study) WHERE study IS NOT NULL;

-- The value of a study's label; NULL: it has none, or its definition is damaged.
CREATE FUNCTION banditd.label_of(definition text, label text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN CASE WHEN json_typeof(definition::json -> 'labels' -> label) = 'string'
                THEN definition::json -> 'labels' ->> label END;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$;
