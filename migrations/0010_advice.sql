-- What the model of a batch advises the user: a word of the API, or nothing.

ALTER TABLE batches ADD COLUMN advice TEXT NOT NULL DEFAULT '';
