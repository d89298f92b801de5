/*
 * The energy that a node counts during a program: packages and memory by RAPL, the node and its parts by a
 * Cray.
 *
 * Files: sys/class/powercap/intel-rapl:N and intel-rapl:N:M (Documentation/power/powercap/powercap.rst of the
 * kernel), sys/cray/pm_counters (HPE's "Cray pm_counters"). Most kernels let only root read RAPL's files. A
 * counter that starts again from 0 is followed once: one that does so several times in a launch counts too
 * little. Leaves out: GPUs that only a vendor's library counts, and power.
 */
#pragma once

#include <stdbool.h>

enum { ENERGY_COUNTERS_MAX = 32, ENERGY_NAME_BYTES = 32, ENERGY_PATH_BYTES = 512 };

struct energy_counter {
    char name[ENERGY_NAME_BYTES]; /* the node's own name: package-0, dram, node */
    char path[ENERGY_PATH_BYTES];
    double joules_of_one; /* joules per step of the counter */
    double range;         /* value at which it wraps to 0; 0: never */
    double first;
};

struct energy {
    int count;
    struct energy_counter counters[ENERGY_COUNTERS_MAX];
};

/* Finds the counters below a root ("" for the machine's own) and reads them. */
void energy_begin(const char *root, struct energy *energy);

/* Reads a counter again. Returns false where it cannot be read, or went backwards and has no range. */
bool energy_joules(const struct energy_counter *counter, double *joules);
