/* The request handlers. Each decodes the request, and answers it or hands it to its study. */
#ifndef SERVER_API_HANDLERS_H
#define SERVER_API_HANDLERS_H

#include "server/http/http.h"

/* ---- service.c ----------------------------------------------------------------------------------------- */

void handle_healthz(http_request *request);
void handle_readyz(http_request *request);
void handle_version(http_request *request);
void handle_metrics(http_request *request);
void handle_algorithms(http_request *request);

/* ---- notify.c ------------------------------------------------------------------------------------------ */

void handle_notify_get(http_request *request);
void handle_notify_put(http_request *request);

/* ---- web.c --------------------------------------------------------------------------------------------- */

void handle_index(http_request *request);
void handle_file(http_request *request);
void handle_openapi(http_request *request);
const char *web_content_type(const char *name);

/* ---- studies.c ----------------------------------------------------------------------------------------- */

void handle_study_create(http_request *request);
void handle_study_list(http_request *request);
void handle_study_get(http_request *request);
void handle_study_patch(http_request *request);
void handle_study_delete(http_request *request);

/* ---- study_form.c -------------------------------------------------------------------------------------- */

void handle_study_form_piece(http_request *request, const char *bytes, size_t n);
void handle_study_form(http_request *request);

/* ---- transfer.c ---------------------------------------------------------------------------------------- */

void handle_study_import(http_request *request); /* an upload; _piece takes its parts */
void handle_study_import_piece(http_request *request, const char *bytes, size_t n);
void handle_export(http_request *request);
void handle_study_fork(http_request *request);

/* ---- candidates.c -------------------------------------------------------------------------------------- */

void handle_candidates_piece(http_request *request, const char *bytes, size_t n);
void handle_candidates_put(http_request *request);

/* ---- candidates_add.c ---------------------------------------------------------------------------------- */

void handle_candidates_add_piece(http_request *request, const char *bytes, size_t n);
void handle_candidates_add(http_request *request);

/* ---- candidate_keys.c ---------------------------------------------------------------------------------- */

void handle_keys_piece(http_request *request, const char *bytes, size_t n);
void handle_keys_put(http_request *request);

/* ---- candidate.c --------------------------------------------------------------------------------------- */

void handle_candidates_retire(http_request *request);
void handle_candidates_restore(http_request *request);
void handle_candidate_list(http_request *request);
void handle_candidate_get(http_request *request);

/* ---- observations.c ------------------------------------------------------------------------------------ */

void handle_observations_piece(http_request *request, const char *bytes, size_t n);
void handle_observations_post(http_request *request);

/* ---- observation_lists.c ------------------------------------------------------------------------------- */

void handle_observation_list(http_request *request);
void handle_observation_get(http_request *request);
void handle_observation_amend(http_request *request);

/* ---- trials.c ------------------------------------------------------------------------------------------ */

void handle_ask(http_request *request);
void handle_tell(http_request *request);
void handle_heartbeat(http_request *request);
void handle_measurement(http_request *request);
void handle_trial_amend(http_request *request);
void handle_trial_propose(http_request *request);

/* ---- measurements.c ------------------------------------------------------------------------------------ */

void handle_measurement_list(http_request *request);

/* ---- trial_lists.c ------------------------------------------------------------------------------------- */

void handle_trial_list(http_request *request);
void handle_trial_get(http_request *request);

/* ---- series.c ------------------------------------------------------------------------------------------ */

void handle_series(http_request *request);
void handle_events(http_request *request);

/* ---- model.c ------------------------------------------------------------------------------------------- */

void handle_best(http_request *request);
void handle_predict(http_request *request);
void handle_model(http_request *request);
void handle_batch_list(http_request *request);

/* ---- insight.c ----------------------------------------------------------------------------------------- */

void handle_importance(http_request *request);
void handle_effects(http_request *request);
void handle_diagnostics(http_request *request);
void handle_outlook(http_request *request);

/* ---- why.c --------------------------------------------------------------------------------------------- */

void handle_trial_why(http_request *request);

/* ---- tokens.c ------------------------------------------------------------------------------------------ */

void handle_token_create(http_request *request);
void handle_token_list(http_request *request);
void handle_token_delete(http_request *request);
void handle_whoami(http_request *request);

#endif
