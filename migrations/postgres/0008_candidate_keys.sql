CREATE TABLE banditd.candidate_keys (
    study     int8 NOT NULL,
    candidate int8 NOT NULL,
    key       text COLLATE "C" NOT NULL,
    PRIMARY KEY (study, candidate)
);
CREATE INDEX candidate_keys_by_key ON banditd.candidate_keys (study, key);
