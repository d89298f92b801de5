/* Fewer samples for slow points, and their middle; see sampling.h. */
#include "lib/measure/sampling.h"

#include "lib/run/check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/prctl.h>

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

int sampling_total(const struct sampling *sampling, int taken, double taken_s) {
    struct sampling longer = *sampling;
    if (taken_s > 0 && sampling->min_time_s > 0) {
        double wanted = fmin(ceil(sampling->min_time_s / taken_s * taken), SAMPLES_MOST);
        longer.repeats = wanted > sampling->repeats ? (int)wanted : sampling->repeats;
    }
    return sampling_count(&longer, taken, taken_s);
}

double sampling_longest(double seconds) {
    double longest_s = 0;
    MPI_CHECK(MPI_Allreduce(&seconds, &longest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return longest_s;
}

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

void sampling_sort(double *values, int count) {
    if (count > 0)
        qsort(values, (size_t)count, sizeof *values, compare_doubles);
}

double sampling_median(double *values, int count) {
    sampling_sort(values, count);
    return count > 0 ? (values[(count - 1) / 2] + values[count / 2]) / 2 : 0;
}

static void take_name(const char *name) {
    if (getenv("RAILYARD_TORUS") != NULL)
        (void)prctl(PR_SET_NAME, name);
}

void sampling_begin(void) {
    take_name("railyard-timed");
}

void sampling_end(void) {
    take_name(program_invocation_short_name);
}
