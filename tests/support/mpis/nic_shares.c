/* nic_shares RANKS_PER_NODE BYTES: local rank k of each node exchanges 1, 1, 2 or 4 messages of BYTES with
 * its partner.
 *
 * The ranks run on two nodes, and a rank's partner has the same local rank on the other node. Because the
 * local ranks send unequal numbers of bytes, the share of each NIC shows which of a node's ranks sent through
 * it. More than four local ranks begin again at one message. Prints MPI's name on rank 0.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    static const int messages[] = {1, 1, 2, 4};
    int rank = 0;
    int ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int per_node = argc == 3 ? atoi(argv[1]) : 0;
    const int bytes = argc == 3 ? atoi(argv[2]) : 0;
    if (per_node < 1 || bytes < 1 || ranks != 2 * per_node) {
        if (rank == 0)
            fprintf(stderr, "usage: nic_shares RANKS_PER_NODE BYTES, on two nodes\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char *out = calloc((size_t)bytes, 1);
    char *in = calloc((size_t)bytes, 1);
    if (out == NULL || in == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    const int partner = (rank + per_node) % ranks;
    for (int i = 0; i < messages[rank % per_node % 4]; i++) {
        MPI_Sendrecv(out, bytes, MPI_BYTE, partner, 0, in, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    if (rank == 0) {
        char name[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        MPI_Get_library_version(name, &length);
        printf("%s\n", name);
        fflush(stdout); /* some libraries never return from MPI_Finalize */
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
