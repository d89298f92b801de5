/* A program that looks for a function of MPI 4 before it calls it, as mpi4py does: by a weak symbol and by
 * dlsym.
 *
 * Each rank sends 100 bytes to the next, with counts of MPI_Count if the MPI has them, and prints nothing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

extern int MPI_Sendrecv_c(const void *, MPI_Count, MPI_Datatype, int, int, void *, MPI_Count, MPI_Datatype,
                          int, int, MPI_Comm, MPI_Status *) __attribute__((weak));

int main(int argc, char **argv) {
    char out[100] = {0}, in[100];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    if (!MPI_Sendrecv_c != !dlsym(RTLD_DEFAULT, "MPI_Sendrecv_c"))
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (MPI_Sendrecv_c)
        MPI_Sendrecv_c(out, 100, MPI_BYTE, to, 0, in, 100, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
    else
        MPI_Sendrecv(out, 100, MPI_BYTE, to, 0, in, 100, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
