#include "tests/support/functions.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

double function_branin(const double x[2])
{
    const double pi = 3.14159265358979323846;
    double a = x[0], b = x[1], t = b - 5.1 / (4.0 * pi * pi) * a * a + 5.0 / pi * a - 6.0;
    return t * t + 10.0 * (1.0 - 1.0 / (8.0 * pi)) * cos(a) + 10.0;
}

double function_hartmann3(const double x[3])
{
    static const double A[4][3] = {{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}};
    static const double P[4][3] = {{0.3689, 0.1170, 0.2673},
                                   {0.4699, 0.4387, 0.7470},
                                   {0.1091, 0.8732, 0.5547},
                                   {0.0381, 0.5743, 0.8828}};
    static const double c[4] = {1.0, 1.2, 3.0, 3.2};
    double sum = 0.0;
    for (size_t i = 0; i < 4; i++) {
        double t = 0.0;
        for (size_t j = 0; j < 3; j++)
            t += A[i][j] * (x[j] - P[i][j]) * (x[j] - P[i][j]);
        sum += c[i] * exp(-t);
    }
    return sum;
}

double function_hartmann6(const double x[6], double *gradient)
{
    static const double A[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                   {0.05, 10, 17, 0.1, 8, 14},
                                   {3, 3.5, 1.7, 10, 17, 8},
                                   {17, 8, 0.05, 10, 0.1, 14}};
    static const double P[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                   {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                   {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                   {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
    static const double c[4] = {1.0, 1.2, 3.0, 3.2};
    double sum = 0.0;
    if (gradient)
        memset(gradient, 0, 6 * sizeof *gradient);
    for (size_t i = 0; i < 4; i++) {
        double t = 0.0;
        for (size_t j = 0; j < 6; j++)
            t += A[i][j] * (x[j] - P[i][j]) * (x[j] - P[i][j]);
        t = c[i] * exp(-t);
        sum += t;
        for (size_t j = 0; gradient && j < 6; j++)
            gradient[j] -= 2.0 * A[i][j] * (x[j] - P[i][j]) * t;
    }
    return sum;
}
