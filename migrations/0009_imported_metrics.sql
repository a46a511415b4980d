-- Imported results have values of all metrics, and standard errors.

ALTER TABLE observations ADD COLUMN recorded TEXT NOT NULL DEFAULT ''; -- as in trials
