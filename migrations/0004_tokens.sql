-- Tokens, with hashes of their secrets. They do not follow from the log. Deleting a study deletes its tokens.
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
