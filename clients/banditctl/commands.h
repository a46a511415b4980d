/* The commands of banditctl. Each prints its errors on standard error and returns the exit status. */
#ifndef CLIENTS_BANDITCTL_COMMANDS_H
#define CLIENTS_BANDITCTL_COMMANDS_H

#include "clients/banditctl/options.h"

extern const command_list command_table;

exit_status command_study_create(const arguments *a);
exit_status command_study_import(const arguments *a);
exit_status command_study_list(const arguments *a);
exit_status command_study_show(const arguments *a);
exit_status command_study_state(const arguments *a); /* pause, resume, finish */
exit_status command_study_delete(const arguments *a);
exit_status command_study_fork(const arguments *a);
exit_status command_candidates_upload(const arguments *a);
exit_status command_candidates_add(const arguments *a);
exit_status command_candidates_mark(const arguments *a); /* retire, restore */
exit_status command_candidates_list(const arguments *a);
exit_status command_observations_list(const arguments *a);
exit_status command_import(const arguments *a);
exit_status command_propose(const arguments *a);
exit_status command_amend(const arguments *a);
exit_status command_study_set(const arguments *a);
exit_status command_study_rename(const arguments *a);
exit_status command_study_clone(const arguments *a);
exit_status command_ask(const arguments *a);
exit_status command_tell(const arguments *a);
exit_status command_best(const arguments *a);
exit_status command_why(const arguments *a);
exit_status command_predict(const arguments *a);
exit_status command_export(const arguments *a);
exit_status command_watch(const arguments *a);
exit_status command_work(const arguments *a);
exit_status command_notify_show(const arguments *a);
exit_status command_notify_set(const arguments *a);
exit_status command_notify_change(const arguments *a); /* add, remove */
exit_status command_ping(const arguments *a);
exit_status command_version(const arguments *a);

/* Prints the names of a list's columns, but only on a terminal: a script reads only the lines below. */
void print_header(const char *columns);

/* For completion: prints the ids of studies that start with `prefix`. */
void print_study_ids(const char *prefix);

#endif
