/* Asks MPI for reordering in each way; prints which rank of MPI_COMM_WORLD each new rank is. Verifies that a
 * graph's data go where the graph says. */
#include <mpi.h>
#include <stdio.h>

enum { RANKS = 4 };

static int rank, none = 0, one = 1, all = RANKS;

/* Frees the communicator. */
static void show(const char *what, MPI_Comm comm) {
    int old[RANKS], now;
    MPI_Comm_rank(comm, &now);
    MPI_Gather(&rank, 1, MPI_INT, old, 1, MPI_INT, 0, comm);
    if (now == 0)
        printf("%s %d %d %d %d\n", what, old[0], old[1], old[2], old[3]);
    MPI_Comm_free(&comm);
}

/* In a ring each rank gets the number of the one before, and has the weights that its vertex was given. */
static void verify(MPI_Comm comm, int has_weights) {
    int now, from = -1, in = -1, out = -1, in_weight = 0, out_weight = 0;
    MPI_Comm_rank(comm, &now);
    MPI_Dist_graph_neighbors(comm, 1, &in, has_weights ? &in_weight : MPI_UNWEIGHTED, 1, &out,
                             has_weights ? &out_weight : MPI_UNWEIGHTED);
    MPI_Neighbor_allgather(&now, 1, MPI_INT, &from, 1, MPI_INT, comm);
    int before = (now + RANKS - 1) % RANKS, after = (now + 1) % RANKS;
    if (from != before || in != before || out != after ||
        (has_weights && (in_weight != 10 + now || out_weight != 20 + now)))
        MPI_Abort(comm, 1);
}

static void graphs(void) {
    int before = (rank + RANKS - 1) % RANKS, after = (rank + 1) % RANKS, in = 10 + rank, out = 20 + rank;
    int index[RANKS] = {1, 2, 3, 4}, edges[RANKS] = {1, 2, 3, 0};
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &in, 1, &after, &out, MPI_INFO_NULL, 1, &comm);
    verify(comm, 1);
    show("adjacent", comm);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 1, &comm);
    verify(comm, 0);
    show("unweighted", comm);
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &after, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm);
    verify(comm, 0);
    show("distributed", comm);
    MPI_Graph_create(MPI_COMM_WORLD, RANKS, index, edges, 1, &comm);
    show("graph", comm);
}

static void grids(void) {
    int three = 3, grid[] = {2, 2}, periods[] = {1, 1}, at[2], now;
    MPI_Comm comm, part;
    MPI_Cart_create(MPI_COMM_WORLD, 2, grid, periods, 1, &comm);
    MPI_Comm_rank(comm, &now);
    MPI_Cart_coords(comm, now, 2, at);
    if (2 * at[0] + at[1] != now)
        MPI_Abort(comm, 1);
    show("grid", comm);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &all, &one, 0, &comm);
    show("kept", comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank == RANKS - 1, 0, &part);
    if (rank < three)
        MPI_Cart_create(part, 1, &three, &none, 1, &comm);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &three, &none, 1, &comm);
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_rank(comm, &now);
        printf("part %d %d\n", now, rank);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    grids();
    graphs();
    return MPI_Finalize();
}
