-- What results carry in addition to a value, and what is reported after a trial's first result.

ALTER TABLE trials ADD COLUMN repeats INTEGER NOT NULL DEFAULT 1;   -- pulls that the value is the mean of
ALTER TABLE trials ADD COLUMN recorded TEXT NOT NULL DEFAULT '';    -- recorded metrics: a JSON object
ALTER TABLE trials ADD COLUMN metadata TEXT NOT NULL DEFAULT '';    -- a JSON object

-- Values that another attempt reported than the one that completed the trial.
CREATE TABLE late_results (
    study    INTEGER NOT NULL,
    seq      INTEGER NOT NULL, -- log position
    trial    INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    value    REAL NOT NULL,
    repeats  INTEGER NOT NULL,
    recorded TEXT NOT NULL,
    metadata TEXT NOT NULL,
    told_at  INTEGER NOT NULL,
    PRIMARY KEY (study, seq),
    FOREIGN KEY (study, trial) REFERENCES trials
) STRICT, WITHOUT ROWID;
CREATE INDEX late_results_by_trial ON late_results (study, trial);

-- The results that amendments replaced. The row of the trial has the current result.
CREATE TABLE amendments (
    study      INTEGER NOT NULL,
    seq        INTEGER NOT NULL, -- log position
    trial      INTEGER NOT NULL,
    amended_at INTEGER NOT NULL,
    reason     TEXT NOT NULL,
    was        INTEGER NOT NULL, -- state
    value      REAL,
    repeats    INTEGER NOT NULL,
    recorded   TEXT NOT NULL,
    was_reason TEXT NOT NULL,
    PRIMARY KEY (study, seq),
    FOREIGN KEY (study, trial) REFERENCES trials
) STRICT, WITHOUT ROWID;
CREATE INDEX amendments_by_trial ON amendments (study, trial);

-- Intermediate measurements.
CREATE TABLE measurements (
    study   INTEGER NOT NULL,
    trial   INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    step    INTEGER NOT NULL,
    value   REAL NOT NULL,
    time    INTEGER NOT NULL,
    PRIMARY KEY (study, trial, attempt, step),
    FOREIGN KEY (study, trial) REFERENCES trials
) STRICT, WITHOUT ROWID;
