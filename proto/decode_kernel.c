/* The kernel of a study's algorithm. */
#include "proto/decode_study.h"

#include <stdlib.h>
#include <string.h>

static void fill_lengthscale(wire_object *o, wire_kernel *kernel)
{
    static const char *const words[] = {"auto", NULL};
    wire_decoder *d = o->decoder;
    const json_t *json = wire_take(o, "lengthscale", WIRE_OPTIONAL);
    if (!json_is_array(json)) {
        wire_take_number(o, "lengthscale", &wire_positive, words, &kernel->lengthscale);
        return;
    }
    wire_place at = wire_place_member(o->place, "lengthscale");
    if (!wire_check_list(d, &at, json, 1, WIRE_MAX_DIMENSION))
        return;
    size_t n = json_array_size(json);
    kernel->lengthscales = wire_allocate(d, n, sizeof *kernel->lengthscales);
    if (!kernel->lengthscales)
        return;
    kernel->n_lengthscales = n;
    for (size_t i = 0; i < n; i++) {
        wire_place place = wire_place_element(&at, i);
        wire_read_real(d, &place, json_array_get(json, i), &wire_positive, &kernel->lengthscales[i]);
    }
}

/* Matérn kernels have a closed form for three values of the smoothness. */
static void fill_nu(wire_object *o, wire_kernel *kernel)
{
    if (!wire_take_number(o, "nu", &wire_any, NULL, &kernel->nu))
        return;
    double nu = kernel->nu.value;
    if (nu != 0.5 && nu != 1.5 && nu != 2.5) {
        wire_place at = wire_place_member(o->place, "nu");
        wire_refuse(o->decoder, &at, "must be 0.5, 1.5 or 2.5");
    }
}

void wire_fill_kernel(wire_object *algorithm, wire_kernel *kernel)
{
    static const char *const types[] = {"gaussian", "matern", "linear", "precomputed", NULL};
    static const char *const matern_only = "applies only to the kernel type \"matern\"";
    static const char *const no_lengthscale = "applies only to the kernel types \"gaussian\" and \"matern\"";
    const json_t *json = wire_take(algorithm, "kernel", WIRE_OPTIONAL);
    wire_place at = wire_place_member(algorithm->place, "kernel");
    wire_object o;
    if (!json || !wire_object_open(&o, algorithm->decoder, &at, json))
        return;
    kernel->given = true;
    wire_take_word_text(&o, "type", WIRE_OPTIONAL, types, &kernel->type);
    const char *type = kernel->type ? kernel->type : "matern"; /* the default */
    if (strcmp(type, "matern") == 0)
        fill_nu(&o, kernel);
    else
        wire_forbid(&o, "nu", matern_only);
    if (strcmp(type, "linear") == 0 || strcmp(type, "precomputed") == 0)
        wire_forbid(&o, "lengthscale", no_lengthscale);
    else
        fill_lengthscale(&o, kernel);
    wire_object_close(&o);
}
