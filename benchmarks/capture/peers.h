/*
 * The ranks of MPI_COMM_WORLD behind the ranks of a communicator or a window.
 *
 * Found once for each and kept as its attribute, so that MPI frees them with it. Leaves out: threads (the
 * caller holds a lock).
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>

struct peers {
    bool between; /* an inter-communicator: its ranks are those of the remote group */
    int rank;     /* own rank; of the local group where it is between two */
    int size;
    int *world;     /* of each rank; MPI_UNDEFINED outside MPI_COMM_WORLD */
    int neighbours; /* that this rank sends to by a neighbourhood collective; 0 without a topology */
    int *neighbour; /* ranks of the communicator, MPI_PROC_NULL among them, in MPI's order */
};

/* Null where MPI does not say, or memory is short. */
const struct peers *peers_of_communicator(MPI_Comm comm);
const struct peers *peers_of_window(MPI_Win window);
