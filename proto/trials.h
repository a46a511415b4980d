/* Trials and imported results in answers: one, with its history, and those of an ask. */
#ifndef PROTO_TRIALS_H
#define PROTO_TRIALS_H

#include "proto/wire.h"

/* A trial in an answer. */
typedef struct wire_trial {
    int64_t id;
    const char *state;
    int64_t batch;       /* < 0: left out */
    int32_t attempt;     /* 0 before it is first handed out */
    int64_t candidate;   /* < 0: left out */
    const char *key;     /* of the candidate; "" or NULL: left out */
    const double *point; /* NULL: left out */
    size_t dimension;
    const wire_study *space;  /* with parameters: their study */
    const double *parameters; /* coded; NULL: left out */
    const char *worker;       /* "" or NULL: left out */
    int64_t issued_at;        /* ms, of the last attempt; 0: left out */
    int64_t lease_expires_at; /* ms; 0: left out */
    bool has_value;
    double value;
    const wire_study *definition; /* with its metrics */
    const char *recorded; /* all values but the first objective's, a JSON object's text; "" or NULL: none */
    int64_t repeats;      /* of the value; 0 and 1 are left out */
    double cost;          /* 0 is left out */
    const char *metadata; /* JSON object text; "" or NULL: left out */
    const char *reason;   /* "" or NULL: left out */
    int64_t told_at;      /* ms; 0: left out */
} wire_trial;

void wire_encode_trial(wire_writer *w, const wire_trial *trial);

typedef struct wire_attempt {
    int32_t attempt;
    const char *worker; /* "" or NULL: left out */
    int64_t issued_at, lease_expires_at;
    int64_t ended_at;    /* 0: open, left out */
    const char *outcome; /* "" or NULL: left out */
} wire_attempt;

/* A value reported by an attempt other than the one that completed the trial. */
typedef struct wire_late_result {
    int32_t attempt;
    double value;
    const wire_study *definition;
    const char *recorded, *metadata; /* as of wire_trial */
    int64_t repeats;
    double cost; /* 0 is left out */
    int64_t told_at;
} wire_late_result;

/* The result that an amendment replaced, with its time and reason. */
typedef struct wire_amended {
    int64_t amended_at;
    const char *reason; /* "": left out */
    const char *state;  /* the replaced state, and below the replaced values */
    bool has_value;
    double value;
    int64_t repeats; /* of the value; 1 is left out */
    const wire_study *definition;
    const char *recorded, *was_reason;
} wire_amended;

typedef struct wire_step {
    int32_t attempt;
    int64_t step;
    double value;
    int64_t time;
} wire_step;

/* {"trial", "measurements": [...]} */
void wire_encode_curve(wire_writer *w, int64_t trial, const wire_step *steps, size_t n);

/* A trial with "attempts", "measurements", "late_results", "estimate" and "amendments"; the others are left out if
 * they are empty. */
typedef struct wire_history {
    const wire_attempt *attempts;
    size_t n_attempts;
    const wire_step *steps;
    size_t n_steps;
    const wire_late_result *late;
    size_t n_late;
    const wire_late_result *estimate; /* of a stopped trial; NULL: left out */
    const wire_amended *amended;
    size_t n_amended;
} wire_history;

void wire_encode_trial_history(wire_writer *w, const wire_trial *trial, const wire_history *history);

/* An imported result. */
typedef struct wire_imported {
    int64_t observation;
    const char *state;
    int64_t candidate;   /* < 0: left out */
    const char *key;     /* of the candidate; "" or NULL: left out */
    const double *point; /* NULL: left out */
    size_t dimension;
    const wire_study *space; /* with parameters */
    const double *parameters;
    bool has_value;
    double value;
    const wire_study *definition; /* with `recorded`, as of wire_trial */
    const char *recorded;
    int64_t repeats;    /* 1 is left out */
    double cost;        /* 0 is left out */
    const char *reason; /* "": left out */
    int64_t imported_at;
    const wire_amended *amended; /* left out if there are none */
    size_t n_amended;
} wire_imported;

void wire_encode_imported(wire_writer *w, const wire_imported *imported);
/* {"accepted": n, "first", "last"}: the numbers of the imported results. */
void wire_encode_import_answer(wire_writer *w, int64_t first, int64_t n);

/* {"<objective>": value, …recorded}: the values of all metrics. */
void wire_encode_values(wire_writer *w, const wire_metric *objective, double value, const char *recorded);
/* Members of the current object: the reported standard errors. */
void wire_encode_std_errors(wire_writer *w, const wire_metric *objective, const char *recorded);

/* {"trials": […], "reason": null | "…"} */
void wire_encode_ask_answer(wire_writer *w, const wire_trial *trials, size_t n, const char *reason);

#endif
