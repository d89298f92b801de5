/*
 * The block of nodes that the ranks fill: contiguous along each dimension of the lattice with wrap-around,
 * without gaps, with equal ranks per node.
 *
 * Leaves out: other shapes; they are refused with an error that names the first gap.
 */
#ifndef RAILYARD_ROWCOL_BOX_H
#define RAILYARD_ROWCOL_BOX_H

#include "lib/ranks/lattice.h"
#include "lib/run/problem.h"

struct box {
    int origin[TORUS_DIMENSIONS]; /* position in the lattice */
    int length[TORUS_DIMENSIONS]; /* nodes along each dimension */
    int ranks_per_node;
};

/* Finds the box of all ranks; sets a problem that names the coordinates file if there is none. */
void box_find(const struct lattice *lattice, const struct coordinates *coordinates, int ranks,
              const char *path, struct box *box, struct problem *problem);

/* A rank's position in the box. */
void box_position(const struct box *box, const struct lattice *lattice, const struct coordinates *coordinates,
                  int rank, int *position);

/* The lowest rank at a position in the box. */
int box_rank(const struct box *box, const struct lattice *lattice, const int *position);

#endif
