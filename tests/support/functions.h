/* Functions that optimizers are commonly tried on. */
#ifndef TESTS_SUPPORT_FUNCTIONS_H
#define TESTS_SUPPORT_FUNCTIONS_H

/* Branin's, on [-5, 10] x [0, 15]: its three minima are 0.397887. */
double function_branin(const double x[2]);

/* Hartmann's of three variables, on the unit cube, as it is to be maximized: its maximum is 3.86278. */
double function_hartmann3(const double x[3]);

/* The same of six variables: its maximum is 3.32237. gradient: 6 entries; NULL: not needed. */
double function_hartmann6(const double x[6], double *gradient);

#endif
