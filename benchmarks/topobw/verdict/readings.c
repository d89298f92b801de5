/* Bounds the time of a link from repeated readings; see readings.h. */
#include "topobw/verdict/readings.h"

#include <math.h>

static const double error_chance = 1e-3;

double readings_shortest(const double *seconds, int count) {
    double fastest = INFINITY;
    double sum = 0;
    for (int i = 0; i < count; i++) {
        fastest = fmin(fastest, seconds[i]);
        sum += seconds[i];
    }
    if (count < 2 || isinf(sum))
        return fastest;
    double degrees = count - 1; /* half of those of F's denominator */
    double quantile = degrees * (pow(error_chance, -1 / degrees) - 1);
    double excess = (sum - count * fastest) / degrees;
    return fmax(fastest - quantile * excess / count, 1e-3 * fastest);
}
