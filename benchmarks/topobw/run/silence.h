/*
 * Finds the dead direction of a link without an answer. A transfer needs its answers, so a link also looks
 * dead if only the opposite direction is.
 *
 * Both ends send each other more datagrams than a shaper passes immediately, and rank 0 collects along the
 * tree (relay.h) which ones arrived. A direction whose datagrams all arrive is not dead.
 *
 * Leaves out: listed plans, whose return routes usually use other links; more links than SILENT_MAX.
 */
#ifndef RAILYARD_TOPOBW_RUN_SILENCE_H
#define RAILYARD_TOPOBW_RUN_SILENCE_H

#include "topobw/run/run.h"

/* Collective, after a cancelled transfer. Changes the results on rank 0: if only the opposite direction is
 * dead, the link counts as not tested and its opposite as without an answer. */
void silence_probe(struct topobw *run);

#endif
