/* Ranks by node; see nodes.h. */
#include "contention/nodes.h"

#include "lib/check.h"
#include "lib/evidence.h"

#include <stdint.h>
#include <stdlib.h>

/* FNV-1a. */
static uint64_t hash(const char *text) {
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return value;
}

static void nodes_start(int ranks, struct nodes *nodes) {
    *nodes = (struct nodes){.of_rank = check_alloc((size_t)ranks, sizeof(int)),
                            .local = check_alloc((size_t)ranks, sizeof(int)),
                            .rank_count = check_alloc((size_t)ranks, sizeof(int))};
}

static void add_rank(struct nodes *nodes, int rank, int node) {
    nodes->of_rank[rank] = node;
    nodes->local[rank] = nodes->rank_count[node]++;
    if (node == nodes->count)
        nodes->count++;
}

static int known_node(const uint64_t *hash_of_node, int count, uint64_t wanted) {
    int node = 0;
    while (node < count && hash_of_node[node] != wanted)
        node++;
    return node;
}

void nodes_find(struct nodes *nodes) {
    char host[EVIDENCE_HOST_BYTES];
    int ranks = check_ranks();
    uint64_t *hash_of_rank = check_alloc((size_t)ranks, sizeof *hash_of_rank);
    uint64_t *hash_of_node = check_alloc((size_t)ranks, sizeof *hash_of_node);
    evidence_host(host);
    uint64_t mine = hash(host);
    MPI_CHECK(MPI_Allgather(&mine, 1, MPI_UINT64_T, hash_of_rank, 1, MPI_UINT64_T, MPI_COMM_WORLD));
    nodes_start(ranks, nodes);
    for (int rank = 0; rank < ranks; rank++) {
        int node = known_node(hash_of_node, nodes->count, hash_of_rank[rank]);
        hash_of_node[node] = hash_of_rank[rank];
        add_rank(nodes, rank, node);
    }
    free(hash_of_node);
    free(hash_of_rank);
}

void nodes_of_ranks(struct nodes *nodes) {
    nodes_start(check_ranks(), nodes);
    for (int rank = 0; rank < check_ranks(); rank++)
        add_rank(nodes, rank, rank);
}

int nodes_rank(const struct nodes *nodes, int node, int local) {
    int rank = 0;
    while (nodes->of_rank[rank] != node || nodes->local[rank] != local)
        rank++;
    return rank;
}

void nodes_free(struct nodes *nodes) {
    free(nodes->of_rank);
    free(nodes->local);
    free(nodes->rank_count);
}
