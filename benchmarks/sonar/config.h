/*
 * The options of sonar.
 *
 * Leaves out: those of the counters library, which are environment variables (counters/railyard-counters.h).
 */
#ifndef RAILYARD_SONAR_CONFIG_H
#define RAILYARD_SONAR_CONFIG_H

#include "lib/input/options.h"
#include "lib/input/parse.h"

enum mode { MODE_SEND, MODE_PUT, MODE_GET, MODES };

enum payload { PAYLOAD_RANDOM, PAYLOAD_ZERO, PAYLOADS };

struct sonar_config {
    bool modes[MODES];
    bool payloads[PAYLOADS];
    struct number_list sizes;
    int pings;
    int repeats;
    double settle_s;
    const char *group;
    const char *root;
    uint64_t seed;
    const char *json;
};

extern const struct option_table sonar_options;

const char *sonar_mode_name(int mode);
const char *sonar_payload_name(int payload);

/* The largest ping. */
size_t sonar_largest_size(const struct sonar_config *config);

#endif
