#include "server/data/candidate_rows.h"

#include <math.h>
#include <stdio.h>

static bool is_row(const wire_study *definition, const double *row, size_t width)
{
    bool space = definition->domain_type == WIRE_DOMAIN_SPACE;
    bool fine = !space || width == definition->n_parameters;
    for (size_t i = 0; fine && i < width; i++)
        fine = space ? isnan(row[i]) || wire_is_value(&definition->parameters[i], row[i]) : isfinite(row[i]);
    return fine;
}

static store_status check(const double *rows, int64_t study, const wire_study *definition, size_t width,
                          size_t n, store_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!is_row(definition, rows + i * width, width)) {
            err->status = STORE_CORRUPT;
            snprintf(err->message, sizeof err->message, "study %lld: a candidate's row is damaged",
                     (long long)study);
            return STORE_CORRUPT;
        }
    return STORE_OK;
}

store_status candidate_rows(double *rows, store *s, int64_t study, const wire_study *definition, size_t width,
                            int64_t first, size_t n, store_error *err)
{
    store_status status = store_read_candidates(s, study, first, n, width, rows, err);
    return status ? status : check(rows, study, definition, width, n, err);
}

store_status candidate_rows_at(double *rows, store *s, int64_t study, const wire_study *definition,
                               size_t width, const int64_t *indices, size_t n, store_error *err)
{
    store_status status = store_read_candidates_at(s, study, indices, n, width, rows, err);
    return status ? status : check(rows, study, definition, width, n, err);
}
