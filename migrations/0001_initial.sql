-- Times are milliseconds since 1970 UTC; states are the numbers of trial_state and study_state in
-- server/store/store.h; a NULL real is a NaN or an absent value; blobs are little-endian.

CREATE TABLE migrations (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    program    TEXT NOT NULL, -- version of the program that applied it
    applied_at INTEGER NOT NULL
) STRICT;

-- Study numbers are never reused. A deleted study keeps its row until its rows in all other tables are gone.
CREATE TABLE studies (
    study        INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT NOT NULL,
    deleted      INTEGER NOT NULL DEFAULT 0,
    epoch        INTEGER NOT NULL,
    definition   TEXT NOT NULL,
    state        INTEGER NOT NULL,
    state_reason TEXT NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    last_seq     INTEGER NOT NULL,
    trials       INTEGER NOT NULL DEFAULT 0,
    queued       INTEGER NOT NULL DEFAULT 0,
    pending      INTEGER NOT NULL DEFAULT 0,
    completed    INTEGER NOT NULL DEFAULT 0,
    failed       INTEGER NOT NULL DEFAULT 0,
    infeasible   INTEGER NOT NULL DEFAULT 0,
    stopped      INTEGER NOT NULL DEFAULT 0,
    issued       INTEGER NOT NULL DEFAULT 0,
    observations INTEGER NOT NULL DEFAULT 0,
    batches      INTEGER NOT NULL DEFAULT 0,
    through_seq  INTEGER NOT NULL DEFAULT 0,
    best_trial   INTEGER NOT NULL DEFAULT 0,
    best_candidate INTEGER NOT NULL DEFAULT 0,
    best_value   REAL NOT NULL DEFAULT 0,
    content      INTEGER NOT NULL DEFAULT 0,
    candidates   INTEGER NOT NULL DEFAULT 0,
    dimension    INTEGER NOT NULL DEFAULT 0,
    reference_candidates INTEGER NOT NULL DEFAULT 0,
    digest       TEXT NOT NULL DEFAULT '',
    CHECK (queued + pending + completed + failed + infeasible + stopped = trials)
) STRICT;
CREATE UNIQUE INDEX studies_by_id ON studies (id) WHERE deleted = 0;
CREATE INDEX studies_deleted ON studies (study) WHERE deleted = 1;

-- The log is the source of truth: the studies and the tables below can be rebuilt from it.
CREATE TABLE log (
    study   INTEGER NOT NULL REFERENCES studies,
    seq     INTEGER NOT NULL,
    time    INTEGER NOT NULL,
    type    TEXT NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (study, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE trials (
    study            INTEGER NOT NULL REFERENCES studies,
    trial            INTEGER NOT NULL,
    state            INTEGER NOT NULL DEFAULT 0,
    attempt          INTEGER NOT NULL DEFAULT 0,
    batch            INTEGER NOT NULL,
    candidate        INTEGER NOT NULL,
    variance         REAL,
    worker           TEXT NOT NULL DEFAULT '',
    issued_at        INTEGER NOT NULL DEFAULT 0,
    lease_expires_at INTEGER NOT NULL DEFAULT 0,
    value            REAL,
    reason           TEXT NOT NULL DEFAULT '',
    told_at          INTEGER NOT NULL DEFAULT 0,
    told_seq         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (study, trial)
) STRICT, WITHOUT ROWID;
CREATE INDEX trials_open ON trials (study, trial) WHERE state <= 1;
CREATE INDEX trials_told ON trials (study, told_seq) WHERE told_seq > 0;

-- The key is the log position of the hand-out, because a released attempt returns its attempt number.
CREATE TABLE attempts (
    study            INTEGER NOT NULL,
    trial            INTEGER NOT NULL,
    issued_seq       INTEGER NOT NULL,
    attempt          INTEGER NOT NULL,
    worker           TEXT NOT NULL,
    issued_at        INTEGER NOT NULL,
    lease_expires_at INTEGER NOT NULL,
    ended_at         INTEGER NOT NULL DEFAULT 0,
    outcome          TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (study, trial, issued_seq),
    FOREIGN KEY (study, trial) REFERENCES trials
) STRICT, WITHOUT ROWID;

-- Imported observations.
CREATE TABLE observations (
    study     INTEGER NOT NULL REFERENCES studies,
    seq       INTEGER NOT NULL, -- of the event that brought them
    number    INTEGER NOT NULL, -- in that event, from 0
    candidate INTEGER NOT NULL,
    repeats   INTEGER NOT NULL,
    value     REAL NOT NULL,
    PRIMARY KEY (study, seq, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE batches (
    study           INTEGER NOT NULL REFERENCES studies,
    batch           INTEGER NOT NULL,
    size            INTEGER NOT NULL,
    ratio           REAL,
    stop_rule       TEXT NOT NULL,
    beta            REAL,
    observations    INTEGER NOT NULL,
    update_seconds  REAL,
    select_seconds  REAL,
    started_at      INTEGER NOT NULL,
    code_path       TEXT NOT NULL,
    through_seq     INTEGER NOT NULL,
    dictionary_size INTEGER NOT NULL,
    dictionary      BLOB NOT NULL, -- candidates, 32-bit
    PRIMARY KEY (study, batch)
) STRICT;

CREATE TABLE arm_sums (
    study INTEGER NOT NULL REFERENCES studies,
    arm   INTEGER NOT NULL,
    count INTEGER NOT NULL,
    sum   INTEGER NOT NULL, -- the bits of a double: a stored REAL would lose the sign of a zero
    PRIMARY KEY (study, arm)
) STRICT, WITHOUT ROWID;

-- What the engine needs in addition to its dictionary and sums, as of the study's last batch.
CREATE TABLE engine_states (
    study INTEGER PRIMARY KEY REFERENCES studies,
    batch INTEGER NOT NULL,
    state BLOB NOT NULL
) STRICT;

-- Candidate sets. state: 0 staged, 1 in use by `study`, 2 to be removed.
CREATE TABLE contents (
    content   INTEGER PRIMARY KEY AUTOINCREMENT,
    state     INTEGER NOT NULL DEFAULT 0,
    study     INTEGER REFERENCES studies,
    dimension INTEGER NOT NULL,
    count     INTEGER NOT NULL
) STRICT;
CREATE INDEX contents_by_state ON contents (state) WHERE state <> 1;
CREATE INDEX contents_by_study ON contents (study) WHERE study IS NOT NULL;

-- Rows first … first + n − 1 of a set: n x dimension doubles, row-major.
CREATE TABLE candidate_blocks (
    block   INTEGER PRIMARY KEY,
    content INTEGER NOT NULL REFERENCES contents,
    first   INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    rows    BLOB NOT NULL,
    UNIQUE (content, first)
) STRICT;

-- Responses to requests with an Idempotency-Key, kept for a day. They do not follow from the log.
CREATE TABLE answers (
    answer    INTEGER PRIMARY KEY,
    token     TEXT NOT NULL,
    path      TEXT NOT NULL,
    key       TEXT NOT NULL,
    time      INTEGER NOT NULL,
    body_hash BLOB NOT NULL,
    response  BLOB NOT NULL,
    UNIQUE (token, path, key)
) STRICT;
CREATE INDEX answers_by_time ON answers (time);

-- One row, which is written to find out whether the database is writable.
CREATE TABLE touched (
    times INTEGER NOT NULL
) STRICT;
INSERT INTO touched VALUES (0);
