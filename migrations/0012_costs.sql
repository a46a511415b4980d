-- What results have cost, in a unit of the user's choice. 0: none was told.

ALTER TABLE studies ADD COLUMN cost REAL NOT NULL DEFAULT 0; -- of all its results together
ALTER TABLE trials ADD COLUMN cost REAL NOT NULL DEFAULT 0; -- of all its attempts together
ALTER TABLE late_results ADD COLUMN cost REAL NOT NULL DEFAULT 0;
ALTER TABLE observations ADD COLUMN cost REAL NOT NULL DEFAULT 0;
