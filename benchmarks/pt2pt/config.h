/*
 * The options of pt2pt, and of hops, paths and contention: the same program with different patterns and
 * options.
 *
 * Leaves out: the coordinates file's contents, and the number of ranks per node, which is determined later.
 */
#ifndef RAILYARD_PT2PT_CONFIG_H
#define RAILYARD_PT2PT_CONFIG_H

#include "lib/input/options.h"
#include "lib/input/parse.h"
#include "lib/ranks/coordinates.h"
#include "pt2pt/engine.h"
#include "pt2pt/patterns.h"

enum grouping { GROUPS_HALVES, GROUPS_ALTERNATE, GROUPS_RANKS };

struct pt2pt_config {
    const char *coordinates;
    char dimensions[TORUS_DIMENSIONS + 1]; /* hops, paths */
    struct number_list hops;               /* hops, paths */
    int pairs_per_point;                   /* hops */
    struct number_list paths;              /* paths */
    enum grouping grouping;                /* contention */
    struct number_list per_node;           /* contention: pairs; pt2pt: ranks */
    int spread;                            /* contention */
    int rounds;                            /* contention */
    const struct pattern *pattern;         /* pt2pt */
    struct number_list steps;              /* pt2pt */
    bool every_rank;                       /* pt2pt: each rank counts as a node */
    const char *pairs;                     /* pt2pt: file for matrices of all pairs */
    struct engine_config engine;
};

const char *grouping_name(enum grouping grouping);

/* The options of each program. */
extern const struct option_table pt2pt_options;
extern const struct option_table hops_options;
extern const struct option_table paths_options;
extern const struct option_table contention_options;

#endif
