ALTER TABLE banditd.batches ADD COLUMN advice text COLLATE "C" NOT NULL DEFAULT '';
