/*
 * pt2pt: a pattern of pairs of nodes from a table, all at the same time.
 *
 * A pattern is a function that names pair i of a step, as numbers of nodes; it returns false if there is
 * none. Every chosen rank of a node takes part, with the rank of the same index on the other node.
 *
 * Leaves out: pairs by hops and on parallel lines (hops.c, paths.c), which need a torus.
 */
#include "lib/measure/payload.h"
#include "pt2pt/pairs.h"

#include <stdlib.h>
#include <string.h>

/* Two nodes, the first of which sends. */
struct node_pair {
    int from;
    int to;
};

struct pattern {
    const char *name;
    const char *help;
    bool (*pair)(const struct layout *layout, int i, struct node_pair *pair);
    enum { ONE_STEP, CHOSEN_STEPS, ALL_STEPS } steps; /* which are measured: 1, those of --steps, all */
};

/* ---- whoever the nodes are ---- */

static bool ring(const struct layout *layout, int i, struct node_pair *pair) {
    *pair = (struct node_pair){i, (i + 1) % layout->nodes.count};
    return true;
}

static bool shift(const struct layout *layout, int i, struct node_pair *pair) {
    *pair = (struct node_pair){i, (i + layout->step) % layout->nodes.count};
    return pair->from != pair->to;
}

/* Along the cycle of a random order: no node meets itself. */
static bool random_permutation(const struct layout *layout, int i, struct node_pair *pair) {
    *pair = (struct node_pair){layout->shuffled[i], layout->shuffled[(i + 1) % layout->nodes.count]};
    return true;
}

static bool incast(const struct layout *layout, int i, struct node_pair *pair) {
    (void)layout;
    *pair = (struct node_pair){i, 0};
    return i > 0;
}

static bool fan_out(const struct layout *layout, int i, struct node_pair *pair) {
    (void)layout;
    *pair = (struct node_pair){0, i};
    return i > 0;
}

/* ---- by the torus, where it is known ---- */

/* Returns the node at this offset along each dimension; -1 if there is none. */
static int node_away(const struct layout *layout, int node, const int *steps) {
    int position[TORUS_DIMENSIONS];
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        position[d] = (layout->position[node][d] + steps[d]) % layout->extents[d];
    return layout->node_at[coordinates_index(layout->extents, position)];
}

/* A pair, where both nodes are there. */
static bool meet(int node, int other, struct node_pair *pair) {
    *pair = (struct node_pair){node, other};
    return other >= 0 && other != node;
}

static int longest_dimension(const struct layout *layout) {
    int longest = 0;
    for (int d = 1; d < TORUS_DIMENSIONS; d++)
        if (layout->extents[d] > layout->extents[longest])
            longest = d;
    return longest;
}

/* Half way round the longest dimension: all data cross the middle of the machine, its narrowest cut. */
static bool bisection(const struct layout *layout, int i, struct node_pair *pair) {
    int steps[TORUS_DIMENSIONS] = {0};
    int half = layout->nodes.count / 2;
    if (!layout->position)
        return i < half && meet(i, i + half, pair);
    int d = longest_dimension(layout);
    steps[d] = layout->extents[d] / 2;
    return layout->position[i][d] < steps[d] && meet(i, node_away(layout, i, steps), pair);
}

static bool nearest(const struct layout *layout, int i, struct node_pair *pair) {
    int steps[TORUS_DIMENSIONS] = {0};
    if (!layout->position)
        return i % 2 == 0 && i + 1 < layout->nodes.count && meet(i, i + 1, pair);
    int d = longest_dimension(layout);
    steps[d] = 1;
    return layout->position[i][d] % 2 == 0 && meet(i, node_away(layout, i, steps), pair);
}

static bool farthest(const struct layout *layout, int i, struct node_pair *pair) {
    int steps[TORUS_DIMENSIONS];
    if (!layout->position)
        return i < layout->nodes.count / 2 && meet(i, layout->nodes.count - 1 - i, pair);
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        steps[d] = layout->extents[d] / 2;
    return node_away(layout, i, steps) > i && meet(i, node_away(layout, i, steps), pair);
}

static const struct pattern table[] = {
    {"ring", "each node to the next", ring, ONE_STEP},
    {"shift", "node i to node i + k, for each k of --steps", shift, CHOSEN_STEPS},
    {"all", "every node to every other, one shift after the other, as mpiGraph", shift, ALL_STEPS},
    {"random", "a random permutation without fixed points, another for each of --steps", random_permutation,
     CHOSEN_STEPS},
    {"bisection", "each node with one on the other side of the middle of the longest dimension", bisection,
     ONE_STEP},
    {"nearest", "neighbours along the longest dimension", nearest, ONE_STEP},
    {"farthest", "each node with the one half way round every dimension", farthest, ONE_STEP},
    {"incast", "all nodes to the first", incast, ONE_STEP},
    {"fan-out", "the first node to all others", fan_out, ONE_STEP},
};

/* ---- options ---- */

static const char *const units_names[] = {"nodes", "ranks"};

static const struct option_row rows[] = {
    ROW_NAMES("pattern", "NAME", "ring",
              "ring, shift, all, random, bisection, nearest, farthest, incast, fan-out",
              "which nodes transfer to which, all at once", FIELD(pattern), options_row, table),
    ROW("steps", "LIST", "1", "counts and ranges from 1, like 1,2,4",
        "of shift: how far; of random: which permutation", parse_numbers, FIELD(steps)),
    ROW_NAMES("units", "NAME", "nodes", "nodes, ranks (each rank counts as a node)",
              "what the pattern connects", FIELD(every_rank), options_either, units_names),
    ROW("per-node", "LIST", "1", "counts and ranges from 1, like 1,2,4",
        "ranks of each node that take part, at equal steps: one a NIC, one a core", parse_numbers,
        FIELD(per_node)),
    ROW_COORDINATES("none: nodes in the order of their ranks", FIELD(coordinates)),
    ROWS_ENGINE("8,64KiB,1MiB", "latency,bandwidth,rate"),
};

static void settle(void *configuration, const struct options_given *given, struct problem *problem) {
    const struct pt2pt_config *config = configuration;
    pairs_settle(configuration, given, problem);
    bool one = config->per_node.count == 1 && config->per_node.value[0] == 1;
    if (!one && config->pattern->steps == ALL_STEPS)
        problem_set(problem, "--pattern %s: of one rank of each node; expected --per-node 1",
                    config->pattern->name);
}

/* ---- the sets ---- */

static void prepare_pattern(struct run *run, struct problem *problem) {
    struct pt2pt_config *config = &run->config;
    nodes_find(&run->layout.nodes, config->every_rank);
    run->over_sets = config->pattern->steps == ALL_STEPS;
    if (config->pattern->steps == ONE_STEP)
        config->steps.count = 1;
    if (run->layout.nodes.count < 2)
        problem_set(problem,
                    "--units nodes: all ranks run on one node; expected ranks on 2 nodes or more, or "
                    "--units ranks");
    else if (config->coordinates && config->every_rank)
        problem_set(problem,
                    "--units ranks: the ranks of a node have one position; valid without --coordinates");
    else
        pairs_check_per_node(run, run->layout.nodes.count, "per-node", problem);
    if (!problem_is_set(problem) && config->coordinates) {
        /* Fills the position of each node in the lattice, and the node at each position. */
        struct layout *layout = &run->layout;
        const int *extents = run->lattice.extents;
        size_t volume = coordinates_routers(extents);
        run->position = check_alloc((size_t)layout->nodes.count, sizeof *run->position);
        run->node_at = check_alloc(volume, sizeof *run->node_at);
        memcpy(layout->extents, extents, sizeof layout->extents);
        for (size_t i = 0; i < volume; i++)
            run->node_at[i] = -1;
        for (int node = 0; node < layout->nodes.count; node++) {
            int *at = run->position[node];
            lattice_position(&run->lattice, &run->coordinates, nodes_rank(&layout->nodes, node, 0), at);
            run->node_at[coordinates_index(extents, at)] = node;
        }
        layout->position = (const int(*)[TORUS_DIMENSIONS])run->position;
        layout->node_at = run->node_at;
    }
}

static int steps_count(const struct run *run) {
    return run->over_sets ? run->layout.nodes.count - 1 : run->config.steps.count;
}

static int count_pattern(const struct run *run) {
    return run->config.per_node.count * steps_count(run);
}

static void make_pattern(const struct run *run, int index, struct set *set) {
    const struct pt2pt_config *config = &run->config;
    const struct nodes *nodes = &run->layout.nodes;
    struct layout layout = run->layout;
    int count = (int)config->per_node.value[index / steps_count(run)];
    int at = index % steps_count(run);
    int step = run->over_sets ? at + 1 : (int)config->steps.value[at];
    /* A random order of the nodes (Fisher and Yates), the same on all ranks. */
    int *order = check_alloc((size_t)nodes->count, sizeof *order);
    for (int i = 0; i < nodes->count; i++)
        order[i] = i;
    for (int i = nodes->count - 1; i > 0; i--) {
        int other = (int)(payload_word(config->engine.sampling.seed + (uint64_t)step, (uint64_t)i) %
                          (uint64_t)(i + 1));
        int swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
    layout.step = step;
    layout.shuffled = order;
    set->ranks = true;
    pairs_label(set, "pattern", config->pattern->name, 0);
    if (!run->over_sets)
        pairs_label(set, "step", NULL, step);
    pairs_label(set, "per_node", NULL, count);
    set->team = team_make(nodes->count * count);
    set->team.pairs = 0;
    for (int i = 0; i < nodes->count; i++) {
        struct node_pair pair;
        if (config->pattern->pair(&layout, i, &pair))
            for (int l = 0; l < count; l++)
                set->team.pair[set->team.pairs++] =
                    (struct pair){pairs_chosen_rank(nodes, pair.from, l, count),
                                  pairs_chosen_rank(nodes, pair.to, l, count)};
    }
    (void)snprintf(set->reason, sizeof set->reason, "no two nodes are a pair of this pattern");
    free(order);
}

static void write_pattern(struct json *json, const struct run *run) {
    const struct pt2pt_config *config = &run->config;
    parameters_torus(json, config->coordinates, &run->coordinates);
    json_key_text(json, "pattern", config->pattern->name);
    if (!run->over_sets)
        parameters_numbers(json, "steps", &config->steps);
    json_key_text(json, "units", units_names[config->every_rank]);
    json_key_integer(json, "nodes", run->layout.nodes.count);
    parameters_numbers(json, "per_node", &config->per_node);
}

static void print_pattern(const struct run *run) {
    (void)printf(", pattern %s over %d %s", run->config.pattern->name, run->layout.nodes.count,
                 units_names[run->config.every_rank]);
    pairs_print_torus(run);
}

const struct pairing pairing = {prepare_pattern, count_pattern, make_pattern, write_pattern, print_pattern};

PAIRS_BENCHMARK(.program = "pt2pt",
                .purpose = "latency, bandwidth and message rate of a pattern of pairs, all at the same time",
                OPTION_ROWS(rows), .settle = settle);
