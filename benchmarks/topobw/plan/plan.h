/*
 * Chooses the sender and receiver of each phase, so that every link between neighbouring routers of an
 * allocation is tested once. Rank 0 makes the plan; every rank receives only its own part.
 *
 * Of each node only its lowest rank takes part. The k-th node of a router sends to the k-th of the next;
 * where one router has fewer nodes than the other, the remaining nodes wait. A link that several nodes use at
 * the same time is shared.
 *
 * For a network that is no torus the links file lists the tests, each with its pairs of nodes.
 *
 * Leaves out: links with an end outside the allocation (counted in `absent`), and nodes of one router sending
 * to each other.
 */
#pragma once

#include "lib/ranks/coordinates.h"
#include "topobw/plan/linkrates.h"

/*
 * The tests of the links of a ring are in phases, so that no router sends and receives at the same time.
 *
 * Models the phases of TopoBW (Ezell, CUG'13, Figure 5) for one dimension: even positions send plus, odd ones
 * minus, odd ones plus, even ones minus. A ring of odd length has two more: the last position sends to the
 * first, and then the first to the last, because what a slow node sends delays its answers, and a sound link
 * towards it would look slow. A ring of 2 has one cable, tested by the first two phases; a ring of 1 has
 * none. Three dimensions take at most 18 phases, whatever their lengths; a listed plan at most
 * PHASES_MAX.
 *
 * Leaves out: links beyond the nearest neighbour.
 */
enum { PHASES_PER_RING = 6 };

enum phase {
    PHASE_EVEN_PLUS,
    PHASE_ODD_MINUS,
    PHASE_ODD_PLUS,
    PHASE_EVEN_MINUS,
    PHASE_LAST_PLUS,
    PHASE_FIRST_MINUS
};

/* "even plus", ..., "first minus". */
const char *phase_name(enum phase phase);

/* Returns the direction in which a position of a ring sends in a phase: 1, -1, or 0 if it does not send. */
int phase_step(int extent, int position, enum phase phase);

/* The position one step further, round the ring. */
int ring_step(int extent, int position, int step);

/* One directed link under test. */
struct tested_link {
    int phase; /* dimension * PHASES_PER_RING + enum phase */
    int dimension;
    int step;
    int from[TORUS_DIMENSIONS]; /* coordinates of the routers */
    int to[TORUS_DIMENSIONS];
    int first_transfer;
    int sharers;                      /* simultaneous transfers over it */
    const struct link_rate *rate;     /* NULL: unknown */
    const struct listed_test *listed; /* NULL on a torus */
};

/* One node sending to one node. */
struct transfer {
    int link;
    int from_rank;
    int to_rank;
};

struct plan {
    int link_count;
    struct tested_link *links; /* sorted by phase, then router */
    int transfer_count;
    struct transfer *transfers; /* sorted by link */
    bool is_listed;
    const char *kinds[TORUS_DIMENSIONS]; /* what `dimension` means: "X", or a class of a listed plan */
    int absent[TORUS_DIMENSIONS];        /* links without a rank at both ends */
    bool phases[PHASES_MAX];             /* whether each phase has a link */
};

/* The role of one rank in one phase: the ranks that it sends to and receives from, -1 for none; for a sender
 * also how many senders share its link, and the first of them. If they are traced, the routers on their
 * way are asked for their names. */
struct role {
    int to;
    int from;
    int sharers;
    int first_sharer;
    int is_traced;
};

/* A way of so many routers is one link between them. */
enum { LINK_NAME_BYTES = 80, PLAN_NEIGHBOURS = 2 };

/* On rank 0. Plans all links that the nodes of the ranks can test. */
void plan_make(const struct coordinates *coordinates, const struct link_rates *rates, struct plan *plan);

/* Collective. Fills the caller's roles, PHASES_MAX of them. The plan counts on rank 0. */
void plan_share(const struct plan *plan, struct role *roles);

/* Returns the number of routers on the way of a test. */
int plan_routers(const struct tested_link *link);

/* "X+ 0,0,0>1,0,0", as the topology's links are named. */
void plan_link_name(const struct tested_link *link, char *name);

/* "global r0-3>r8-0" of a listed plan's global:r0-3>r8-0. */
void plan_part_name(const char *part, char *name);

void plan_free(struct plan *plan);
