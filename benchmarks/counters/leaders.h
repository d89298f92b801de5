/*
 * One leader for each node or router among the ranks of a communicator: the lowest rank of each key; and what
 * rank 0 tells all.
 *
 * Rank 0 is always a leader and is rank 0 among them. Leaves out: what a key is (source.h).
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>

enum counter_part { FOLLOWS, LEADS, ALL_LEAD, NO_LEADERS };

/* Collective. Returns whether this rank is a leader: ALL_LEAD if every rank is one, NO_LEADERS if any rank
 * has an empty key. */
enum counter_part counter_part(MPI_Comm comm, const char *key);

/* Collective. A communicator of the leaders in the order of their ranks; MPI_COMM_NULL on the others; `comm`
 * itself if all ranks lead. Returns false on all ranks, without leaders, if any rank has an empty key. Rank 0
 * temporarily needs memory proportional to the number of ranks. */
bool counter_leaders(MPI_Comm comm, const char *key, MPI_Comm *leaders);

int leaders_rank(MPI_Comm comm);

/* Collective. Copies of rank 0's texts, to be freed; NULL stays NULL. */
void shared_texts(MPI_Comm comm, const char *const *texts, int count, char **shared);

/* Returns a copy of a path with "%h" replaced by the host; NULL stays NULL. */
char *shared_expand(const char *path, const char *host);
