/*
 * A time limit on waiting for other ranks: on a network with a dead link a collective may never end.
 *
 * Armed, it ends the run with one line and exit status EXIT_LINK_FAULT unless it is disarmed in time. Rank 0
 * speaks first, the others some seconds later if it could not. In a simulated run (RAILYARD_HOST_FROM_MPI),
 * where ranks share a process, nothing is armed.
 *
 * Leaves out: going on without the ranks that do not answer. What must survive a dead link is measured by
 * stream.h, whose transfers end one by one.
 */
#ifndef RAILYARD_TOPOBW_RUN_DEADLINE_H
#define RAILYARD_TOPOBW_RUN_DEADLINE_H

#include <mpi.h>
#include <stdbool.h>

/* Arms it, or arms it anew. */
void deadline_arm(double limit_s);
void deadline_disarm(void);

/* Waits for requests, true when all were done before that time of MPI_Wtime. */
bool deadline_wait(MPI_Request *requests, int count, double until_s);

/* The same for one request, of which it tells the status. */
bool deadline_wait_status(MPI_Request *request, MPI_Status *status, double until_s);

#endif
