/*
 * Patterns: which nodes transfer to which, all at the same time.
 *
 * A pattern is a function that names pair i of a step, as numbers of nodes; it returns false if there is
 * none. Every chosen rank of a node takes part, with the rank of the same index on the other node.
 *
 * Leaves out: pairs by hops and on parallel lines (hop_pairs.h, lines.h), which need a torus.
 */
#ifndef RAILYARD_PT2PT_PATTERNS_H
#define RAILYARD_PT2PT_PATTERNS_H

#include "lib/input/parse.h"
#include "lib/ranks/coordinates.h"
#include "pt2pt/nodes.h"

#include <stdbool.h>
#include <stdint.h>

/* The nodes of a run, and their positions. */
struct layout {
    struct nodes nodes;
    const int (*position)[TORUS_DIMENSIONS]; /* position of each node on the torus; NULL: unknown */
    const int *node_at;                      /* first node at each position, row-major; -1: none */
    int extents[TORUS_DIMENSIONS];
    uint64_t seed;
    const int *shuffled; /* the nodes in the random order of this step */
};

/* Two nodes, the first of which sends. */
struct node_pair {
    int from;
    int to;
};

struct pattern {
    const char *name;
    const char *help;
    bool (*pair)(const struct layout *layout, int step, int i, struct node_pair *pair);
    enum { ONE_STEP, CHOSEN_STEPS, ALL_STEPS } steps; /* which are measured: 1, those of --steps, all */
};

/* Parser for option tables: the name of a pattern into const struct pattern *. */
bool parse_pattern(const char *text, void *field);

#endif
