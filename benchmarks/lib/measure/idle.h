/*
 * Waiting without using the CPU. Many ranks can share few cores, and MPI libraries wait by polling: a rank
 * that takes no part in a measurement would take time from those that do.
 *
 * Leaves out: a prompt end. A sleeping rank looks every 1 to 20 ms.
 */
#ifndef RAILYARD_LIB_MEASURE_IDLE_H
#define RAILYARD_LIB_MEASURE_IDLE_H

/* Collective. Returns when every rank has called it; those that wait sleep. */
void idle_barrier(void);

/* Sleeps that long; a signal cuts it short. */
void idle_sleep(double seconds);

#endif
