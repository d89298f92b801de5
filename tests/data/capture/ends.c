/* Three times 100 bytes to the next rank, each before a barrier; then an end that the first argument names:
 * finalize, exit, _exit, abort, one (rank 0 exits, the others wait), or spawn (two more processes, and a
 * message to one of them). */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void spawn(char **argv) {
    MPI_Comm others;
    char text[100] = {0};
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&others);
    if (others != MPI_COMM_NULL) {
        if (rank == 0)
            MPI_Recv(text, 100, MPI_BYTE, 0, 0, others, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    if (rank == 0)
        MPI_Send(text, 100, MPI_BYTE, 0, 0, others);
}

int main(int argc, char **argv) {
    char out[100] = {0}, in[100];
    const char *how = argc > 1 ? argv[1] : "finalize";
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int k = 0; k < 3; k++) {
        MPI_Sendrecv(out, 100, MPI_BYTE, (rank + 1) % ranks, 0, in, 100, MPI_BYTE, (rank + ranks - 1) % ranks,
                     0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (strcmp(how, "exit") == 0)
        exit(0);
    if (strcmp(how, "_exit") == 0)
        _exit(0);
    if (strcmp(how, "abort") == 0 && rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(how, "one") == 0 && rank == 0)
        exit(0);
    if (strcmp(how, "one") == 0 || strcmp(how, "abort") == 0)
        sleep(20);
    if (strcmp(how, "spawn") == 0)
        spawn(argv);
    MPI_Finalize();
    return 0;
}
