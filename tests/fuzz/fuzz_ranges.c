/* The first byte chooses the study; each line is one bound, `min:NAME=VALUE` or `max:NAME=VALUE`, as in a query.
 * What is taken, and which trials are inside, is compared with a reading of each bound by itself. */
#include "bandit/algorithm.h"
#include "server/api/trial_ranges.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

/* The names in the order of the definition; the words of a parameter that has them end with NULL. */
typedef struct study_names {
    const char *metrics[3];
    const char *columns[6];
    const char *words[6][4];
    const char *definition;
} study_names;

static const study_names studies[] = {
    {{"gain", "cost"},
     {"rate", "a kind", "depth", "wide", "cost", "metric:gain"},
     {{0}, {"z", "a & b", "m"}, {0}, {"false", "true"}},
     "{\"metrics\":[{\"name\":\"gain\",\"goal\":\"maximize\"},{\"name\":\"cost\",\"goal\":\"minimize\",\"role\":"
     "\"recorded\"}],\"domain\":{\"type\":\"space\",\"parameters\":["
     "{\"name\":\"rate\",\"type\":\"double\",\"min\":0.001,\"max\":1,\"scale\":\"log\"},"
     "{\"name\":\"a kind\",\"type\":\"categorical\",\"values\":[\"z\",\"a & b\",\"m\"]},"
     "{\"name\":\"depth\",\"type\":\"integer\",\"min\":1,\"max\":9,"
     "\"active_when\":{\"parameter\":\"a kind\",\"in\":[\"m\"]}},"
     "{\"name\":\"wide\",\"type\":\"boolean\"},"
     "{\"name\":\"cost\",\"type\":\"double\",\"min\":0,\"max\":1},"
     "{\"name\":\"metric:gain\",\"type\":\"discrete\",\"values\":[1,2,4]}]}}"},
    {{"v"},
     {"degrees", "minutes"},
     {{0}},
     "{\"metric\":{\"name\":\"v\",\"goal\":\"minimize\"},\"domain\":{\"type\":\"candidates\",\"dimension\":2,"
     "\"names\":[\"degrees\",\"minutes\"]}}"},
    {{"x1"},
     {"x0", "x1"},
     {{0}},
     "{\"metric\":{\"name\":\"x1\",\"goal\":\"maximize\"},\"domain\":{\"type\":\"candidates\",\"dimension\":2}}"},
};

enum { STUDIES = sizeof studies / sizeof *studies, COLUMNS = 6, ROWS = 4, BOUNDS = 64 };

/* Points and results of trials; NaN: there is none. */
static const double points[ROWS][COLUMNS] = {
    {0.5, 2, 4, 1, 0.25, 2}, {0.001, 0, NAN, 0, 1, 1}, {1, 1, NAN, 1, 0, 4}, {-3, 1e300, 9, 0, 0.1, 2}};
static const double results[ROWS][2] = {{0.5, 3}, {-1e300, NAN}, {NAN, 0.1}, {0, -0.0}};

static int answers;

void __wrap_http_answer_problem(http_request *request, int status, const wire_errors *errors,
                                const char *detail, ...) __attribute__((format(printf, 4, 5)));
void __wrap_http_answer_problem(http_request *request, int status, const wire_errors *errors,
                                const char *detail, ...)
{
    (void)request;
    HOLDS(status == 422 && !errors && *detail);
    answers++;
}

/* What a bound stands for: a metric, a column, or nothing. */
typedef struct meaning {
    int metric, column;
    double value;
} meaning;

static int index_of(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (names[i] && strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static bool is_json_number(const char *text)
{
    const char *at = text + (*text == '-');
    size_t whole = strspn(at, "0123456789");
    if (whole == 0 || (whole > 1 && *at == '0'))
        return false;
    at += whole;
    if (*at == '.') {
        size_t digits = strspn(++at, "0123456789");
        if (digits == 0)
            return false;
        at += digits;
    }
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        size_t digits = strspn(at, "0123456789");
        if (digits == 0)
            return false;
        at += digits;
    }
    return *at == '\0' && isfinite(strtod(text, NULL));
}

/* False: the bound is not valid by itself. */
static bool understand(const study_names *study, const http_bound *bound, meaning *out)
{
    const char *name = bound->name;
    out->metric = index_of(study->metrics, 3, name);
    out->column = index_of(study->columns, COLUMNS, name);
    if (out->metric >= 0 && out->column >= 0)
        return false;
    if (out->metric < 0 && out->column < 0) {
        if (strncmp(name, "metric:", 7) == 0)
            out->metric = index_of(study->metrics, 3, name + 7);
        else if (strncmp(name, "parameter:", 10) == 0)
            out->column = index_of(study->columns, COLUMNS, name + 10);
    }
    if (out->metric < 0 && out->column < 0)
        return false;
    if (out->column >= 0 && study->words[out->column][0]) {
        int word = index_of(study->words[out->column], 4, bound->value);
        out->value = word;
        return word >= 0;
    }
    out->value = strtod(bound->value, NULL);
    return is_json_number(bound->value);
}

/* Whether the bounds are all valid and none is given twice. */
static bool understand_all(const study_names *study, const http_request *request, meaning *meanings)
{
    for (size_t i = 0; i < request->n_bounds; i++) {
        if (!understand(study, &request->bounds[i], &meanings[i]))
            return false;
        for (size_t k = 0; k < i; k++)
            if (request->bounds[k].upper == request->bounds[i].upper &&
                meanings[k].metric == meanings[i].metric && meanings[k].column == meanings[i].column)
                return false;
    }
    return true;
}

static bool is_inside(const http_bound *bound, double limit, double value)
{
    return bound->upper ? value <= limit : value >= limit;
}

static void check_rows(const trial_ranges *ranges, const http_request *request, const meaning *meanings)
{
    for (size_t row = 0; row < ROWS; row++) {
        bool values = true, point = true;
        for (size_t i = 0; i < request->n_bounds; i++) {
            const meaning *m = &meanings[i];
            if (m->metric >= 0)
                values = values && is_inside(&request->bounds[i], m->value, results[row][m->metric]);
            else
                point = point && is_inside(&request->bounds[i], m->value, points[row][m->column]);
        }
        char recorded[64] = "";
        if (!isnan(results[row][1]))
            snprintf(recorded, sizeof recorded, "{\"cost\":%.17g}", results[row][1]);
        store_trial trial = {
            .has_value = !isnan(results[row][0]), .value = results[row][0], .recorded = recorded};
        HOLDS(trial_ranges_have_values(ranges, &trial) == values);
        HOLDS(trial_ranges_have_point(ranges, points[row]) == point);
    }
}

/* Cuts the text into bounds, which borrow it. */
static void cut(char *text, http_request *request)
{
    for (char *line = strtok(text, "\n"); line && request->n_bounds < BOUNDS; line = strtok(NULL, "\n")) {
        char *equals = strrchr(line, '=');
        if (!equals || strlen(line) < 4 || equals < line + 4)
            continue;
        *equals = '\0';
        request->bounds[request->n_bounds++] =
            (http_bound){.upper = line[1] == 'a', .name = line + 4, .value = equals + 1};
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const study_names *names = &studies[data[0] % STUDIES];
    wire_errors errors = {0};
    wire_study *study;
    HOLDS(wire_decode_study(&study, names->definition, strlen(names->definition), bandit_algorithm_names(),
                            &errors) == WIRE_OK);
    char *text = malloc(size);
    HOLDS(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    http_bound bounds[BOUNDS];
    meaning meanings[BOUNDS];
    http_request request = {.bounds = bounds};
    cut(text, &request);
    answers = 0;
    trial_ranges ranges;
    bool read = trial_ranges_read(&ranges, study, &request);
    HOLDS(read == understand_all(names, &request, meanings));
    HOLDS(answers == !read);
    if (read)
        check_rows(&ranges, &request, meanings);
    trial_ranges_clear(&ranges);
    wire_study_free(study);
    free(text);
    return 0;
}
