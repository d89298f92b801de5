/* Positions of nodes; see lattice.h. */
#include "lib/ranks/lattice.h"

#include "lib/run/check.h"

#include <stdlib.h>
#include <string.h>

static size_t row_major(const int *extents, const int *position) {
    size_t index = 0;
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        index = index * (size_t)extents[d] + (size_t)position[d];
    return index;
}

static size_t volume(const int *extents) {
    return (size_t)extents[0] * (size_t)extents[1] * (size_t)extents[2];
}

/* Numbers the nodes of each router from 0. */
static void find_slots(const struct coordinates *coordinates, struct lattice *lattice) {
    int *nodes_at = check_alloc(volume(coordinates->extents), sizeof(int));
    lattice->slot_of_node = check_alloc((size_t)coordinates->node_count, sizeof(int));
    for (int i = 0; i < coordinates->node_count; i++) {
        int *count = &nodes_at[row_major(coordinates->extents, coordinates->nodes[i].coordinate)];
        lattice->slot_of_node[i] = (*count)++;
        if (*count > lattice->nodes_per_router)
            lattice->nodes_per_router = *count;
    }
    free(nodes_at);
}

static void place_ranks(const struct coordinates *coordinates, int ranks, struct lattice *lattice) {
    int position[TORUS_DIMENSIONS];
    size_t positions = volume(lattice->extents);
    lattice->rank_at = check_alloc(positions, sizeof(int));
    for (size_t i = 0; i < positions; i++)
        lattice->rank_at[i] = -1;
    for (int rank = ranks - 1; rank >= 0; rank--) {
        lattice_position(lattice, coordinates, rank, position);
        lattice->rank_at[row_major(lattice->extents, position)] = rank;
    }
}

void lattice_make(const struct coordinates *coordinates, int ranks, struct lattice *lattice) {
    *lattice = (struct lattice){0};
    find_slots(coordinates, lattice);
    memcpy(lattice->extents, coordinates->extents, sizeof lattice->extents);
    lattice->extents[1] *= lattice->nodes_per_router;
    place_ranks(coordinates, ranks, lattice);
}

void lattice_free(struct lattice *lattice) {
    free(lattice->slot_of_node);
    free(lattice->rank_at);
}

void lattice_position(const struct lattice *lattice, const struct coordinates *coordinates, int rank,
                      int *position) {
    int node = coordinates->node_of_rank[rank];
    memcpy(position, coordinates->nodes[node].coordinate, TORUS_DIMENSIONS * sizeof *position);
    position[1] = position[1] * lattice->nodes_per_router + lattice->slot_of_node[node];
}

int lattice_rank(const struct lattice *lattice, const int *position) {
    int wrapped[TORUS_DIMENSIONS];
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        wrapped[d] = position[d] % lattice->extents[d];
    return lattice->rank_at[row_major(lattice->extents, wrapped)];
}
