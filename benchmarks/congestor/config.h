/*
 * The options of congestor.
 *
 * Leaves out: what a pattern does (patterns.h).
 */
#ifndef RAILYARD_CONGESTOR_CONFIG_H
#define RAILYARD_CONGESTOR_CONFIG_H

#include "congestor/patterns.h"
#include "lib/input/options.h"

struct config {
    const struct load_pattern *pattern;
    struct load_size size;
    int rounds; /* 0: until the stop file or the limit */
    int warmups;
    double limit_s;
    uint64_t seed;
    const char *ready; /* NULL: none; as the next two */
    const char *stop;
    const char *json;
    const struct load_pattern *beside; /* second pattern, sent by the last `beside_ranks` ranks; NULL: none */
    struct load_size beside_size;
    int beside_ranks;
};

extern const struct option_table congestor_options;

#endif
