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
    struct lane_config lane;
};

/*
 * Collective. Reads the options. Rank 0 prints the help or the first error; all ranks return the same.
 */
enum options_outcome hops_config_read(int argc, char **argv, struct hops_config *config);

#endif
