#include "core/selection/location_prior.h"

#include "core/base/allocate.h"

#include <stdlib.h>

/* A number is at a border if it is no farther from it, as a share of its range. */
static const double AT_BORDER = 0.0025;

/* More numbers than these have together the weight of so many. */
enum { MANY = 20 };

static bool is_at_border(double feature)
{
    return feature <= AT_BORDER || feature >= 1.0 - AT_BORDER;
}

bandit_status bandit_location_prior_set(bandit_location_prior *prior, const bandit_space *space,
                                        const double *leader, bandit_error *err)
{
    prior->n = 0;
    if (!bandit_reserve((void **)&prior->features, &prior->capacity, space->n, sizeof *prior->features))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < space->n; i++) {
        size_t feature = space->places[i].first;
        if (bandit_is_nearly_continuous(&space->parameters[i]) && !is_at_border(leader[feature]))
            prior->features[prior->n++] = feature;
    }
    return BANDIT_OK;
}

void bandit_location_prior_clear(bandit_location_prior *prior)
{
    free(prior->features);
    *prior = (bandit_location_prior){0};
}

size_t bandit_location_prior_memory(const bandit_location_prior *prior)
{
    return prior->capacity * sizeof *prior->features;
}

double bandit_location_prior_log(const bandit_location_prior *prior, const double *features, double *gradient)
{
    double sum = 0.0, weight = prior->n > MANY ? (double)MANY / (double)prior->n : 1.0;
    for (size_t k = 0; k < prior->n; k++) {
        double t = 2.0 * features[prior->features[k]] - 1.0;
        sum -= t * t;
        if (gradient)
            gradient[prior->features[k]] -= weight * 4.0 * t;
    }
    return weight * sum;
}
