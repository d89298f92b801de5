/*
 * Which direction of a link without an answer is dead: a transfer needs its answers, so a link looks dead,
 * too, when only the way back is.
 *
 * Both ends send each other datagrams, more than a shaper lets through at once, and rank 0 learns along the
 * tree (relay.h) which arrived. A direction whose datagrams all arrive is not dead.
 *
 * Leaves out: listed plans, whose ways back are in general other links; more links than SILENT_MAX.
 */
#ifndef RAILYARD_TOPOBW_RUN_SILENCE_H
#define RAILYARD_TOPOBW_RUN_SILENCE_H

#include "topobw/run/run.h"

/* Collective, after a transfer was given up. Changes the results on rank 0: a link whose way back alone is
 * dead is not tested, and that way has no answer. */
void silence_probe(struct topobw *run);

#endif
