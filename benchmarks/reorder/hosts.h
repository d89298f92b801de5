/*
 * Finds which process becomes which rank, from the hosts that a file lists.
 *
 * Leaves out: MPI's topologies (reorder.c).
 */
#ifndef RAILYARD_REORDER_HOSTS_H
#define RAILYARD_REORDER_HOSTS_H

#include <mpi.h>

/* Collective. The new rank of each rank of `comm`, to be freed, the same on all: the first of them are on the
 * hosts that the lines of the file name, and the others follow in order. Processes of one host keep their
 * order. NULL, after one line on stderr, if the file does not fit: it has neither `vertices` nor as many
 * lines as ranks, or another host than the ranks have. */
int *hosts_new_ranks(const char *path, MPI_Comm comm, int vertices);

#endif
