/* Renewal of a trial's lease by its worker. heartbeat.c defines what is declared here, and
 * study_heartbeat. */
#ifndef SERVER_STUDY_HEARTBEAT_H
#define SERVER_STUDY_HEARTBEAT_H

#include "proto/wire.h"
#include "server/study/study.h"

/* The pending trial that the request names, if it is at the given attempt. NULL: the request was refused. */
trial *study_pending_trial(study *s, study_request *request, wire_integer attempt);

#endif
