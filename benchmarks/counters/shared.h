/*
 * Broadcasts texts and files from rank 0 of a communicator.
 *
 * Leaves out: texts of 2 GiB and more.
 */
#ifndef RAILYARD_COUNTERS_SHARED_H
#define RAILYARD_COUNTERS_SHARED_H

#include "lib/run/problem.h"

#include <mpi.h>

int shared_rank(MPI_Comm comm);

/* Collective. Copies of rank 0's texts, to be freed; NULL stays NULL. */
void shared_texts(MPI_Comm comm, const char *const *texts, int count, char **shared);

/* Collective. The text of a file that rank 0 reads, to be freed; NULL on all ranks, where rank 0 has a
 * problem.
 */
char *shared_file(MPI_Comm comm, const char *path, const char *label, struct problem *problem);

/* Returns a copy of a path with "%h" replaced by the host; NULL stays NULL. */
char *shared_expand(const char *path, const char *host);

#endif
