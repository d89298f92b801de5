/*
 * The number of samples of a point, and the payload's seed: options that every benchmark has.
 *
 * Leaves out: taking and timing a sample.
 */
#pragma once

#include <stdint.h>

enum { SAMPLES_MIN = 3, SAMPLES_MOST = 10000 };

struct sampling {
    int repeats;         /* samples wanted */
    int warmups;         /* untimed samples before */
    double warmup_s;     /* seconds of untimed samples before */
    double min_time_s;   /* make samples longer until a point takes this time */
    double point_time_s; /* fewer samples, at least SAMPLES_MIN, when they would take longer; 0: no limit */
    uint64_t seed;
    const char *json; /* where rank 0 writes the results; NULL: nowhere */
};

/* Returns how many samples to take before deciding how many a point gets. */
int sampling_first(const struct sampling *sampling);

/* Returns the total number of samples of a point whose first `taken` samples took `taken_s` seconds. */
int sampling_count(const struct sampling *sampling, int taken, double taken_s);

/* The same for samples that cannot be made longer: takes more of them, up to SAMPLES_MOST, to reach the
 * minimum time of a point. */
int sampling_total(const struct sampling *sampling, int taken, double taken_s);

/* Collective. Returns the longest time of any rank. */
double sampling_longest(double seconds);

/* Sorts values; sampling_median also returns their median, 0 of none. */
void sampling_sort(double *values, int count);
double sampling_median(double *values, int count);

/*
 * Signal to the virtual torus when timed samples are taken: meanwhile the rank's process is named
 * railyard-timed.
 *
 * Start-up, verification and output also load the processors and the network. The watcher of the torus
 * (railyard-counters) reads the name ten times per second and judges the machine only during timed samples. A
 * process name is visible across containers and schedulers without a file or a variable. Outside a virtual
 * torus they do nothing.
 */
void sampling_begin(void);
void sampling_end(void);
