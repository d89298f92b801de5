/*
 * Chooses pairs of ranks on parallel lines along a torus dimension.
 *
 * The lines are adjacent rows of the lattice (lib/ranks/lattice.h): adjacent along Y for pairs along X and Z,
 * along Z for pairs along Y. So two paths along X or Z that start at one router's two nodes share all links,
 * and two paths along Y share none, as in Peña et al. (EuroMPI 2013, Figure 4).
 *
 * Leaves out: all but the first place (lowest rank) where the lines fit.
 */
#ifndef RAILYARD_PT2PT_LINES_H
#define RAILYARD_PT2PT_LINES_H

#include "lib/ranks/coordinates.h"
#include "lib/ranks/lattice.h"
#include "pt2pt/team.h"

enum { LINES_REASON_BYTES = 96 };

/*
 * Returns pairs `hops` apart along the dimension (0 to 2), one on each of `paths` lines. If the ranks do not
 * fit them, the team has no pairs and the reason is set.
 */
struct team lines_find(const struct lattice *lattice, const struct coordinates *coordinates, int ranks,
                       int dimension, int hops, int paths, char *reason);

#endif
