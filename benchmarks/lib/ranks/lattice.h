/*
 * The nodes as a grid of their own: X, Y and Z of the torus, with the nodes of a router one after the other
 * along Y, as Peña et al. count them (EuroMPI 2013, section 4.1). A node's slot on its router is its order in
 * the coordinates file.
 *
 * Leaves out: ranks; of each node only its lowest rank is known (and rowcol/box.h counts them).
 */
#ifndef RAILYARD_LIB_RANKS_LATTICE_H
#define RAILYARD_LIB_RANKS_LATTICE_H

#include "lib/ranks/coordinates.h"

struct lattice {
    int nodes_per_router;          /* the maximum over routers */
    int extents[TORUS_DIMENSIONS]; /* X, Y * nodes_per_router, Z */
    int *slot_of_node;             /* by index into the file's nodes */
    int *rank_at;                  /* the lowest rank at each position, row-major; -1: none */
};

void lattice_make(const struct coordinates *coordinates, int ranks, struct lattice *lattice);
void lattice_free(struct lattice *lattice);

/* Returns the position of a rank's node. */
void lattice_position(const struct lattice *lattice, const struct coordinates *coordinates, int rank,
                      int *position);

/* The lowest rank at a position, taken round the torus; -1: none. */
int lattice_rank(const struct lattice *lattice, const int *position);

#endif
