/*
 * Collective calls over MPI_COMM_WORLD that survive a dead link: they use a tree of connections that have
 * been verified.
 *
 * A link that is down breaks every route through it, so MPI's own collectives, which choose partners by rank,
 * would never return, and no verdict would be reported. Instead, rank 0 floods a greeting: every rank
 * forwards it to the ranks 1, 2, 4, ... before and after it. A rank that is greeted greets back, and its
 * parent is the first to answer that from within the tree, so that the ways there and back are known to work.
 * A greeting is longer than what passes a link that is all but dead at once. One that cannot arrive costs
 * nothing. MPI_Allreduce, MPI_Bcast, MPI_Gather, MPI_Gatherv, MPI_Reduce and MPI_Scatter of MPI_COMM_WORLD
 * then follow the tree in this program, by MPI's profiling interface, so that the library's code need not
 * know. Ranks that wait sleep. Other communicators are MPI's own.
 *
 * Leaves out: links that break after relay_open, non-commutative operations, roots other than 0 (but for
 * MPI_Bcast), and simulated runs (RAILYARD_HOST_FROM_MPI), where nothing is replaced.
 */
#pragma once

#include <stdbool.h>

/* Collective, before any other. Builds the tree. On rank 0 it ends all ranks, after one line on stderr and
 * with EXIT_LINK_FAULT, when some rank cannot be reached within that time. */
void relay_open(const char *program, double limit_s);

/* Collective. Receives the greetings that are left, for so long at most. False on all ranks, with the tree as
 * it was, when one did not come: two ranks cannot talk, and MPI_Finalize might wait for their connection. */
bool relay_close(double limit_s);
