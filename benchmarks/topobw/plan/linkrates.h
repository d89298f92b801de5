/*
 * The links file: what each link of a torus is made of and what it should carry (docs/formats.md, "Links
 * file"). Rank 0 alone reads and keeps it.
 *
 * Leaves out: which links exist (lib/ranks/coordinates.h knows the torus), and what part of a rate is
 * payload.
 */
#ifndef RAILYARD_TOPOBW_PLAN_LINKRATES_H
#define RAILYARD_TOPOBW_PLAN_LINKRATES_H

#include "lib/ranks/coordinates.h"
#include "lib/run/problem.h"
#include "topobw/plan/listed.h"

struct link_rates {
    double host_gbyte_s;       /* one node's link to its router */
    struct link_rate *of_link; /* by router (row-major), then X+ X- Y+ Y- Z+ Z-; NULL: no file was given */
    int extents[TORUS_DIMENSIONS];
    struct listed listed; /* tests one by one, for a network that is no torus */
    char *text;
};

/* On rank 0. Reads the file for a torus of those extents. */
void link_rates_read(const char *path, const int *extents, struct link_rates *rates, struct problem *problem);

/* The directed link that leaves the router at that coordinate; NULL when no file was given. */
const struct link_rate *link_rate_of(const struct link_rates *rates, const int *coordinate, int dimension,
                                     int step);

void link_rates_free(struct link_rates *rates);

#endif
