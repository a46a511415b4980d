-- Users' own names of candidates, such as a SMILES or a sample number. Candidates without one have no row.
-- That keys are unique within a study is checked before they get here.

CREATE TABLE candidate_keys (
    study     INTEGER NOT NULL REFERENCES studies,
    candidate INTEGER NOT NULL,
    key       TEXT NOT NULL,
    PRIMARY KEY (study, candidate)
) STRICT, WITHOUT ROWID;
CREATE INDEX candidate_keys_by_key ON candidate_keys (study, key);
