/* Ranks by node; see nodes.h. */
#include "pt2pt/nodes.h"

#include "lib/ranks/evidence.h"
#include "lib/run/check.h"

#include <stdint.h>
#include <stdlib.h>

struct placed {
    uint64_t host;
    int rank;
    int lowest; /* rank on the same host */
};

static int by_host(const void *left, const void *right) {
    const struct placed *a = left;
    const struct placed *b = right;
    if (a->host != b->host)
        return a->host > b->host ? 1 : -1;
    return a->rank - b->rank;
}

static int by_lowest(const void *left, const void *right) {
    const struct placed *a = left;
    const struct placed *b = right;
    return a->lowest != b->lowest ? a->lowest - b->lowest : a->rank - b->rank;
}

void nodes_find(struct nodes *nodes, bool every_rank) {
    char host[EVIDENCE_HOST_BYTES];
    int ranks = check_ranks();
    uint64_t *hosts = check_alloc((size_t)ranks, sizeof *hosts);
    struct placed *placed = check_alloc((size_t)ranks, sizeof *placed);
    *nodes = (struct nodes){.first = check_alloc((size_t)ranks + 1, sizeof(int)),
                            .ranks = check_alloc((size_t)ranks, sizeof(int))};
    evidence_host(host);
    /* FNV-1a. */
    uint64_t mine = UINT64_C(0xcbf29ce484222325);
    for (const char *text = host; *text; text++)
        mine = (mine ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    MPI_CHECK(MPI_Allgather(&mine, 1, MPI_UINT64_T, hosts, 1, MPI_UINT64_T, MPI_COMM_WORLD));
    for (int rank = 0; rank < ranks; rank++)
        placed[rank] = (struct placed){every_rank ? (uint64_t)rank : hosts[rank], rank, rank};
    /* Sorted by host, every host's ranks are neighbours; then by each host's lowest rank. */
    qsort(placed, (size_t)ranks, sizeof *placed, by_host);
    for (int i = 1; i < ranks; i++)
        if (placed[i].host == placed[i - 1].host)
            placed[i].lowest = placed[i - 1].lowest;
    qsort(placed, (size_t)ranks, sizeof *placed, by_lowest);
    for (int i = 0; i < ranks; i++) {
        nodes->ranks[i] = placed[i].rank;
        if (i == 0 || placed[i].lowest != placed[i - 1].lowest)
            nodes->first[nodes->count++] = i;
    }
    nodes->first[nodes->count] = ranks;
    free(placed);
    free(hosts);
}

int nodes_size(const struct nodes *nodes, int node) {
    return nodes->first[node + 1] - nodes->first[node];
}

int nodes_rank(const struct nodes *nodes, int node, int index) {
    return nodes->ranks[nodes->first[node] + index];
}

void nodes_free(struct nodes *nodes) {
    free(nodes->first);
    free(nodes->ranks);
}
