/*
 * Which two ranks measure a torus dimension and hop count.
 *
 * Of each node only its lowest rank takes part. For dimension d and h hops: the lowest rank whose router o
 * has a partner, and the lowest rank at router o + h along d, round the torus. A combination that no two
 * ranks stand for is listed with the reason.
 *
 * Leaves out: all but one pair of a combination, and the route (dimension-order routing takes the h links
 * along d).
 */
#ifndef RAILYARD_PT2PT_HOP_PAIRS_H
#define RAILYARD_PT2PT_HOP_PAIRS_H

#include "lib/input/parse.h"
#include "lib/ranks/coordinates.h"

enum { HOP_REASON_BYTES = 96 };

struct hop_pair {
    char dimension[8]; /* "X", "Y", "Z", or "none" without coordinates */
    int hops;
    int from; /* rank; -1: not measured */
    int to;
    char reason[HOP_REASON_BYTES]; /* why it is not measured */
};

struct hop_list {
    int count;
    struct hop_pair *pairs;
};

/* The first and the last rank, dimension "none", 0 hops. */
void hop_pairs_ends(int ranks, struct hop_list *list);

/*
 * The pairs of these dimensions (letters of "XYZ") and hop counts (none given: 1 to extent / 2 of each
 * dimension), by dimension, then hops. The same on all ranks.
 */
void hop_pairs_on_torus(const struct coordinates *coordinates, int ranks, const char *dimensions,
                        const struct number_list *hops, struct hop_list *list);

void hop_pairs_free(struct hop_list *list);

#endif
