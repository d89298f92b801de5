/*
 * What a user may ask of hops: its options.
 *
 * Leaves out: the coordinates file's contents (lib/coordinates.h).
 */
#ifndef RAILYARD_HOPS_CONFIG_H
#define RAILYARD_HOPS_CONFIG_H

#include "lib/coordinates.h"
#include "lib/lane.h"
#include "lib/options.h"
#include "lib/parse.h"

struct hops_config {
    const char *coordinates;
    char dimensions[TORUS_DIMENSIONS + 1];
    struct number_list hops;
    struct number_list sizes;
    bool tests[LANE_TESTS];
    struct lane_config lane;
    const char *json;
};

/*
 * Collective. Reads the options. Rank 0 prints the help or the first error; all ranks return the same.
 */
enum options_outcome hops_config_read(int argc, char **argv, struct hops_config *config);

/* The largest message that will be sent. */
size_t hops_largest_size(const struct hops_config *config);

/* Whether that test is measured at that size. */
bool hops_in_point(const struct hops_config *config, int test, size_t bytes);

#endif
