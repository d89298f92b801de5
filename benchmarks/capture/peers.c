/* Translates groups; see peers.h. Calls MPI by the names that no profiler counts. */
#include "capture/peers.h"

#include <stdlib.h>

static void free_peers(struct peers *peers) {
    if (peers) {
        free(peers->world);
        free(peers->neighbour);
        free(peers);
    }
}

/* Frees `group`. */
static bool translate(struct peers *peers, MPI_Group group) {
    MPI_Group all = MPI_GROUP_NULL;
    bool good = PMPI_Group_size(group, &peers->size) == MPI_SUCCESS &&
                PMPI_Comm_group(MPI_COMM_WORLD, &all) == MPI_SUCCESS;
    int *ranks = malloc(((size_t)peers->size + 1) * sizeof *ranks);
    peers->world = malloc(((size_t)peers->size + 1) * sizeof *peers->world);
    good = good && ranks && peers->world;
    for (int i = 0; good && i < peers->size; i++)
        ranks[i] = i;
    good = good && PMPI_Group_translate_ranks(group, peers->size, ranks, all, peers->world) == MPI_SUCCESS;
    free(ranks);
    if (all != MPI_GROUP_NULL)
        (void)PMPI_Group_free(&all);
    (void)PMPI_Group_free(&group);
    return good;
}

static bool room_for_neighbours(struct peers *peers, int count) {
    peers->neighbours = count;
    peers->neighbour = malloc(((size_t)count + 1) * sizeof *peers->neighbour);
    return peers->neighbour;
}

static bool distributed_neighbours(struct peers *peers, MPI_Comm comm) {
    int in = 0, out = 0, weighted = 0;
    if (PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS ||
        !room_for_neighbours(peers, out))
        return false;
    int *rest = malloc(((size_t)(2 * in) + (size_t)out + 1) * sizeof *rest);
    bool good = rest && PMPI_Dist_graph_neighbors(comm, in, rest, rest + in, out, peers->neighbour,
                                                  rest + 2 * in) == MPI_SUCCESS;
    free(rest);
    return good;
}

static bool find_neighbours(struct peers *peers, MPI_Comm comm) {
    int topology = MPI_UNDEFINED;
    if (PMPI_Topo_test(comm, &topology) != MPI_SUCCESS)
        return false;
    if (topology == MPI_CART) {
        int dimensions = 0;
        bool good =
            PMPI_Cartdim_get(comm, &dimensions) == MPI_SUCCESS && room_for_neighbours(peers, 2 * dimensions);
        for (int d = 0; good && d < dimensions; d++)
            good = PMPI_Cart_shift(comm, d, 1, &peers->neighbour[2 * d], &peers->neighbour[2 * d + 1]) ==
                   MPI_SUCCESS;
        return good;
    }
    if (topology == MPI_GRAPH) {
        int count = 0;
        return PMPI_Graph_neighbors_count(comm, peers->rank, &count) == MPI_SUCCESS &&
               room_for_neighbours(peers, count) &&
               PMPI_Graph_neighbors(comm, peers->rank, count, peers->neighbour) == MPI_SUCCESS;
    }
    return topology != MPI_DIST_GRAPH || distributed_neighbours(peers, comm);
}

static bool describe(struct peers *peers, MPI_Comm comm) {
    int between = 0;
    MPI_Group group = MPI_GROUP_NULL;
    if (PMPI_Comm_test_inter(comm, &between) != MPI_SUCCESS ||
        PMPI_Comm_rank(comm, &peers->rank) != MPI_SUCCESS)
        return false;
    peers->between = between;
    if ((between ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm, &group)) != MPI_SUCCESS)
        return false;
    return translate(peers, group) && (between || find_neighbours(peers, comm));
}

static int free_of_communicator(MPI_Comm comm, int key, void *peers, void *extra) {
    (void)comm, (void)key, (void)extra;
    free_peers(peers);
    return MPI_SUCCESS;
}

static int free_of_window(MPI_Win window, int key, void *peers, void *extra) {
    (void)window, (void)key, (void)extra;
    free_peers(peers);
    return MPI_SUCCESS;
}

const struct peers *peers_of_communicator(MPI_Comm comm) {
    static int key = MPI_KEYVAL_INVALID;
    struct peers *peers = NULL;
    int there = 0;
    if (key == MPI_KEYVAL_INVALID &&
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_of_communicator, &key, NULL) != MPI_SUCCESS)
        return NULL;
    if (PMPI_Comm_get_attr(comm, key, &peers, &there) == MPI_SUCCESS && there)
        return peers;
    peers = calloc(1, sizeof *peers);
    if (peers && describe(peers, comm) && PMPI_Comm_set_attr(comm, key, peers) == MPI_SUCCESS)
        return peers;
    free_peers(peers);
    return NULL;
}

const struct peers *peers_of_window(MPI_Win window) {
    static int key = MPI_KEYVAL_INVALID;
    struct peers *peers = NULL;
    MPI_Group group = MPI_GROUP_NULL;
    int there = 0;
    if (key == MPI_KEYVAL_INVALID &&
        PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, free_of_window, &key, NULL) != MPI_SUCCESS)
        return NULL;
    if (PMPI_Win_get_attr(window, key, &peers, &there) == MPI_SUCCESS && there)
        return peers;
    peers = calloc(1, sizeof *peers);
    if (peers && PMPI_Win_get_group(window, &group) == MPI_SUCCESS && translate(peers, group) &&
        PMPI_Win_set_attr(window, key, peers) == MPI_SUCCESS)
        return peers;
    free_peers(peers);
    return NULL;
}
