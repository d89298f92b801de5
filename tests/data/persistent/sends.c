/*
 * A ring whose ranks send by every kind of persistent request; tests/benchmarks/test_persistent.py has the
 * sum.
 *
 * What is received is verified, so that a wrapper that changes a call shows. Exit status 1: wrong data.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 70000, ITEMS = 3, TIMES = 5 };

static int left, right;

/* Sends by `request` into `to`, which must then begin with the letter that was sent. */
static int exchange(MPI_Request *request, char *to, char letter) {
    MPI_Request receives;
    int wrong;
    memset(to, 0, LARGE);
    MPI_Recv_init(to, LARGE, MPI_CHAR, left, 0, MPI_COMM_WORLD, &receives);
    MPI_Start(&receives);
    MPI_Barrier(MPI_COMM_WORLD); /* a ready send needs its receive */
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    MPI_Wait(&receives, MPI_STATUS_IGNORE);
    wrong = to[0] != letter;
    MPI_Request_free(&receives);
    return wrong;
}

int main(int argc, char **argv) {
    static char from[LARGE], to[LARGE], buffered[LARGE + MPI_BSEND_OVERHEAD];
    MPI_Request request, both[2];
    MPI_Datatype pairs;
    int rank, ranks, bytes, wrong = 0;
    void *attached;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    right = (rank + 1) % ranks;
    left = (rank + ranks - 1) % ranks;
    memset(from, 'x', sizeof from);
    MPI_Buffer_attach(buffered, sizeof buffered);

    /* Each kind once, of 100, 200, 300 and 400 bytes; a freed handle is given to the next request. */
    MPI_Send_init(from, 100, MPI_CHAR, right, 0, MPI_COMM_WORLD, &request);
    wrong |= exchange(&request, to, 'x');
    MPI_Request_free(&request);
    MPI_Ssend_init(from, 200, MPI_CHAR, right, 0, MPI_COMM_WORLD, &request);
    wrong |= exchange(&request, to, 'x');
    MPI_Request_free(&request);
    MPI_Rsend_init(from, 300, MPI_CHAR, right, 0, MPI_COMM_WORLD, &request);
    wrong |= exchange(&request, to, 'x');
    MPI_Request_free(&request);
    MPI_Bsend_init(from, 400, MPI_CHAR, right, 0, MPI_COMM_WORLD, &request);
    wrong |= exchange(&request, to, 'x');
    MPI_Request_free(&request);

    /* No data: a message of 0 bytes. Nobody there: no message. */
    MPI_Send_init(from, 0, MPI_CHAR, right, 0, MPI_COMM_WORLD, &request);
    wrong |= exchange(&request, to, 0);
    MPI_Request_free(&request);
    MPI_Send_init(from, 500, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);

    /* TIMES messages of ITEMS pairs of integers that are not neighbours, sent and received by MPI_Startall.
     */
    MPI_Type_vector(2, 1, 4, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Recv_init(to, LARGE, MPI_CHAR, left, 0, MPI_COMM_WORLD, &both[0]);
    MPI_Send_init(from, ITEMS, pairs, right, 0, MPI_COMM_WORLD, &both[1]);
    for (int i = 0; i < TIMES; i++) {
        MPI_Startall(2, both);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        wrong |= to[ITEMS * 2 * sizeof(int) - 1] != 'x';
    }
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    MPI_Type_free(&pairs);

    /* Rank r starts a large one r times, for itself. */
    MPI_Send_init(from, LARGE, MPI_CHAR, rank, 1, MPI_COMM_WORLD, &request);
    for (int i = 0; i < rank; i++) {
        MPI_Request receives;
        MPI_Irecv(to, LARGE, MPI_CHAR, rank, 1, MPI_COMM_WORLD, &receives);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Wait(&receives, MPI_STATUS_IGNORE);
        wrong |= to[LARGE - 1] != 'x';
    }
    MPI_Request_free(&request);

    /* None of these is persistent, although MPI gives them handles that were. */
    MPI_Isend(from, 600, MPI_CHAR, right, 2, MPI_COMM_WORLD, &request);
    MPI_Recv(to, LARGE, MPI_CHAR, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Buffer_detach(&attached, &bytes);
    MPI_Finalize();
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
