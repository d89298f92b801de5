/*
 * What a user may ask of contention: its options.
 *
 * Leaves out: how many ranks the nodes have, which is known later.
 */
#ifndef RAILYARD_CONTENTION_CONFIG_H
#define RAILYARD_CONTENTION_CONFIG_H

#include "lib/lane.h"
#include "lib/options.h"
#include "lib/parse.h"

enum grouping { GROUPS_HALVES, GROUPS_ALTERNATE, GROUPS_RANKS };

struct contention_config {
    enum grouping grouping;
    struct number_list pairs;
    int spread;
    int rounds;
    struct lane_config lane;
};

const char *grouping_name(enum grouping grouping);

/* Collective. Reads the options. Rank 0 prints the help or the first error; all ranks return the same. */
enum options_outcome contention_config_read(int argc, char **argv, struct contention_config *config);

#endif
