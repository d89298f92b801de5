/*
 * The ways to split the ranks: rows along one dimension, planes along two, or all together.
 *
 * A split is the set of ranks that agree in the positions of all other dimensions; its ranks are ordered by
 * position, X slowest, then by rank. The positions are those of nodes in the box that the ranks fill
 * (box.h), so that the nodes of a router are neighbours along Y.
 *
 * Leaves out: splits of unequal size.
 */
#ifndef RAILYARD_ROWCOL_SPLITS_H
#define RAILYARD_ROWCOL_SPLITS_H

#include "lib/ranks/coordinates.h"
#include "lib/ranks/lattice.h"
#include "rowcol/box.h"

#include <mpi.h>
#include <stdbool.h>

enum { SPLIT_WAYS = 7 };

/* One way to split. */
struct split_way {
    const char *name;
    bool along[TORUS_DIMENSIONS]; /* the dimensions in which a split's positions differ */
};

/* The positions of the ranks; without coordinates only the way "all" is possible. */
struct standing {
    const char *path; /* the coordinates file; NULL: none */
    struct coordinates coordinates;
    struct lattice lattice;
    struct box box;
};

/* X, Y, Z, XY, XZ, YZ, all. */
const struct split_way *split_ways(void);
enum { SPLIT_ALL = SPLIT_WAYS - 1 };

/* Parser for option tables: names of ways into bool[SPLIT_WAYS]. */
bool parse_split_ways(const char *text, void *field);

/* Return the number of groups of this split, and of ranks per group. */
int split_count(const struct standing *standing, int way);
int split_ranks(const struct standing *standing, int way);

/* Return the first rank of a split, and the first rank on its last node. */
int split_first(const struct standing *standing, int way, int index);
int split_last(const struct standing *standing, int way, int index);

/* This rank's split. */
int split_mine(const struct standing *standing, int way);

/* Collective. A communicator of this rank's split, to be freed. */
MPI_Comm split_comm(const struct standing *standing, int way);

#endif
