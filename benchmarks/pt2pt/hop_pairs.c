/* Chooses one rank pair per torus dimension and hop count; see hop_pairs.h. */
#include "pt2pt/hop_pairs.h"

#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hop_pairs_ends(int ranks, struct hop_list *list) {
    *list = (struct hop_list){.count = 1, .pairs = check_alloc(1, sizeof *list->pairs)};
    list->pairs[0] = (struct hop_pair){.dimension = "none", .from = 0, .to = ranks - 1};
}

/* The lowest rank of each router, -1 where none runs; routers in row-major order of their coordinates. */
struct router_table {
    const int *extents;
    int *rank_at;
};

static size_t router_index(const int *extents, const int *coordinate) {
    size_t index = 0;
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        index = index * (size_t)extents[d] + (size_t)coordinate[d];
    return index;
}

static const int *coordinate_of(const struct coordinates *coordinates, int rank) {
    return coordinates->nodes[coordinates->node_of_rank[rank]].coordinate;
}

static struct router_table fill_routers(const struct coordinates *coordinates, int ranks) {
    const int *extents = coordinates->extents;
    size_t routers = (size_t)extents[0] * (size_t)extents[1] * (size_t)extents[2];
    struct router_table table = {.extents = extents, .rank_at = check_alloc(routers, sizeof(int))};
    for (size_t i = 0; i < routers; i++)
        table.rank_at[i] = -1;
    for (int rank = ranks - 1; rank >= 0; rank--)
        table.rank_at[router_index(extents, coordinate_of(coordinates, rank))] = rank;
    return table;
}

static int partner_of(const struct router_table *table, const int *origin, int dimension, size_t hops) {
    int coordinate[TORUS_DIMENSIONS];
    size_t extent = (size_t)table->extents[dimension];
    memcpy(coordinate, origin, sizeof coordinate);
    coordinate[dimension] = (int)(((size_t)origin[dimension] + hops) % extent);
    return table->rank_at[router_index(table->extents, coordinate)];
}

static void find_ranks(const struct coordinates *coordinates, const struct router_table *table, int ranks,
                       int dimension, struct hop_pair *pair) {
    for (int rank = 0; rank < ranks; rank++) {
        const int *origin = coordinate_of(coordinates, rank);
        int partner = partner_of(table, origin, dimension, (size_t)pair->hops);
        if (table->rank_at[router_index(table->extents, origin)] == rank && partner >= 0) {
            pair->from = rank;
            pair->to = partner;
            return;
        }
    }
    (void)snprintf(pair->reason, sizeof pair->reason, "no two ranks are that many hops apart");
}

static void add_pair(const struct coordinates *coordinates, const struct router_table *table, int ranks,
                     char letter, size_t hops, struct hop_list *list) {
    struct hop_pair *pair = &list->pairs[list->count++];
    int dimension = letter - 'X';
    int extent = table->extents[dimension];
    *pair = (struct hop_pair){.dimension = {letter}, .hops = (int)hops, .from = -1, .to = -1};
    if (extent == 1)
        (void)snprintf(pair->reason, sizeof pair->reason, "extent 1: no hops in this dimension");
    else if (hops > (size_t)extent / 2)
        (void)snprintf(pair->reason, sizeof pair->reason, "extent %d: at most %d hops", extent, extent / 2);
    else
        find_ranks(coordinates, table, ranks, dimension, pair);
}

/* All hop counts of a dimension; 1 where there are none, so that the dimension is listed as not measured. */
static size_t hops_of(const struct router_table *table, char letter) {
    size_t hops = (size_t)table->extents[letter - 'X'] / 2;
    return hops ? hops : 1;
}

static void add_dimension(const struct coordinates *coordinates, const struct router_table *table, int ranks,
                          char letter, const struct number_list *hops, struct hop_list *list) {
    for (int i = 0; i < hops->count; i++)
        add_pair(coordinates, table, ranks, letter, hops->value[i], list);
    for (size_t h = 1; hops->count == 0 && h <= hops_of(table, letter); h++)
        add_pair(coordinates, table, ranks, letter, h, list);
}

void hop_pairs_on_torus(const struct coordinates *coordinates, int ranks, const char *dimensions,
                        const struct number_list *hops, struct hop_list *list) {
    struct router_table table = fill_routers(coordinates, ranks);
    size_t room = 0;
    for (const char *letter = dimensions; *letter; letter++)
        room += hops->count ? (size_t)hops->count : hops_of(&table, *letter);
    *list = (struct hop_list){.pairs = check_alloc(room, sizeof *list->pairs)};
    for (const char *letter = dimensions; *letter; letter++)
        add_dimension(coordinates, &table, ranks, *letter, hops, list);
    free(table.rank_at);
}

void hop_pairs_free(struct hop_list *list) {
    free(list->pairs);
}
