/*
 * Sends by every kind of function that the capture counts; tests/benchmarks/test_capture.py adds it up by
 * hand.
 *
 * For 4 ranks. With an argument it leaves out what Open MPI's pml_monitoring counts otherwise: persistent
 * sends (it counts none), and MPI_Alltoallv (it counts that as messages of the program).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 4, SMALL = 100, ROOM = 1 << 20 };

static char in[ROOM], out[ROOM];

/* Phase 1: rank r sends 100 bytes to r + 1 by each of eight functions, 64 of them as a vector of two blocks.
 */
static void messages(int next, int last) {
    MPI_Request requests[3];
    MPI_Datatype halves;
    MPI_Type_vector(2, 32, 64, MPI_BYTE, &halves);
    MPI_Type_commit(&halves);
    MPI_Irecv(in, SMALL, MPI_BYTE, last, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Send(out, SMALL, MPI_BYTE, next, 1, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Irecv(in, SMALL, MPI_BYTE, last, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in, 1, halves, last, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, SMALL, MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Ssend(out, 1, halves, next, 2, MPI_COMM_WORLD);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(out, SMALL, MPI_BYTE, next, 3, in, SMALL, MPI_BYTE, last, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(out, SMALL, MPI_BYTE, next, 3, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(out, SMALL, MPI_BYTE, MPI_PROC_NULL, 3, in, SMALL, MPI_BYTE, MPI_PROC_NULL, 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&halves);
}

/* Phase 2: a persistent send of 100 bytes, started three times; one that is never started; a collective of
 * two. */
static void persistent(int next, int last) {
    MPI_Request requests[3];
    MPI_Send_init(out, SMALL, MPI_BYTE, next, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, SMALL, MPI_BYTE, last, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Send_init(out, SMALL, MPI_BYTE, next, 5, MPI_COMM_WORLD, &requests[2]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
}

/* Phase 3: on a communicator whose rank 0 is world rank 3, its rank 0 sends 10 bytes to its rank 1. */
static void reversed(int rank) {
    MPI_Comm comm;
    int own = 0;
    MPI_Comm_split(MPI_COMM_WORLD, 0, RANKS - rank, &comm);
    MPI_Comm_rank(comm, &own);
    if (own == 0)
        MPI_Send(out, 10, MPI_BYTE, 1, 0, comm);
    else if (own == 1)
        MPI_Recv(in, 10, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
}

/* Phases 11 and on: one collective each. */
static void collectives(int rank, int all) {
    int counts[RANKS], places[RANKS];
    for (int i = 0; i < RANKS; i++) {
        counts[i] = 10 * (i + 1);
        places[i] = 1000 * i;
    }
    MPI_Pcontrol(11);
    MPI_Bcast(out, SMALL, MPI_BYTE, 1, MPI_COMM_WORLD);
    MPI_Pcontrol(12);
    MPI_Reduce(out, in, SMALL, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD);
    MPI_Pcontrol(13);
    MPI_Allreduce(out, in, SMALL, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Pcontrol(14);
    MPI_Allreduce(out, in, 40000, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Pcontrol(15);
    MPI_Alltoall(out, SMALL, MPI_BYTE, in, SMALL, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Pcontrol(16);
    if (all) {
        int wanted[RANKS];
        for (int i = 0; i < RANKS; i++)
            wanted[i] = 10 * (rank + 1);
        MPI_Alltoallv(out, counts, places, MPI_BYTE, in, wanted, places, MPI_BYTE, MPI_COMM_WORLD);
    }
    MPI_Pcontrol(17);
    MPI_Allgather(out, SMALL, MPI_BYTE, in, SMALL, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Pcontrol(18);
    MPI_Gather(out, SMALL, MPI_BYTE, in, SMALL, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Pcontrol(19);
    MPI_Scatterv(out, counts, places, MPI_BYTE, in, counts[rank], MPI_BYTE, 2, MPI_COMM_WORLD);
    MPI_Pcontrol(20);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Phase 30: on a ring of four, a block to both neighbours. */
static void neighbours(void) {
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){RANKS}, (int[]){1}, 0, &ring);
    MPI_Pcontrol(30);
    MPI_Neighbor_alltoall(out, SMALL, MPI_BYTE, in, SMALL, MPI_BYTE, ring);
    MPI_Pcontrol(0);
    MPI_Comm_free(&ring);
}

/* Phase 40: rank 0 puts 8 bytes into rank 1's memory, gets 16 from rank 2's, and adds 4 to rank 3's and
 * fetches it. */
static void one_sided(int rank) {
    MPI_Win window;
    int old = 0, one = 1;
    MPI_Win_create(in, ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Pcontrol(40);
    if (rank == 0) {
        MPI_Put(out, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, window);
        MPI_Get(out + 100, 16, MPI_BYTE, 2, 0, 16, MPI_BYTE, window);
        MPI_Fetch_and_op(&one, &old, MPI_INT, 3, 0, MPI_SUM, window);
    }
    MPI_Pcontrol(0);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

int main(int argc, char **argv) {
    int rank = 0, ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != RANKS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    int next = (rank + 1) % RANKS, last = (rank + RANKS - 1) % RANKS;
    MPI_Pcontrol(1);
    messages(next, last);
    MPI_Pcontrol(2);
    if (argc < 2)
        persistent(next, last);
    MPI_Pcontrol(3);
    reversed(rank);
    collectives(rank, argc < 2);
    neighbours();
    one_sided(rank);
    MPI_Finalize();
    return 0;
}
