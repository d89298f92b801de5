/*
 * What a user may ask of paths: its options.
 *
 * Leaves out: the coordinates file's contents (lib/coordinates.h).
 */
#ifndef RAILYARD_PATHS_CONFIG_H
#define RAILYARD_PATHS_CONFIG_H

#include "lib/coordinates.h"
#include "lib/lane.h"
#include "lib/options.h"
#include "lib/parse.h"

struct paths_config {
    const char *coordinates;
    char dimensions[TORUS_DIMENSIONS + 1];
    struct number_list hops;
    struct number_list paths;
    struct lane_config lane;
};

/* Collective. Reads the options. Rank 0 prints the help or the first error; all ranks return the same. */
enum options_outcome paths_config_read(int argc, char **argv, struct paths_config *config);

#endif
