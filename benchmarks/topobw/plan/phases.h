/*
 * Orders the tests of the links of a ring, so that no router sends and receives at the same time.
 *
 * Models the phases of TopoBW (Ezell, CUG'13, Figure 5) for one dimension: even positions send plus, odd ones
 * minus, odd ones plus, even ones minus. A ring of odd length has two more: the last position sends to the
 * first, and then the first to the last, because what a slow node sends delays its answers, and a sound link
 * towards it would look slow. A ring of 2 has one cable, tested by the first two phases; a ring of 1 has
 * none. Three dimensions take at most 18 phases, whatever their lengths; a listed plan (listed.h) at most
 * PHASES_MAX.
 *
 * Leaves out: links beyond the nearest neighbour.
 */
#ifndef RAILYARD_TOPOBW_PLAN_PHASES_H
#define RAILYARD_TOPOBW_PLAN_PHASES_H

enum { DIMENSIONS_MAX = 3, PHASES_PER_RING = 6, PHASES_MAX = 64 };

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

#endif
