ALTER TABLE banditd.studies ADD COLUMN cost float8 NOT NULL DEFAULT 0; -- of all its results together
ALTER TABLE banditd.trials ADD COLUMN cost float8 NOT NULL DEFAULT 0; -- of all its attempts together
ALTER TABLE banditd.late_results ADD COLUMN cost float8 NOT NULL DEFAULT 0;
ALTER TABLE banditd.observations ADD COLUMN cost float8 NOT NULL DEFAULT 0;
