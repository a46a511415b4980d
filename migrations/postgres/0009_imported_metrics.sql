ALTER TABLE banditd.observations ADD COLUMN recorded text COLLATE "C" NOT NULL DEFAULT ''; -- as in trials
