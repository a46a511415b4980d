/* The table of commands. */
#include "clients/banditctl/commands.h"

#define BIT(id) OPTION_BIT(OPTION_##id)
#define ANY     SIZE_MAX

static const char work_help[] =
    "In the command, {NAME} is replaced by the trial's value of that name, and {candidate}, {trial}, "
    "{attempt}, {worker} and {study} by the values of these. An unknown name is an error. ${NAME} is left to "
    "the shell, and {{NAME}} stands for the text {NAME}.\n"
    "The command also finds these values in its environment: BANDIT_STUDY, BANDIT_TRIAL, BANDIT_ATTEMPT, "
    "BANDIT_WORKER, BANDIT_CANDIDATE, and BANDIT_PARAM_NAME for each value (NAME in capitals, with _ for "
    "other characters). BANDIT_TRIAL_FILE names a file that holds them as JSON.\n"
    "The trial's value is the last line that the command prints. If the command writes the file that "
    "BANDIT_VALUE_FILE names, the value is the last line of that file. A value is a number, or a JSON object "
    "of metrics and their values. A command has failed if it exits with a status other than 0, is killed by "
    "a signal, runs too long, or prints no value.\n"
    "Each parallel command is a worker with a stable name, so after a restart it gets its unfinished trial "
    "back. On SIGTERM or SIGINT, running commands may finish and their results are reported; then the exit "
    "status is 8. On a second signal the commands are killed and their trials return to the queue.";

static const command commands[] = {
    {"study create", "FILE [NAME=TABLE…]", 1, ANY, 0, command_study_create,
     "create a study from its definition (JSON) and print its id; - reads standard input",
     "TABLE is a .csv, .json or .ndjson file with the words of the categorical parameter NAME and their features. In CSV the "
     "column of the words is called NAME or key. FILE must then have no values for this parameter."},
    {"study import", "FILE [ID]", 1, 2, 0, command_study_import,
     "recreate a study from the output of `export`, under another ID if one is given, and print its id; - reads standard "
     "input",
     NULL},
    {"study list", "", 0, 0, BIT(STATE) | BIT(LABEL), command_study_list,
     "list studies: id, state, completed trials, horizon, best value", NULL},
    {"study show", "STUDY", 1, 1, 0, command_study_show, "show a study's state and counters", NULL},
    {"study pause", "STUDY", 1, 1, 0, command_study_state, "stop handing out trials", NULL},
    {"study resume", "STUDY", 1, 1, 0, command_study_state,
     "continue a study that is paused or in state error", NULL},
    {"study finish", "STUDY", 1, 1, 0, command_study_state, "end a study; its workers stop", NULL},
    {"study fork", "STUDY NEW [TRIAL] [NAME=VALUE…]", 2, ANY, 0, command_study_fork,
     "copy a study under another id, as it was when a trial was reported, and print the id",
     "With NAME=VALUE the copy has another definition, such as seed=7, aim=best or algorithm='{\"name\": \"gp_ei\"}', and "
     "begins with the results so far."},
    {"study set", "STUDY NAME=VALUE…", 2, ANY, 0, command_study_set,
     "change fields of a study, such as horizon=200 or lease_seconds=60; null removes a field", NULL},
    {"study rename", "STUDY NAME", 2, 2, 0, command_study_rename,
     "change the name that is shown; the id stays", NULL},
    {"study clone", "STUDY ID", 2, 2, 0, command_study_clone,
     "copy a study, with its trials, under another id", NULL},
    {"study delete", "STUDY", 1, 1, 0, command_study_delete, "delete a study and all its data", NULL},
    {"candidates upload", "STUDY FILE", 2, 2, BIT(IGNORE), command_candidates_upload,
     "upload candidates from a .csv, .json, .ndjson or .npy file", NULL},
    {"candidates add", "STUDY FILE", 2, 2, BIT(IGNORE), command_candidates_add,
     "add the candidates of a .csv, .json, .ndjson or .npy file to a running study", NULL},
    {"candidates retire", "STUDY CANDIDATE…", 2, ANY, BIT(KEY), command_candidates_mark,
     "stop handing out candidates", NULL},
    {"candidates restore", "STUDY CANDIDATE…", 2, ANY, BIT(KEY), command_candidates_mark,
     "hand out retired candidates again", NULL},
    {"candidates list", "STUDY", 1, 1, BIT(SORT) | BIT(RETIRED) | BIT(PULLS), command_candidates_list,
     "list candidates: number, measurements, their mean, the expected value, its standard deviation, key",
     NULL},
    {"ask", "STUDY", 1, 1, BIT(COUNT) | BIT(WORKER) | BIT(WAIT) | BIT(LEASE) | BIT(FRESH) | BIT(FIXED),
     command_ask, "ask for trials to evaluate",
     "Prints one line per trial: its number, its attempt, its candidate, and its values by name."},
    {"tell", "STUDY TRIAL [VALUE]", 2, 3,
     BIT(OUTCOME) | BIT(REASON) | BIT(ATTEMPT) | BIT(RETRY) | BIT(VALUES) | BIT(REPEATS) | BIT(METADATA) |
         BIT(STD_ERROR) | BIT(COST),
     command_tell, "report the result of a trial", NULL},
    {"propose", "STUDY POINT", 2, 2, BIT(KEY) | BIT(BROKEN), command_propose,
     "queue a trial of your own, and print its number: a candidate's number, with --key its key, or a point as JSON",
     NULL},
    {"amend", "STUDY TRIAL [VALUE]", 2, 3, BIT(OUTCOME) | BIT(REASON), command_amend,
     "correct a reported result: to another VALUE, or with --state to failed or infeasible", NULL},
    {"observations list", "STUDY", 1, 1, 0, command_observations_list,
     "list imported results: number, state, value, candidate, and the values by name", NULL},
    {"observations amend", "STUDY NUMBER [VALUE]", 2, 3, BIT(OUTCOME) | BIT(REASON), command_amend,
     "correct an imported result: to another VALUE, or with --state failed take it back", NULL},
    {"import", "STUDY FILE", 2, 2, BIT(BROKEN) | BIT(IGNORE), command_import,
     "import results that were measured before, from a .csv or .json file", NULL},
    {"best", "STUDY", 1, 1, 0, command_best,
     "show the best reported value and the point that the model recommends", NULL},
    {"why", "STUDY TRIAL", 2, 2, 0, command_why, "say why a trial was chosen, and what the model knew then",
     NULL},
    {"predict", "STUDY CANDIDATE…", 2, ANY, BIT(KEY), command_predict,
     "predict the metrics for candidates: candidate, mean, standard deviation, optimistic bound, name of the metric",
     "A candidate is a number, with --key a key, or in a space a point as JSON: '{\"level\": 3, \"fast\": true}'. With several "
     "objectives or with bounds, each metric has a line of its own. Otherwise the name is left out. With bounds, --json also "
     "shows how likely it is that all of them hold."},
    {"export", "STUDY", 1, 1, BIT(FORMAT), command_export, "write a study to standard output", NULL},
    {"watch", "STUDY", 1, 1, BIT(INTERVAL) | BIT(ONCE), command_watch,
     "follow the progress of a study until it is finished",
     "On a terminal it draws progress, rate, workers and the best value so far. Otherwise it prints one line "
     "per interval."},
    {"work", "STUDY -- COMMAND…", 2, ANY,
     BIT(JOBS) | BIT(NAME) | BIT(WORK_LEASE) | BIT(TIMEOUT) | BIT(RETRY_FAILED) | BIT(INFEASIBLE) |
         BIT(MAX_FAILURES) | BIT(GIVE_UP) | BIT(QUIET) | BIT(FIXED),
     command_work,
     "ask for trials, run a command for each and report its value, until the study is finished or "
     "has no further points",
     work_help},
    {"notify show", "", 0, 0, 0, command_notify_show,
     "list whom the server notifies: notifications sent, failed, dropped and queued, the events, the address",
     NULL},
    {"notify set", "FILE", 1, 1, 0, command_notify_set,
     "set whom the server notifies from a JSON file, and print the secrets that were made; - reads standard input",
     "FILE has the form of the body of PUT /v1/notify: {\"notify\": [{\"url\": \"https://…\", \"events\": [\"finished\"]}]}. It "
     "replaces the list. For new addresses the server makes secrets, which it shows only now."},
    {"notify add", "URL [EVENT…]", 1, ANY, 0, command_notify_change,
     "notify an address, and print its secret if it is new",
     "An EVENT is finished, better, stuck or failing. If none is given, all except better are chosen. An address that "
     "was in the list keeps its secret."},
    {"notify remove", "URL", 1, 1, 0, command_notify_change, "stop notifying an address", NULL},
    {"ping", "", 0, 0, BIT(WAIT), command_ping, "check whether the server is ready", NULL},
    {"version", "", 0, 0, 0, command_version, "print the version of banditctl", NULL},
};

const command_list command_table = {commands, sizeof commands / sizeof *commands};
