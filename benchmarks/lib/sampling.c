/* Fewer samples for slow points; see sampling.h. */
#include "lib/sampling.h"

#include <math.h>

int sampling_first(const struct sampling *sampling) {
    return sampling->repeats < SAMPLES_MIN ? sampling->repeats : SAMPLES_MIN;
}

int sampling_count(const struct sampling *sampling, int taken, double taken_s) {
    if (sampling->point_time_s <= 0 || taken_s <= 0)
        return sampling->repeats;
    double affordable = floor(sampling->point_time_s / taken_s * taken);
    if (affordable >= sampling->repeats)
        return sampling->repeats;
    return affordable < taken ? taken : (int)affordable;
}
