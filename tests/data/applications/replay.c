/*
 * Stands where an application stands whose sources are not in this repository: real MPI, recorded output.
 *
 * Rank 0 of each launch prints the file REPLAY/N.out, where N is the launch's number in RAILYARD_WITNESS, and
 * copies REPLAY/N.left to results.yaml. With a file REPLAY/N.kill rank 1 dies in the middle.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static void path_of(const char *ending, char *path) {
    int launch = 0;
    const char *witness = getenv("RAILYARD_WITNESS");
    const char *folder = getenv("REPLAY");
    if (!folder || !witness || sscanf(witness, "launch-%d.witness", &launch) != 1)
        exit(EXIT_FAILURE);
    (void)snprintf(path, PATH_BYTES, "%s/%d.%s", folder, launch, ending);
}

static void copy(const char *from, FILE *to) {
    FILE *file = fopen(from, "r");
    int letter = 0;
    while (file && to && (letter = fgetc(file)) != EOF)
        (void)fputc(letter, to);
    if (file)
        (void)fclose(file);
}

static void leave_file(void) {
    char path[PATH_BYTES];
    path_of("left", path);
    if (access(path, R_OK) == 0) {
        FILE *left = fopen("results.yaml", "w");
        copy(path, left);
        if (left)
            (void)fclose(left);
    }
}

int main(int argc, char **argv) {
    char path[PATH_BYTES];
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    path_of("kill", path);
    if (rank == 1 && access(path, R_OK) == 0)
        (void)raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        path_of("out", path);
        copy(path, stdout);
        leave_file();
    }
    MPI_Finalize();
    return EXIT_SUCCESS;
}
