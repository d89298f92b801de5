/*
 * hops: latency and bandwidth of two nodes, by torus dimension and number of hops.
 *
 * Hops are steps from node to node, as Peña et al. count them (EuroMPI 2013, section 4.1): the nodes of a
 * router are neighbours along Y, so with two nodes per router one hop along Y may stay inside a router, and h
 * hops cross about h / 2 links. Of each node only its lowest rank takes part. For dimension d and h hops:
 * ranks whose node has another h steps further along d, round the torus, at equal steps from the lowest. A
 * combination without two such ranks is listed with the reason.
 *
 * Leaves out: the route (dimension-order routing takes the links along d).
 */
#include "pt2pt/pairs.h"

#include <stdlib.h>
#include <string.h>

static const struct option_row rows[] = {
    ROW_COORDINATES("none: ranks 0 and N-1", FIELD(coordinates)),
    ROW_DIMENSIONS(FIELD(dimensions)),
    ROW_HOPS(FIELD(hops)),
    ROW("pairs-per-point", "COUNT", "1", "1 to 1000000",
        "maximum number of pairs per dimension and hop count", parse_count, FIELD(pairs_per_point)),
    ROWS_ENGINE("0-4MiB", "latency,bandwidth,bibandwidth"),
};

static void settle(void *configuration, const struct options_given *given, struct problem *problem) {
    struct pt2pt_config *config = configuration;
    if (!config->coordinates && options_given(given, "dimensions"))
        problem_set(problem, "--dimensions %s: needs --coordinates FILE", config->dimensions);
    if (!config->coordinates && config->hops.count > 0)
        problem_set(problem, "--hops %zu: needs --coordinates FILE", config->hops.value[0]);
    if (!config->coordinates && config->pairs_per_point > 1)
        problem_set(problem, "--pairs-per-point %d: needs --coordinates FILE", config->pairs_per_point);
    pairs_settle(config, given, problem);
}

/* ---- the pairs ---- */

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
    bool too_far = pairs_too_far(extent, hops, missing.reason);
    int origins = too_far ? 0 : count_origins(search, letter - 'X', (int)hops);
    if (origins > 0) {
        add_pairs(search, letter, (int)hops, origins, list);
        return;
    }
    if (!too_far)
        (void)snprintf(missing.reason, sizeof missing.reason, "no two ranks are that many hops apart");
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

static void prepare(struct run *run, struct problem *problem) {
    const struct pt2pt_config *config = &run->config;
    const int *extents = run->coordinates.extents;
    if (!config->coordinates) { /* the first and the last rank */
        run->hop_pairs = (struct hop_list){.count = 1, .pairs = check_alloc(1, sizeof(struct hop_pair))};
        run->hop_pairs.pairs[0] = (struct hop_pair){.dimension = "none", .to = check_ranks() - 1};
        return;
    }
    /* The pairs by dimension, then hops, then lowest rank. The same on all ranks. */
    struct search search = {&run->coordinates, &run->lattice, check_ranks(), config->pairs_per_point};
    size_t points = 0;
    for (const char *letter = config->dimensions; *letter; letter++)
        points += config->hops.count ? (size_t)config->hops.count : hops_of(&run->lattice, *letter);
    run->hop_pairs.pairs =
        check_alloc(points * (size_t)config->pairs_per_point, sizeof *run->hop_pairs.pairs);
    for (const char *letter = config->dimensions; *letter; letter++)
        add_dimension(&search, *letter, &config->hops, &run->hop_pairs);
    for (int i = 0; i < run->hop_pairs.count; i++)
        if (run->hop_pairs.pairs[i].from >= 0)
            return;
    problem_set(
        problem,
        "--coordinates %s: no two of the %d ranks are the requested hops apart along %s (torus %dx%dx%d)",
        config->coordinates, check_ranks(), config->dimensions, extents[0], extents[1], extents[2]);
}

static int count_hops(const struct run *run) {
    return run->hop_pairs.count;
}

static void make_hops(const struct run *run, int index, struct set *set) {
    const struct hop_pair *pair = &run->hop_pairs.pairs[index];
    set->alone = true;
    pairs_label(set, "dimension", pair->dimension, 0);
    pairs_label(set, "hops", NULL, pair->hops);
    memcpy(set->reason, pair->reason, sizeof pair->reason);
    if (pair->from < 0)
        return;
    set->team = team_make(1);
    set->team.pair[0] = (struct pair){pair->from, pair->to};
}

static void write_hops(struct json *json, const struct run *run) {
    const struct pt2pt_config *config = &run->config;
    parameters_torus(json, config->coordinates, &run->coordinates);
    json_key_integer(json, "nodes_per_router", run->lattice.nodes_per_router);
    json_key_text(json, "dimensions", config->coordinates ? config->dimensions : NULL);
    parameters_numbers(json, "hops", &config->hops);
    json_key_integer(json, "pairs_per_point", config->pairs_per_point);
}

const struct pairing pairing = {prepare, count_hops, make_hops, write_hops, pairs_print_torus};

PAIRS_BENCHMARK(.program = "hops",
                .purpose = "latency and bandwidth between nodes, by torus dimension and hops",
                OPTION_ROWS(rows), .settle = settle);
