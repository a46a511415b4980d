-- Who may call: tokens as hashes of their secrets. Not a function of the log. Those of a study end with it.
CREATE TABLE tokens (
    token       INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    hash        BLOB NOT NULL,
    role        TEXT NOT NULL,
    study       INTEGER REFERENCES studies, -- NULL: all
    description TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL -- 0: never
) STRICT;
CREATE INDEX tokens_by_study ON tokens (study) WHERE study IS NOT NULL;
