/*
 * Waiting without using the CPU. Many ranks can share few cores, and MPI libraries wait by polling: a rank
 * that takes no part in a measurement would take time from those that do.
 *
 * Leaves out: an immediate wake-up. A sleeping rank checks every 1 to 20 ms.
 */
#pragma once

#include <stdbool.h>

/* Collective. Returns when every rank has called it; those that wait sleep. */
void idle_barrier(void);

/* Tells railyard-idle.so whether this rank calls MPI only to wait. A rank of a virtual torus then sleeps
 * until a packet arrives. */
void idle_only_waits(bool yes);

/* Sleeps for `seconds`, or until a signal. */
void idle_sleep(double seconds);
