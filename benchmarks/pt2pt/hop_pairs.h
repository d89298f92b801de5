/*
 * Chooses the nodes that measure a torus dimension and hop count.
 *
 * Hops are steps from node to node, as Peña et al. count them (EuroMPI 2013, section 4.1): the nodes of a
 * router are neighbours along Y, so with two nodes per router one hop along Y may stay inside a router, and h
 * hops cross about h / 2 links. Of each node only its lowest rank takes part. For dimension d and h hops:
 * ranks whose node has another h steps further along d, round the torus, at equal steps from the lowest. A
 * combination without two such ranks is listed with the reason.
 *
 * Leaves out: the route (dimension-order routing takes the links along d).
 */
#ifndef RAILYARD_PT2PT_HOP_PAIRS_H
#define RAILYARD_PT2PT_HOP_PAIRS_H

#include "lib/input/parse.h"
#include "lib/ranks/coordinates.h"
#include "lib/ranks/lattice.h"

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

struct hop_request {
    const char *dimensions;         /* letters of "XYZ" */
    const struct number_list *hops; /* none: 1 to extent / 2 of each dimension */
    int pairs_per_point;            /* maximum per dimension and hop count */
};

/* The pairs by dimension, then hops, then lowest rank. The same on all ranks. */
void hop_pairs_on_torus(const struct coordinates *coordinates, const struct lattice *lattice, int ranks,
                        const struct hop_request *request, struct hop_list *list);

void hop_pairs_free(struct hop_list *list);

#endif
