/* Chooses the pairs of each torus dimension and hop count; see hop_pairs.h. */
#include "pt2pt/hop_pairs.h"

#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>

void hop_pairs_ends(int ranks, struct hop_list *list) {
    *list = (struct hop_list){.count = 1, .pairs = check_alloc(1, sizeof *list->pairs)};
    list->pairs[0] = (struct hop_pair){.dimension = "none", .from = 0, .to = ranks - 1};
}

/* What the pairs of all dimensions share. */
struct search {
    const struct coordinates *coordinates;
    const struct lattice *lattice;
    int ranks;
    int per_point;
};

/* Returns the node `hops` steps away; -1 if there is none, or if this rank is not the lowest of its node. */
static int partner_of(const struct search *search, int rank, int dimension, int hops) {
    int position[TORUS_DIMENSIONS];
    lattice_position(search->lattice, search->coordinates, rank, position);
    if (lattice_rank(search->lattice, position) != rank)
        return -1;
    position[dimension] += hops;
    int partner = lattice_rank(search->lattice, position);
    bool is_seen_from_there = 2 * hops == search->lattice->extents[dimension] && partner < rank;
    return is_seen_from_there ? -1 : partner;
}

/* Returns the number of ranks that have a partner at this distance. */
static int count_origins(const struct search *search, int dimension, int hops) {
    int count = 0;
    for (int rank = 0; rank < search->ranks; rank++)
        count += partner_of(search, rank, dimension, hops) >= 0;
    return count;
}

/* At equal steps through the ranks that have a partner, from the lowest. */
static void add_pairs(const struct search *search, char letter, int hops, int origins,
                      struct hop_list *list) {
    int wanted = origins < search->per_point ? origins : search->per_point;
    int seen = 0;
    int added = 0;
    for (int rank = 0; added < wanted; rank++) {
        int partner = partner_of(search, rank, letter - 'X', hops);
        if (partner < 0 || seen++ != (int)((long)added * origins / wanted))
            continue;
        list->pairs[list->count++] =
            (struct hop_pair){.dimension = {letter}, .hops = hops, .from = rank, .to = partner};
        added++;
    }
}

static void add_point(const struct search *search, char letter, size_t hops, struct hop_list *list) {
    struct hop_pair missing = {.dimension = {letter}, .hops = (int)hops, .from = -1, .to = -1};
    int extent = search->lattice->extents[letter - 'X'];
    int origins = hops > (size_t)extent / 2 ? 0 : count_origins(search, letter - 'X', (int)hops);
    if (extent == 1)
        (void)snprintf(missing.reason, sizeof missing.reason, "extent 1: no hops in this dimension");
    else if (hops > (size_t)extent / 2)
        (void)snprintf(missing.reason, sizeof missing.reason, "extent %d: at most %d hops", extent,
                       extent / 2);
    else
        (void)snprintf(missing.reason, sizeof missing.reason, "no two ranks are that many hops apart");
    if (origins > 0)
        add_pairs(search, letter, (int)hops, origins, list);
    else
        list->pairs[list->count++] = missing;
}

/* Returns the largest hop count of a dimension; 1 if there is none, so that the dimension is listed as not
 * measured. */
static size_t hops_of(const struct lattice *lattice, char letter) {
    size_t hops = (size_t)lattice->extents[letter - 'X'] / 2;
    return hops ? hops : 1;
}

static void add_dimension(const struct search *search, char letter, const struct number_list *hops,
                          struct hop_list *list) {
    for (int i = 0; i < hops->count; i++)
        add_point(search, letter, hops->value[i], list);
    for (size_t h = 1; hops->count == 0 && h <= hops_of(search->lattice, letter); h++)
        add_point(search, letter, h, list);
}

void hop_pairs_on_torus(const struct coordinates *coordinates, const struct lattice *lattice, int ranks,
                        const struct hop_request *request, struct hop_list *list) {
    struct search search = {coordinates, lattice, ranks, request->pairs_per_point};
    size_t points = 0;
    for (const char *letter = request->dimensions; *letter; letter++)
        points += request->hops->count ? (size_t)request->hops->count : hops_of(lattice, *letter);
    *list = (struct hop_list){
        .pairs = check_alloc(points * (size_t)request->pairs_per_point, sizeof *list->pairs)};
    for (const char *letter = request->dimensions; *letter; letter++)
        add_dimension(&search, *letter, request->hops, list);
}

void hop_pairs_free(struct hop_list *list) {
    free(list->pairs);
}
