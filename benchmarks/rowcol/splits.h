/*
 * The ways to split the ranks: rows along one dimension, planes along two, or all together.
 *
 * A split is the set of ranks that agree in the positions of all other dimensions; its ranks are ordered by
 * position, X slowest, then by rank. The positions are those of nodes in the box that the ranks fill
 * (contiguous along each dimension of the lattice with wrap-around, without gaps, with equal ranks per node),
 * so that the nodes of a router are neighbours along Y.
 *
 * Leaves out: blocks of other shapes, refused with an error that names the first gap; splits of unequal size.
 */
#pragma once

#include "lib/ranks/coordinates.h"

#include <mpi.h>
#include <stdbool.h>

/* The block of nodes that the ranks fill. */
struct box {
    int origin[TORUS_DIMENSIONS]; /* position in the lattice */
    int length[TORUS_DIMENSIONS]; /* nodes along each dimension */
    int ranks_per_node;
};

/* Finds the box of all ranks; sets a problem that names the coordinates file if there is none. */
void box_find(const struct lattice *lattice, const struct coordinates *coordinates, int ranks,
              const char *path, struct box *box, struct problem *problem);

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
extern const struct split_way split_ways[SPLIT_WAYS];
enum { SPLIT_ALL = SPLIT_WAYS - 1 };

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
