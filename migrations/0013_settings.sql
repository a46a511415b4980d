-- Settings of the whole server that administrators change over HTTP. They do not follow from the log.
CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
