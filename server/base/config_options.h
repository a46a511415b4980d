/* The table of the options of `banditd serve`: for each its name, form, default and meaning. */
#ifndef SERVER_BASE_CONFIG_OPTIONS_H
#define SERVER_BASE_CONFIG_OPTIONS_H

#include "server/base/config.h"

typedef enum config_option_kind {
    CONFIG_TEXT,
    CONFIG_SWITCH, /* true, false */
    CONFIG_COUNT,  /* a whole number */
    CONFIG_SIZE    /* bytes, with KiB, MiB or GiB */
} config_option_kind;

typedef struct config_option {
    const char *name;
    const char *argument; /* NULL for a switch */
    const char *fallback; /* the default, as the user would write it; NULL: found at run time */
    const char *meaning;
    config_option_kind kind;
    size_t offset;                   /* in server_config */
    bool (*check)(const char *text); /* for a CONFIG_TEXT; NULL: every text is valid */
} config_option;

enum { CONFIG_MOST_OPTIONS = 64 };
extern const config_option config_options[];
extern const size_t n_config_options; /* at most CONFIG_MOST_OPTIONS */

/* name: n bytes. NULL if no option has this name. */
const config_option *config_option_named(const char *name, size_t n);

/* The environment variable of the option. */
void config_option_variable(const config_option *o, char name[64]);

/* Sets the option's field; a text is borrowed. Returns false for a value that the option does not accept. */
bool config_option_set(server_config *out, const config_option *o, const char *value);

/* What the option accepts, for an error message. */
const char *config_option_form(const config_option *o);

#endif
