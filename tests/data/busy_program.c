/* Works through passes as Quicksilver does: each tests a request that the other rank does not answer yet, and
 * ends with a collective. Usage: busy_program PASSES TESTS [waits]. Prints how often rank 0 slept in its
 * tests; with `waits` it says that it only waits. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

extern void railyard_only_waits(int yes) __attribute__((weak));

static long sleeps(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

int main(int argc, char **argv) {
    if (argc < 3 || MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 1;
    int rank = 0, number = 0, sent = 0, done = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Request request;
    MPI_Irecv(&sent, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    long slept = 0;
    if (argc > 3 && railyard_only_waits)
        railyard_only_waits(1);
    for (int pass = 0; pass < atoi(argv[1]); pass++) {
        long before = sleeps();
        for (int i = 0; i < atoi(argv[2]); i++)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        slept += sleeps() - before;
        MPI_Allreduce(&pass, &number, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%ld\n", slept);
    MPI_Send(&rank, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
