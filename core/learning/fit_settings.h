/* Shared by the files of bandit_refit: fit_settings.c (the constant part) and hyperparameters.c (fits). */
#ifndef CORE_LEARNING_FIT_SETTINGS_H
#define CORE_LEARNING_FIT_SETTINGS_H

#include "bandit/fit.h"
#include "core/arms/arms_storage.h"
#include "core/learning/hyperparameters.h"

/* The data of a fit, without points and rewards. Borrows from the settings. */
bandit_fit_data bandit_fit_settings_data(const bandit_fit_settings *settings);

/* The fitted hyper-parameters. Borrows the lengthscales. */
bandit_hyperparameters bandit_fitted_hyperparameters(const bandit_fitted *fitted);

/* Set fitted->least_error, and fitted->unit_noise once the rest is known. At least one error was reported.
 * Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_fitted_set_least_error(bandit_fitted *fitted, const bandit_told_errors *errors,
                                            bandit_error *err);
bandit_status bandit_fitted_set_unit_noise(bandit_fitted *fitted, const bandit_ledger *ledger,
                                           const bandit_told_errors *errors, bandit_error *err);

/* The given noise variance in the units of standardized rewards, at least 1e-8. */
double bandit_fit_given_noise(const bandit_fit_settings *settings, double scale);

#endif
