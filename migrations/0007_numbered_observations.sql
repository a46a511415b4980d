-- Imported results have numbers, and can be amended. An amendment is of a trial or of an imported result.

ALTER TABLE studies ADD COLUMN imported INTEGER NOT NULL DEFAULT 0; -- their numbers are 1 … imported

CREATE TABLE numbered_observations (
    study       INTEGER NOT NULL REFERENCES studies,
    observation INTEGER NOT NULL, -- from 1, in the order of import
    seq         INTEGER NOT NULL, -- log position of the import
    imported_at INTEGER NOT NULL,
    candidate   INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    value       REAL, -- NULL: an amendment took it back
    repeats     INTEGER NOT NULL,
    reason      TEXT NOT NULL DEFAULT '', -- of the amendment that took the value back
    PRIMARY KEY (study, observation)
) STRICT, WITHOUT ROWID;
INSERT INTO numbered_observations (study, observation, seq, imported_at, candidate, state, value, repeats)
SELECT o.study, row_number() OVER (PARTITION BY o.study ORDER BY o.seq, o.number), o.seq, l.time, o.candidate, 2,
       o.value, o.repeats
FROM observations o JOIN log l USING (study, seq);
DROP TABLE observations;
ALTER TABLE numbered_observations RENAME TO observations;
CREATE INDEX observations_by_seq ON observations (study, seq);
UPDATE studies SET imported = (SELECT count(*) FROM observations o WHERE o.study = studies.study);

CREATE TABLE amended (
    study       INTEGER NOT NULL,
    seq         INTEGER NOT NULL, -- log position
    trial       INTEGER,          -- NULL: an imported result was amended
    observation INTEGER,          -- its number; NULL: a trial was amended
    amended_at  INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    was         INTEGER NOT NULL, -- state
    value       REAL,
    repeats     INTEGER NOT NULL,
    recorded    TEXT NOT NULL,
    was_reason  TEXT NOT NULL,
    PRIMARY KEY (study, seq),
    FOREIGN KEY (study, trial) REFERENCES trials,
    FOREIGN KEY (study, observation) REFERENCES observations
) STRICT, WITHOUT ROWID;
INSERT INTO amended (study, seq, trial, amended_at, reason, was, value, repeats, recorded, was_reason)
SELECT study, seq, trial, amended_at, reason, was, value, repeats, recorded, was_reason FROM amendments;
DROP TABLE amendments;
ALTER TABLE amended RENAME TO amendments;
CREATE INDEX amendments_by_trial ON amendments (study, trial) WHERE trial IS NOT NULL;
CREATE INDEX amendments_by_observation ON amendments (study, observation) WHERE observation IS NOT NULL;
