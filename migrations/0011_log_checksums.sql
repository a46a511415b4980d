-- Checksums of log entries. Each covers an entry and the checksum of the entry before it. NULL: an entry of an older
-- program, or of one with --log-checksums off.

ALTER TABLE log ADD COLUMN chain BLOB;
ALTER TABLE studies ADD COLUMN chain BLOB; -- of the last log entry
