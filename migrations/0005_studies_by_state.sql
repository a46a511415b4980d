-- Lists of studies in one state.

CREATE INDEX studies_by_state ON studies (state, id) WHERE deleted = 0;
