ALTER TABLE banditd.log ADD COLUMN chain bytea; -- as in SQLite
ALTER TABLE banditd.studies ADD COLUMN chain bytea;
