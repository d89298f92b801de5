/*
 * Waiting without using the CPU. Many ranks can share few cores, and MPI libraries wait by polling: a rank
 * that takes no part in a measurement would take time from those that do.
 *
 * Leaves out: a prompt end. A sleeping rank looks every 1 to 20 ms.
 */
#ifndef RAILYARD_LIB_MEASURE_IDLE_H
#define RAILYARD_LIB_MEASURE_IDLE_H

#include <stdbool.h>

/* Collective. Returns when every rank has called it; those that wait sleep. */
void idle_barrier(void);

/* Whether this rank asks MPI for its requests because it waits, and has no work between: a rank of a virtual
 * torus then sleeps until a packet comes. */
void idle_only_waits(bool yes);

/* Sleeps that long; a signal cuts it short. */
void idle_sleep(double seconds);

#endif
