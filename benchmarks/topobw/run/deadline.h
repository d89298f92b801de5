/*
 * A time limit on waiting for other ranks: on a network with a dead link a collective may never end.
 *
 * Armed, it ends the run with one line and exit status EXIT_LINK_FAULT unless it is disarmed in time. Rank 0
 * prints first; the other ranks print some seconds later if rank 0 could not. In a simulated run
 * (RAILYARD_HOST_FROM_MPI), where ranks share a process, nothing is armed.
 *
 * Leaves out: continuing without the ranks that do not answer. Transfers that must survive a dead link have
 * their own limits (stream.h).
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>

/* Starts or restarts the limit. */
void deadline_arm(double limit_s);
void deadline_disarm(void);

/* Waits for requests, true when all were done before that time of MPI_Wtime. */
bool deadline_wait(MPI_Request *requests, int count, double until_s);

/* The same for one request, and returns its status. */
bool deadline_wait_status(MPI_Request *request, MPI_Status *status, double until_s);
