// ring: pass blocks of doubles around a ring of ranks, check them, and print the time.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// How often each block is sent. A change to 2 is the regression that a test of the workflow makes.
enum { SENT = 1, ROUNDS = 4 };

int main(int argc, char **argv) {
    int rank = 0;
    int ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int count = argc > 1 ? atoi(argv[1]) : 1024;
    double *out = malloc((size_t)count * sizeof *out);
    double *in = malloc((size_t)count * sizeof *in);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < count; i++)
        out[i] = rank;
    const int next = (rank + 1) % ranks;
    const int last = (rank + ranks - 1) % ranks;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (int sent = 0; sent < SENT * ROUNDS; sent++)
        MPI_Sendrecv(out, count, MPI_DOUBLE, next, 0, in, count, MPI_DOUBLE, last, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    const double elapsed_s = MPI_Wtime() - begun;
    if (in[0] != last || in[count - 1] != last)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        printf("ranks: %d\ntime: %.6f s\nblocks are right\n", ranks, elapsed_s);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
