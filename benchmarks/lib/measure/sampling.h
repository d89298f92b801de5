/*
 * How many samples a point gets, and the payload's seed: what every benchmark lets its user choose.
 *
 * Leaves out: how a sample is taken, and who takes the time.
 */
#ifndef RAILYARD_LIB_MEASURE_SAMPLING_H
#define RAILYARD_LIB_MEASURE_SAMPLING_H

#include <stdint.h>

enum { SAMPLES_MIN = 3, SAMPLES_MOST = 10000 };

struct sampling {
    int repeats;         /* samples wanted */
    int warmups;         /* untimed samples before */
    double warmup_s;     /* untimed samples until so much time has passed */
    double min_time_s;   /* longer samples until those of a point take so much time */
    double point_time_s; /* fewer samples, at least SAMPLES_MIN, when they would take longer; 0: no limit */
    uint64_t seed;
    const char *json; /* where rank 0 writes the results; NULL: nowhere */
};

/* The samples to take before the time of a point is judged. */
int sampling_first(const struct sampling *sampling);

/* The samples of the point in all, when the first `taken` took that long. */
int sampling_count(const struct sampling *sampling, int taken, double taken_s);

/* The same where samples cannot be made longer: more of them, up to SAMPLES_MOST, for the least time of a
 * point. */
int sampling_total(const struct sampling *sampling, int taken, double taken_s);

#endif
