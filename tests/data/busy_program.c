/* Works through passes as Quicksilver does: each tests a request that the other rank does not answer yet, and
 * computes a little. Usage: busy_program PASSES TESTS. Prints how often rank 0 slept meanwhile. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static long sleeps(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

int main(int argc, char **argv) {
    if (argc != 3 || MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 1;
    int rank = 0, number = 0, done = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Request request;
    MPI_Irecv(&number, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    long before = sleeps();
    for (int pass = 0; pass < atoi(argv[1]); pass++) {
        for (int i = 0; i < atoi(argv[2]); i++)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        for (volatile int i = 0; i < 100; i++)
            ;
    }
    if (rank == 0)
        printf("%ld\n", sleeps() - before);
    MPI_Send(&rank, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
