-- Ties the write-ahead log to its database. The first commit after each complete checkpoint puts a new random
-- mark here, and keeps the one before, which is the one in the database's own file. A log whose marks are
-- neither is another file's. Marks lie between 2^62 and 2^63, so that all have the same length.

CREATE TABLE log_mark (
    mark   INTEGER NOT NULL,
    before INTEGER NOT NULL
) STRICT;
INSERT INTO log_mark VALUES (4611686018427387904, 4611686018427387904);
