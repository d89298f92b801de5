/*
 * Finds which direction of a link is dead. A transfer needs acknowledgements in the opposite direction, so a
 * link without an answer may be sound, and only the opposite direction dead.
 *
 * Both ends send each other more datagrams than a shaper passes immediately, and rank 0 collects along the
 * tree (relay.h) which ones arrived. A direction whose datagrams all arrive is not dead.
 *
 * Leaves out: listed plans, whose return routes usually use other links; more links than SILENT_MAX.
 */
#ifndef RAILYARD_TOPOBW_RUN_SILENCE_H
#define RAILYARD_TOPOBW_RUN_SILENCE_H

#include "topobw/run/run.h"

/* Collective, after a transfer was cancelled. Corrects the results on rank 0: if only the opposite direction
 * of a link is dead, the link becomes "not tested" and the opposite direction "no answer". */
void silence_probe(struct topobw *run);

#endif
