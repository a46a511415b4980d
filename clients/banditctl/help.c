#include "clients/banditctl/help.h"

#include <stdio.h>
#include <string.h>

static const char *const status_texts[] = {
    [STATUS_OK] = "success; for work: the study is finished, or has no further points",
    [STATUS_FAILED] = "the server refused the request, or an error occurred",
    [STATUS_USAGE] = "the command line is wrong",
    [STATUS_UNREACHABLE] = "the server does not answer, or is not ready",
    [STATUS_NOT_FOUND] = "the study, trial or candidate does not exist",
    [STATUS_CONFLICT] = "the state of the study or trial does not allow the request",
    [STATUS_DENIED] = "the token is missing or does not allow the request",
    [STATUS_NOTHING] = "for ask: no trial can be handed out now",
    [STATUS_INTERRUPTED] = "for work: a signal stopped it before the study was finished",
};

/* ---- help ------------------------------------------------------------------------------------------ */

/* Prints text in lines of at most 100 columns. The first line has `used` columns already. */
static void print_wrapped(const char *text, size_t indent, size_t used)
{
    while (*text) {
        size_t word = strcspn(text, " \n");
        if (used + 1 + word > 100) {
            printf("\n%*s", (int)indent, "");
            used = indent;
        } else if (used > indent) {
            putchar(' ');
            used++;
        }
        printf("%.*s", (int)word, text);
        used += word;
        text += word;
        if (*text == '\n') {
            printf("\n%*s", (int)indent, "");
            used = indent;
        }
        text += *text != '\0';
    }
    putchar('\n');
}

static void print_option(int id)
{
    const option *o = &option_table[id];
    char form[64], meaning[256];
    snprintf(form, sizeof form, "%s%.1s%s--%s%s%s", o->letter ? "-" : "", o->letter ? &o->letter : "",
             o->letter ? ", " : "", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
    snprintf(meaning, sizeof meaning, "%s%s%s%s", o->meaning, o->by_default ? " (default " : "",
             o->by_default ? o->by_default : "", o->by_default ? ")" : "");
    printf("  %-24s ", form);
    print_wrapped(meaning, 27, 27);
}

static void print_options(uint64_t set)
{
    for (int id = 0; id < N_OPTIONS; id++)
        if (set & OPTION_BIT(id))
            print_option(id);
}

static void print_command_help(const command *c)
{
    printf("usage: banditctl %s [options]%s%s\n\n", c->name, *c->operands ? " " : "", c->operands);
    print_wrapped(c->summary, 0, 0);
    if (c->more) {
        putchar('\n');
        print_wrapped(c->more, 0, 0);
    }
    puts("\noptions:");
    print_options(c->options | OPTIONS_COMMON);
}

void help_print_group(const command_list *commands, const char *word)
{
    size_t n = strlen(word);
    printf("banditctl %s has these commands:\n", word);
    for (size_t i = 0; i < commands->n; i++)
        if (strncmp(commands->items[i].name, word, n) == 0 && commands->items[i].name[n] == ' ')
            printf("  %s %s\n", commands->items[i].name, commands->items[i].operands);
}

/* Goes up to column 33, where the meaning begins. docs/make-manual tells the two apart by two blanks or a line's end. */
static void print_form(const char *form)
{
    size_t columns = 0;
    for (const char *byte = form; *byte; byte++)
        columns += (*byte & 0xc0) != 0x80; /* not within a character of UTF-8 */
    if (columns < 30)
        printf("  %s%*s", form, (int)(31 - columns), "");
    else
        printf("  %s\n%33s", form, "");
}

void help_print(const command_list *commands, const command *c)
{
    if (c) {
        print_command_help(c);
        return;
    }
    puts("usage: banditctl COMMAND [options] …\n\n"
         "The client of a banditd server. banditctl help COMMAND explains a command.\n\n"
         "commands:");
    for (size_t i = 0; i < commands->n; i++) {
        char form[64];
        snprintf(form, sizeof form, "%s %s", commands->items[i].name, commands->items[i].operands);
        print_form(form);
        print_wrapped(commands->items[i].summary, 33, 33);
    }
    puts("\noptions of every command:");
    print_options(OPTIONS_COMMON);
    puts("\nenvironment:\n"
         "  BANDITD_URL              the server, if --url is not given\n"
         "  BANDITD_TOKEN            the access token to send\n"
         "  BANDITD_CACERT           certificates to trust, if --cacert is not given\n"
         "\nexit status:");
    for (size_t i = 0; i < sizeof status_texts / sizeof *status_texts; i++)
        printf("  %-24zu %s\n", i, status_texts[i]);
}

/* ---- completion ------------------------------------------------------------------------------------ */

static void offer(const char *word, const char *prefix)
{
    if (strncmp(word, prefix, strlen(prefix)) == 0)
        puts(word);
}

static int first_word(const char *name)
{
    return (int)strcspn(name, " ");
}

static void offer_commands(const command_list *commands, char *const *words, size_t n)
{
    for (size_t i = 0; i < commands->n; i++) {
        char first[32], before[32];
        const char *name = commands->items[i].name, *previous = i ? commands->items[i - 1].name : "";
        snprintf(first, sizeof first, "%.*s", first_word(name), name);
        snprintf(before, sizeof before, "%.*s", first_word(previous), previous);
        if (n == 1 && strcmp(first, before) != 0)
            offer(first, words[0]);
        else if (n == 2 && name[first_word(name)] == ' ' && strcmp(words[0], first) == 0)
            offer(name + first_word(name) + 1, words[1]);
    }
}

void complete_words(const command_list *commands, char *const *words, size_t n,
                    void (*studies)(const char *prefix))
{
    size_t used;
    if (n == 0)
        return;
    const command *c = command_find(commands, words, n - 1, &used);
    if (!c) {
        offer_commands(commands, words, n);
        return;
    }
    for (size_t i = 0; i + 1 < n; i++)
        if (strcmp(words[i], "--") == 0)
            return; /* the user's own command */
    const char *prefix = words[n - 1];
    if (*prefix == '-') {
        for (int id = 0; id < N_OPTIONS; id++) {
            char name[64];
            snprintf(name, sizeof name, "--%s", option_table[id].name);
            if (command_has_option(c, (option_id)id))
                offer(name, prefix);
        }
    } else if (n == used + 1 && strncmp(c->operands, "STUDY", 5) == 0) {
        studies(prefix);
    }
}
