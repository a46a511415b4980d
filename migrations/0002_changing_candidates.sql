-- Candidates that are no longer handed out. In a space the candidates are the points visited so far: rows of a
-- content whose dimension is the number of parameters, with NaN where a parameter is not active.

CREATE TABLE retired_candidates (
    study     INTEGER NOT NULL REFERENCES studies,
    candidate INTEGER NOT NULL,
    PRIMARY KEY (study, candidate)
) STRICT, WITHOUT ROWID;
