/* The first byte chooses the format, the domain, whether points that break its constraint are taken, and whether
 * columns are ignored. However the text is cut, what comes is the same; and every point of a space that comes is one
 * of it. */
#include "bandit/algorithm.h"
#include "proto/constraints.h"
#include "proto/keys.h"
#include "proto/read_observations.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

typedef struct tally {
    const wire_study *study;
    bool takes_broken, ignores;
    size_t count;
    double sum;
} tally;

static bool take(void *arg, size_t index, const char *place, const wire_observation *o, wire_errors *errors)
{
    tally *t = arg;
    (void)errors;
    HOLDS(index == t->count && *place);
    HOLDS(o->has_value || o->n_values > 0);
    HOLDS(!o->broken || t->takes_broken);
    HOLDS(t->study->n_parameters == 0 || o->broken == wire_broken_constraint(t->study, o->parameters));
    HOLDS(o->repeats >= 1 && (o->candidate >= 0) == (t->study->n_parameters == 0 && !o->features && !o->key));
    HOLDS(!o->key || !wire_key_problem(o->key, strlen(o->key)));
    HOLDS(!o->features ||
          (t->study->n_parameters == 0 && isfinite(o->features[0]) && isfinite(o->features[1])));
    t->count++;
    t->sum += (double)o->candidate + (double)o->repeats + (o->has_value ? o->value : 0);
    t->sum += o->key ? (double)strlen(o->key) : 0;
    for (size_t i = 0; i < t->study->n_parameters; i++) {
        bool active = wire_parameter_is_active(t->study->parameters, o->parameters, i);
        HOLDS(isnan(o->parameters[i]) == !active);
        t->sum += active ? o->parameters[i] : 0;
    }
    return true;
}

static wire_status read_chunks(tally *t, wire_errors *errors, wire_observations_format format,
                               const uint8_t *data, size_t size, size_t chunk)
{
    wire_observations_reader *r;
    HOLDS(wire_observations_reader_new(&r, format, t->study, take, t) == WIRE_OK);
    wire_status status = WIRE_OK;
    if (t->takes_broken)
        wire_observations_reader_take_broken(r);
    if (t->ignores)
        HOLDS(wire_observations_reader_ignore(r, "date,lr") == WIRE_OK);
    for (size_t at = 0; at < size && status == WIRE_OK; at += chunk)
        status = wire_observations_reader_feed(r, (const char *)data + at,
                                               size - at < chunk ? size - at : chunk, errors);
    if (status == WIRE_OK)
        status = wire_observations_reader_finish(r, errors);
    check_problems(status, status == WIRE_OK, errors);
    HOLDS(status != WIRE_OK || wire_observations_reader_count(r) > 0);
    wire_observations_reader_free(r);
    return status;
}

static wire_study *define(bool space)
{
    static const char candidates[] = "{\"metric\":{\"name\":\"v\",\"goal\":\"maximize\"},\"domain\":{"
                                     "\"type\":\"candidates\",\"dimension\":2}}";
    static const char parameters[] =
        "{\"metric\":{\"name\":\"v\",\"goal\":\"maximize\"},\"domain\":{\"type\":\"space\",\"parameters\":["
        "{\"name\":\"opt\",\"type\":\"categorical\",\"values\":[\"adam\",\"sgd\"]},"
        "{\"name\":\"m\",\"type\":\"integer\",\"min\":1,\"max\":9,"
        "\"active_when\":{\"parameter\":\"opt\",\"in\":[\"sgd\"]}},"
        "{\"name\":\"lr\",\"type\":\"double\",\"min\":0,\"max\":1,\"default\":0.5}],"
        "\"constraints\":[\"m * lr <= 6\"]}}";
    const char *text = space ? parameters : candidates;
    wire_errors errors = {0};
    wire_study *study;
    HOLDS(wire_decode_study(&study, text, strlen(text), bandit_algorithm_names(), &errors) == WIRE_OK);
    return study;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    wire_study *study = define(data[0] & 1);
    wire_observations_format format = data[0] & 2 ? WIRE_OBSERVATIONS_JSON : WIRE_OBSERVATIONS_CSV;
    bool takes_broken = data[0] & 4, ignores = data[0] & 8;
    tally whole = {.study = study, .takes_broken = takes_broken, .ignores = ignores};
    tally cut = whole;
    wire_errors errors = {0}, other = {0};
    wire_status status = read_chunks(&whole, &errors, format, data + 1, size - 1, size);
    HOLDS(read_chunks(&cut, &other, format, data + 1, size - 1, 3) == status);
    HOLDS(whole.count == cut.count);
    HOLDS(whole.sum == cut.sum || isnan(whole.sum) || isinf(whole.sum));
    HOLDS(errors.n == other.n &&
          (errors.n == 0 || strcmp(errors.items[0].detail, other.items[0].detail) == 0));
    wire_errors_clear(&errors);
    wire_errors_clear(&other);
    wire_study_free(study);
    return 0;
}
