#include "server/data/modelled.h"

#include "proto/recorded_values.h"

bool modelled_values(const study_config *config, double value, const char *recorded, double *out)
{
    out[0] = value;
    return config->n_modelled == 1 ||
           wire_read_recorded(recorded, config->modelled + 1, config->n_modelled - 1, out + 1);
}

bool modelled_rewards(const study_config *config, double value, const char *recorded, double *out)
{
    if (!modelled_values(config, value, recorded, out))
        return false;
    for (size_t j = 0; j < config->n_modelled; j++)
        out[j] = config->signs[j] * out[j];
    return true;
}

bool modelled_std_errors(const study_config *config, const char *recorded, double *out)
{
    return wire_read_std_errors(recorded, config->modelled, config->n_modelled, out);
}

bool modelled_is_feasible(const study_config *config, const double *values)
{
    return wire_keeps_bounds(config->modelled, values, config->n_modelled);
}
