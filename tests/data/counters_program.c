/* A user's program: counts what happens while a shell command runs on rank 0. Usage: counters_program
 * COMMAND. */
#include <railyard-counters.h>

#include <stdlib.h>

int main(int argc, char **argv) {
    railyard_counters *counters = NULL;
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int bad = railyard_counters_init(MPI_COMM_WORLD, NULL, &counters);
    if (!bad) {
        bad = railyard_counters_read(counters);
        if (rank == 0 && argc > 1 && system(argv[1]) != 0)
            MPI_Abort(MPI_COMM_WORLD, 9);
        MPI_Barrier(MPI_COMM_WORLD);
        bad = bad || railyard_counters_read(counters) || railyard_counters_print(counters);
        railyard_counters_free(&counters);
    }
    MPI_Finalize();
    return bad ? 2 : 0;
}
