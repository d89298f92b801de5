/*
 * The links file: the class and expected rate of each link of a torus (docs/formats.md, "Links file"). Only
 * rank 0 reads and stores it.
 *
 * Leaves out: which links exist (lib/ranks/coordinates.h knows the torus), and the payload's share of a rate.
 */
#ifndef RAILYARD_TOPOBW_PLAN_LINKRATES_H
#define RAILYARD_TOPOBW_PLAN_LINKRATES_H

#include "lib/ranks/coordinates.h"
#include "lib/run/problem.h"
#include "topobw/plan/listed.h"

struct link_rates {
    double host_gbyte_s;       /* one node's link to its router */
    struct link_rate *of_link; /* sorted by router (row-major), then X+ X- Y+ Y- Z+ Z-; NULL: no links file */
    int extents[TORUS_DIMENSIONS];
    struct listed listed; /* individual tests, for a network other than a torus */
    char *text;
};

/* On rank 0. Reads the file for a torus of those extents. */
void link_rates_read(const char *path, const int *extents, struct link_rates *rates, struct problem *problem);

/* Returns the directed link that leaves the router at the coordinate; NULL without a links file. */
const struct link_rate *link_rate_of(const struct link_rates *rates, const int *coordinate, int dimension,
                                     int step);

void link_rates_free(struct link_rates *rates);

#endif
