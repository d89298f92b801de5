/*
 * A periodic process grid of up to three dimensions, and the position of each rank.
 *
 * A position's index is row-major: the last dimension is fastest, as in MPI_Cart_create. Orders: "row-major"
 * puts rank r at index r (the Cart_create of Peña et al., EuroMPI 2013); "column-major" puts consecutive
 * ranks along the first dimension (their Plain); a rank map lists the rank of each position (their Custom).
 * "mpi-cart" and "mpi-dist-graph" let the MPI library choose: MPI_Cart_create and
 * MPI_Dist_graph_create_adjacent with reorder = 1, where many libraries keep the ranks as they are.
 *
 * Leaves out: weights of the graph's edges.
 */
#pragma once

#include "lib/input/parse.h"
#include "lib/run/problem.h"

enum grid_order { GRID_ROW_MAJOR, GRID_COLUMN_MAJOR, GRID_MPI_CART, GRID_MPI_DIST_GRAPH, GRID_ORDERS };

struct grid {
    struct extents extents;
    int *rank_at;       /* rank by row-major index of its position */
    int position;       /* the index of the calling rank */
    bool is_renumbered; /* some rank is at the position of another number */
};

extern const char *const grid_orders[GRID_ORDERS]; /* their names */

/* The number of positions. */
size_t grid_size(const struct extents *extents);

/* Returns the grid that MPI_Dims_create makes for this number of dimensions. */
struct extents grid_default(int ranks, int dimensions);

/* Collective. Fills the grid in any order but a rank map's; the extents must hold exactly the ranks of the
 * run. */
void grid_fill(const struct extents *extents, enum grid_order order, struct grid *grid);

/* Collective. Fills the grid from a file with one rank per line, by row-major index; the ranks must be a
 * permutation. */
void grid_read(const struct extents *extents, const char *path, struct grid *grid, struct problem *problem);

/* Returns the rank at an offset (-1, 0 or 1 along each dimension), with periodic boundaries. */
int grid_neighbour(const struct grid *grid, const int *step);

void grid_free(struct grid *grid);
