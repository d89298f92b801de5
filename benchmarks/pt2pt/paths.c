/*
 * paths: transfers at the same time on parallel lines of nodes along one torus dimension. If paths share
 * links the aggregate equals that of one path; otherwise it grows with their number.
 *
 * The lines are adjacent rows of the lattice (lib/ranks/coordinates.h): adjacent along Y for pairs along X
 * and Z, along Z for pairs along Y. So two paths along X or Z that start at one router's two nodes share all
 * links, and two paths along Y share none, as in Peña et al. (EuroMPI 2013, Figure 4).
 *
 * Leaves out: all but the first place (lowest rank) where the lines fit.
 */
#include "pt2pt/pairs.h"

#include <string.h>

static const struct option_row rows[] = {
    ROW_COORDINATES("none: required", FIELD(coordinates)),
    ROW_DIMENSIONS(FIELD(dimensions)),
    ROW_HOPS(FIELD(hops)),
    ROW("paths", "LIST", "1,2", "counts and ranges from 1, like 1-4", "pairs that transfer at the same time",
        parse_numbers, FIELD(paths)),
    ROWS_ENGINE("1MiB", "bandwidth,bibandwidth"),
};

static void settle(void *configuration, const struct options_given *given, struct problem *problem) {
    struct pt2pt_config *config = configuration;
    pairs_settle(config, given, problem);
    if (!config->coordinates)
        problem_set(problem, "--coordinates: missing; expected a coordinates file");
}

/* ---- the lines ---- */

enum { Y = 1, Z = 2 };

/* Returns the dimension along which parallel lines are adjacent. */
static int across(int dimension) {
    return dimension == Y ? Z : Y;
}

/* Puts the ranks of all lines into the team; false where one is missing. */
static bool fill(const struct lattice *lattice, const int *origin, int dimension, int hops,
                 struct team *team) {
    int position[TORUS_DIMENSIONS];
    memcpy(position, origin, sizeof position);
    for (int path = 0; path < team->pairs; path++) {
        position[across(dimension)] = origin[across(dimension)] + path;
        position[dimension] = origin[dimension];
        team->pair[path].from = lattice_rank(lattice, position);
        position[dimension] += dimension == Y ? hops * lattice->nodes_per_router : hops;
        team->pair[path].to = lattice_rank(lattice, position);
        if (team->pair[path].from < 0 || team->pair[path].to < 0)
            return false;
    }
    return true;
}

/* Tries every rank on the first node of its router as the origin of the first line. */
static bool fill_anywhere(const struct lattice *lattice, const struct coordinates *coordinates, int ranks,
                          int dimension, int hops, struct team *team) {
    int origin[TORUS_DIMENSIONS];
    for (int rank = 0; rank < ranks; rank++) {
        lattice_position(lattice, coordinates, rank, origin);
        if (origin[Y] % lattice->nodes_per_router == 0 && fill(lattice, origin, dimension, hops, team))
            return true;
    }
    return false;
}

/* Returns pairs `hops` apart along the dimension (0 to 2), one on each of `paths` lines. If the ranks do not
 * fit them, the team has no pairs and the reason is set. */
static struct team find_lines(const struct run *run, int dimension, int hops, int paths, char *reason) {
    struct team team = {0};
    int most = run->lattice.extents[across(dimension)];
    if (pairs_too_far(run->coordinates.extents[dimension], (size_t)hops, reason))
        return team;
    if (paths > most) {
        (void)snprintf(reason, SET_REASON_BYTES, "at most %d parallel paths", most);
        return team;
    }
    team = team_make(paths);
    if (!fill_anywhere(&run->lattice, &run->coordinates, check_ranks(), dimension, hops, &team)) {
        (void)snprintf(reason, SET_REASON_BYTES, "no ranks at both ends of %d such path%s", paths,
                       paths == 1 ? "" : "s");
        team_free(&team);
        team = (struct team){0};
    }
    return team;
}

/* Returns the requested hop counts; all of the dimension if none were requested. */
static int hops_count(const struct run *run, char letter) {
    int most = run->coordinates.extents[letter - 'X'] / 2;
    if (run->config.hops.count > 0)
        return run->config.hops.count;
    return most > 0 ? most : 1;
}

static int hops_at(const struct run *run, int i) {
    return run->config.hops.count > 0 ? (int)run->config.hops.value[i] : i + 1;
}

static int count_paths(const struct run *run) {
    int count = 0;
    for (const char *letter = run->config.dimensions; *letter; letter++)
        count += hops_count(run, *letter) * run->config.paths.count;
    return count;
}

static void make_paths(const struct run *run, int index, struct set *set) {
    const struct pt2pt_config *config = &run->config;
    const char *letter = config->dimensions;
    for (; index >= hops_count(run, *letter) * config->paths.count; letter++)
        index -= hops_count(run, *letter) * config->paths.count;
    int hops = hops_at(run, index / config->paths.count);
    int paths = (int)config->paths.value[index % config->paths.count];
    set->dimension[0] = *letter;
    pairs_label(set, "dimension", set->dimension, 0);
    pairs_label(set, "hops", NULL, hops);
    pairs_label(set, "paths", NULL, paths);
    set->team = find_lines(run, *letter - 'X', hops, paths, set->reason);
}

static void prepare_paths(struct run *run, struct problem *problem) {
    char reason[SET_REASON_BYTES] = "";
    for (int i = 0; i < count_paths(run); i++) {
        struct set set = {0};
        make_paths(run, i, &set);
        team_free(&set.team);
        if (set.team.pairs > 0)
            return;
        memcpy(reason, i == 0 ? set.reason : reason, sizeof reason);
    }
    problem_set(problem, "--coordinates %s: the %d ranks are on none of the requested paths (%s)",
                run->config.coordinates, check_ranks(), reason);
}

static void write_paths(struct json *json, const struct run *run) {
    const struct pt2pt_config *config = &run->config;
    parameters_torus(json, config->coordinates, &run->coordinates);
    json_key_integer(json, "nodes_per_router", run->lattice.nodes_per_router);
    json_key_text(json, "dimensions", config->dimensions);
    parameters_numbers(json, "hops", &config->hops);
    parameters_numbers(json, "paths", &config->paths);
}

const struct pairing pairing = {prepare_paths, count_paths, make_paths, write_paths, pairs_print_torus};

PAIRS_BENCHMARK(.program = "paths",
                .purpose = "transfers at the same time on parallel paths along one torus dimension",
                OPTION_ROWS(rows), .settle = settle);
