/*
 * Finds unstable links: those whose rate often falls below their peers' in the same round.
 *
 * A link dips in a round when its rate is DIP_PERCENT or more below its peers' median of that round. A load
 * that slows all links at the same time is not a dip. A link is unstable when it dips more often than its
 * peers do on average, by more than four standard deviations of a Poisson process, and still is fast in some
 * rounds. verdict.h judges links that are always slow. Memory does not grow with the number of rounds. Pure;
 * rank 0 alone uses it.
 *
 * Leaves out: when a dip began and ended within a round.
 */
#ifndef RAILYARD_TOPOBW_VERDICT_STABILITY_H
#define RAILYARD_TOPOBW_VERDICT_STABILITY_H

#include "topobw/plan/plan.h"

enum { DIP_PERCENT = 20, DIP_DEVIATIONS = 4 };

/* The results of one link over all rounds. */
struct link_rounds {
    int rounds;
    int dips;
    double lowest; /* rate over the peers' median in its worst round; 1 without any round */
};

struct stability {
    int links;
    int *group; /* for each link, the index of its first peer */
    struct link_rounds *of_link;
};

struct stability stability_make(const struct plan *plan);
void stability_free(struct stability *stability);

/* Adds a round: the rate of each link, 0 where it was not in the round. */
void stability_add(struct stability *stability, const double *rates);

bool stability_is_unstable(const struct stability *stability, int link);

#endif
