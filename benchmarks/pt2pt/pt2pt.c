/*
 * pt2pt: latency, bandwidth and message rate between pairs of ranks, in a pattern of pairs that transfer at
 * the same time. Built under four names, each with its own pairs and options:
 *
 * pt2pt       a pattern from a table: ring, shift, random, bisection, nearest, farthest, incast, fan-out
 * hops        two nodes, by torus dimension and number of hops: section 4.1 of Peña et al., "Analysis of
 *             Topology-Dependent MPI Performance on Gemini Networks" (EuroMPI 2013)
 * paths       parallel lines of nodes along one dimension: Figure 4 of the same. If paths share links the
 *             aggregate equals that of one path; otherwise it grows with their number
 * contention  two groups of nodes, after the LLNL poster on multirail InfiniBand (Catalyst): with n nodes in
 *             each group, rank l of node a of the first meets rank l of node (a + l * spread + round) mod n
 *             of the second, so that ranks meet in the nodes' NICs, and the NIC policy shows
 *
 * Leaves out: the choice of routes, and where in the network pairs meet.
 */
#include "counters/nics.h"
#include "lib/engine/benchmark.h"
#include "lib/measure/payload.h"
#include "lib/output/parameters.h"
#include "lib/output/table.h"
#include "lib/ranks/lattice.h"
#include "lib/run/check.h"
#include "pt2pt/config.h"
#include "pt2pt/hop_pairs.h"
#include "pt2pt/lines.h"
#include "pt2pt/nodes.h"
#include "pt2pt/patterns.h"
#include "pt2pt/series.h"
#include "pt2pt/team.h"

#include <stdlib.h>
#include <string.h>

struct run;

/* What differs between the program's names. */
struct program {
    const struct option_table *options;
    /* Collective. Prepares what the pairs need, after the torus is read. */
    void (*prepare)(struct run *run, struct problem *problem);
    /* The number of sets, and the pairs of one set; the same on all ranks. */
    int (*set_count)(const struct run *run);
    void (*make_set)(const struct run *run, int index, struct set *set);
    void (*write_parameters)(struct json *json, const struct run *run);
    void (*print_details)(const struct run *run);
};

/* The range of units per sample of a point over all sets. */
struct units {
    int least;
    int most;
};

struct run {
    struct pt2pt_config config;
    const struct program *program;
    struct set *sets; /* own the labels of the series */
    int measured;     /* sets with pairs, and those whose data were right */
    int verified;
    struct coordinates coordinates;
    struct lattice lattice;
    struct layout layout;
    int (*position)[TORUS_DIMENSIONS];
    int *node_at;
    struct hop_list hop_pairs;
    int group_nodes; /* contention: nodes of each group; an odd node is idle */
    struct point point[POINTS_MAX];
    struct units units[POINTS_MAX];
    double *of_sets[POINTS_MAX];  /* pattern `all`: a value for each set that was measured, on rank 0 */
    double short_sum[POINTS_MAX]; /* and the sum of their percentages of samples that are too short */
    double clock_bound_s;
};

/* ---- nodes and torus ---- */

static void find_nodes(struct run *run, bool every_rank) {
    if (every_rank)
        nodes_of_ranks(&run->layout.nodes);
    else
        nodes_find(&run->layout.nodes);
}

/* The fewest ranks of the first `count` nodes. */
static int fewest_ranks(const struct nodes *nodes, int count, int *node) {
    *node = 0;
    for (int i = 0; i < count; i++)
        if (nodes_size(nodes, i) < nodes_size(nodes, *node))
            *node = i;
    return nodes_size(nodes, *node);
}

static void check_per_node(struct run *run, int node_count, const char *option, struct problem *problem) {
    struct number_list *list = &run->config.per_node;
    int node = 0;
    int most = fewest_ranks(&run->layout.nodes, node_count, &node);
    if (list->count == 0)
        *list = (struct number_list){.count = 1, .value = {(size_t)most}};
    for (int i = 0; i < list->count; i++)
        if (list->value[i] > (size_t)most)
            problem_set(problem, "--%s %zu: node %d of the run has %d ranks; expected 1 to %d", option,
                        list->value[i], node, most, most);
}

/* Returns the rank at step l of `count` equal steps through a node. */
static int chosen_rank(const struct nodes *nodes, int node, int l, int count) {
    return nodes_rank(nodes, node, (int)((long)l * nodes_size(nodes, node) / count));
}

static void set_label(struct set *set, const char *name, const char *text, int64_t number) {
    set->labels[set->label_count++] = (struct label){name, text, number};
}

/* ---- hops ---- */

static void prepare_hops(struct run *run, struct problem *problem) {
    const struct pt2pt_config *config = &run->config;
    const int *extents = run->coordinates.extents;
    if (!config->coordinates) {
        hop_pairs_ends(check_ranks(), &run->hop_pairs);
        return;
    }
    struct hop_request request = {config->dimensions, &config->hops, config->pairs_per_point};
    hop_pairs_on_torus(&run->coordinates, &run->lattice, check_ranks(), &request, &run->hop_pairs);
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
    set_label(set, "dimension", pair->dimension, 0);
    set_label(set, "hops", NULL, pair->hops);
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

static void print_torus(const struct run *run) {
    const int *extents = run->coordinates.extents;
    int nodes = run->lattice.nodes_per_router;
    if (run->config.coordinates)
        (void)printf(", torus %dx%dx%d, %d node%s per router", extents[0], extents[1], extents[2], nodes,
                     nodes > 1 ? "s" : "");
}

/* ---- paths ---- */

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
    set_label(set, "dimension", set->dimension, 0);
    set_label(set, "hops", NULL, hops);
    set_label(set, "paths", NULL, paths);
    set->team =
        lines_find(&run->lattice, &run->coordinates, check_ranks(), *letter - 'X', hops, paths, set->reason);
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

/* ---- contention ---- */

static void prepare_contention(struct run *run, struct problem *problem) {
    enum grouping grouping = run->config.grouping;
    find_nodes(run, grouping == GROUPS_RANKS);
    run->group_nodes = run->layout.nodes.count / 2;
    if (run->group_nodes == 0)
        problem_set(
            problem,
            "--groups %s: all ranks run on one node; expected ranks on 2 nodes or more, or --groups ranks",
            grouping_name(grouping));
    else
        check_per_node(run, 2 * run->group_nodes, "pairs", problem);
}

static int count_contention(const struct run *run) {
    return run->config.per_node.count * run->config.rounds;
}

/* The node at a place of the first or second group. */
static int node_at(const struct run *run, bool second, int place) {
    if (run->config.grouping == GROUPS_ALTERNATE)
        return 2 * place + second;
    return second ? run->group_nodes + place : place;
}

static void make_contention(const struct run *run, int index, struct set *set) {
    const struct nodes *nodes = &run->layout.nodes;
    int count = (int)run->config.per_node.value[index / run->config.rounds];
    int round = index % run->config.rounds;
    set->ranks = true;
    set_label(set, "pairs_per_node", NULL, count);
    set_label(set, "round", NULL, round);
    set->team = team_make(run->group_nodes * count);
    for (int i = 0; i < set->team.pairs; i++) {
        int place = i / count;
        int local = i % count;
        int partner = (int)((place + (long)local * run->config.spread + round) % run->group_nodes);
        set->team.pair[i] = (struct pair){chosen_rank(nodes, node_at(run, false, place), local, count),
                                          chosen_rank(nodes, node_at(run, true, partner), local, count)};
    }
}

static int resting_nodes(const struct run *run) {
    return run->layout.nodes.count - 2 * run->group_nodes;
}

static void write_contention(struct json *json, const struct run *run) {
    const struct pt2pt_config *config = &run->config;
    json_key_text(json, "groups", grouping_name(config->grouping));
    json_key_integer(json, "group_nodes", run->group_nodes);
    json_key_integer(json, "resting_nodes", resting_nodes(run));
    parameters_numbers(json, "pairs_per_node", &config->per_node);
    json_key_integer(json, "spread", config->spread);
    json_key_integer(json, "rounds", config->rounds);
}

static void print_groups(const struct run *run) {
    (void)printf(", groups %s: 2 x %d %s%s", grouping_name(run->config.grouping), run->group_nodes,
                 run->config.grouping == GROUPS_RANKS ? "ranks" : "nodes",
                 resting_nodes(run) ? ", one rests" : "");
}

/* ---- patterns ---- */

/* Fills the position of each node in the lattice, and the node at each position. */
static void find_positions(struct run *run) {
    struct layout *layout = &run->layout;
    const int *extents = run->lattice.extents;
    size_t volume = (size_t)extents[0] * (size_t)extents[1] * (size_t)extents[2];
    run->position = check_alloc((size_t)layout->nodes.count, sizeof *run->position);
    run->node_at = check_alloc(volume, sizeof *run->node_at);
    memcpy(layout->extents, extents, sizeof layout->extents);
    for (size_t i = 0; i < volume; i++)
        run->node_at[i] = -1;
    for (int node = 0; node < layout->nodes.count; node++) {
        int *at = run->position[node];
        lattice_position(&run->lattice, &run->coordinates, nodes_rank(&layout->nodes, node, 0), at);
        run->node_at[(at[0] * extents[1] + at[1]) * extents[2] + at[2]] = node;
    }
    layout->position = (const int(*)[TORUS_DIMENSIONS])run->position;
    layout->node_at = run->node_at;
}

static void prepare_pattern(struct run *run, struct problem *problem) {
    struct pt2pt_config *config = &run->config;
    find_nodes(run, config->every_rank);
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
        check_per_node(run, run->layout.nodes.count, "per-node", problem);
    if (!problem_is_set(problem) && config->coordinates)
        find_positions(run);
}

static bool is_all(const struct run *run) {
    return run->config.pattern && run->config.pattern->steps == ALL_STEPS;
}

static int steps_count(const struct run *run) {
    return is_all(run) ? run->layout.nodes.count - 1 : run->config.steps.count;
}

static int count_pattern(const struct run *run) {
    return run->config.per_node.count * steps_count(run);
}

/* A random order of the nodes (Fisher and Yates), the same on all ranks. */
static int *shuffle(int nodes, uint64_t seed, int step) {
    int *order = check_alloc((size_t)nodes, sizeof *order);
    for (int i = 0; i < nodes; i++)
        order[i] = i;
    for (int i = nodes - 1; i > 0; i--) {
        int other = (int)(payload_word(seed + (uint64_t)step, (uint64_t)i) % (uint64_t)(i + 1));
        int swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
    return order;
}

static void make_pattern(const struct run *run, int index, struct set *set) {
    const struct pt2pt_config *config = &run->config;
    const struct nodes *nodes = &run->layout.nodes;
    struct layout layout = run->layout;
    int count = (int)config->per_node.value[index / steps_count(run)];
    int at = index % steps_count(run);
    int step = is_all(run) ? at + 1 : (int)config->steps.value[at];
    int *order = shuffle(nodes->count, config->engine.sampling.seed, step);
    layout.shuffled = order;
    set->ranks = true;
    set_label(set, "pattern", config->pattern->name, 0);
    if (!is_all(run))
        set_label(set, "step", NULL, step);
    set_label(set, "per_node", NULL, count);
    set->team = team_make(nodes->count * count);
    set->team.pairs = 0;
    for (int i = 0; i < nodes->count; i++) {
        struct node_pair pair;
        if (config->pattern->pair(&layout, step, i, &pair))
            for (int l = 0; l < count; l++)
                set->team.pair[set->team.pairs++] = (struct pair){chosen_rank(nodes, pair.from, l, count),
                                                                  chosen_rank(nodes, pair.to, l, count)};
    }
    (void)snprintf(set->reason, sizeof set->reason, "no two nodes are a pair of this pattern");
    free(order);
}

static void write_pattern(struct json *json, const struct run *run) {
    const struct pt2pt_config *config = &run->config;
    parameters_torus(json, config->coordinates, &run->coordinates);
    json_key_text(json, "pattern", config->pattern->name);
    if (!is_all(run))
        parameters_numbers(json, "steps", &config->steps);
    json_key_text(json, "units", config->every_rank ? "ranks" : "nodes");
    json_key_integer(json, "nodes", run->layout.nodes.count);
    parameters_numbers(json, "per_node", &config->per_node);
}

static void print_pattern(const struct run *run) {
    (void)printf(", pattern %s over %d %s", run->config.pattern->name, run->layout.nodes.count,
                 run->config.every_rank ? "ranks" : "nodes");
    print_torus(run);
}

/* ---- the four names ---- */

static const struct program programs[] = {
    {&pt2pt_options, prepare_pattern, count_pattern, make_pattern, write_pattern, print_pattern},
    {&hops_options, prepare_hops, count_hops, make_hops, write_hops, print_torus},
    {&paths_options, prepare_paths, count_paths, make_paths, write_paths, print_torus},
    {&contention_options, prepare_contention, count_contention, make_contention, write_contention,
     print_groups},
};

static const struct program *this_program(void) {
    size_t i = 0;
    while (strcmp(programs[i].options->program, RAILYARD_PROGRAM) != 0)
        i++;
    return &programs[i];
}

/* ---- measure ---- */

static void note_units(struct run *run, const struct team_result *result) {
    for (int i = 0; i < result->points; i++) {
        struct units *units = &run->units[i];
        int of_set = result->units[i];
        units->least = units->least == 0 || of_set < units->least ? of_set : units->least;
        units->most = of_set > units->most ? of_set : units->most;
    }
    if (result->clock_bound_s > run->clock_bound_s)
        run->clock_bound_s = result->clock_bound_s;
}

/* Stores the medians of a step behind those of the steps before. */
static void note_set(struct run *run, const struct set *set, const struct team_result *result) {
    for (int i = 0; i < result->points; i++) {
        double *values = team_whole_values(&set->team, result, &run->config.engine, i);
        if (run->of_sets[i] == NULL)
            run->of_sets[i] = check_alloc((size_t)count_pattern(run), sizeof(double));
        run->of_sets[i][run->measured - 1] = table_median(values, result->count[i]);
        run->short_sum[i] += team_short_percent(result, i);
        free(values);
    }
}

/* Collective. Measures one set of pairs; returns false on all ranks if its data were wrong. */
static bool run_set(struct run *run, struct set *set, const struct evidence_list *evidence,
                    struct matrix *matrix, struct series_list *list) {
    const struct engine_config *engine = &run->config.engine;
    struct team_result *result = check_alloc(1, sizeof *result);
    bool good = true;
    if (set->team.pairs == 0) {
        series_missing(set, engine, list);
    } else {
        good = team_measure(&set->team, engine, run->program->options->program, matrix, result);
        run->measured++;
        run->verified += good;
        if (good && check_rank() == 0) {
            if (is_all(run))
                note_set(run, set, result);
            else
                series_of_set(set, result, engine, evidence, list);
            note_units(run, result);
        }
        team_result_free(result);
    }
    free(result);
    return good;
}

static int measure(void *state, const struct evidence_list *evidence, struct series_list *list) {
    struct run *run = state;
    int sets = run->program->set_count(run);
    const char *pairs = run->config.pairs;
    struct problem problem = {0};
    struct matrix *matrix = NULL;
    if (pairs)
        matrix = matrix_open(pairs, &run->layout.nodes, &run->config.engine, evidence, &problem);
    bool good = true;
    if (problem_agree(&problem, run->program->options->program))
        return EXIT_NOT_WRITTEN;
    run->sets = check_alloc((size_t)sets, sizeof *run->sets);
    for (int i = 0; good && i < sets; i++) {
        run->program->make_set(run, i, &run->sets[i]);
        good = run_set(run, &run->sets[i], evidence, matrix, list);
        team_free(&run->sets[i].team);
    }
    matrix_close(matrix);
    for (int i = 0; i < POINTS_MAX && run->of_sets[i] != NULL; i++)
        series_over_sets(&run->sets[0], &run->point[i], run->of_sets[i], run->measured,
                         run->short_sum[i] / run->measured, list);
    return good ? EXIT_SUCCESS : EXIT_DATA_WRONG;
}

/* The data of each size were compared before and after its samples (engine.h). */
static bool verify(void *state) {
    const struct run *run = state;
    return run->verified == run->measured;
}

/* ---- print and write ---- */

static void write_tests(struct json *json, const bool *chosen) {
    json_key_array(json, "tests");
    for (int f = 0; f < FIGURES; f++)
        if (chosen[figures()[f].test] && (f == 0 || figures()[f].test != figures()[f - 1].test))
            json_text(json, figures()[f].name);
    json_array_end(json);
}

static void write_units(struct json *json, const struct run *run) {
    int points = points_list(&run->config.engine.points, (struct point *)run->point);
    json_key_array(json, "sample_units");
    for (int i = 0; i < points; i++) {
        const struct figure *figure = &figures()[run->point[i].figure];
        json_object(json);
        json_key_text(json, "fom", figure->fom);
        json_key_text(json, "test", figure->name);
        json_key_integer(json, "size_bytes", (int64_t)run->point[i].bytes);
        json_key_integer(json, "least", run->units[i].least);
        json_key_integer(json, "most", run->units[i].most);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_parameters(struct json *json, const void *state) {
    const struct run *run = state;
    const struct engine_config *engine = &run->config.engine;
    run->program->write_parameters(json, run);
    parameters_numbers(json, "sizes_bytes", &engine->points.sizes);
    write_tests(json, engine->points.tests);
    json_key_integer(json, "window", engine->window);
    json_key_integer(json, "windows", engine->windows);
    json_key_integer(json, "batch", engine->batch);
    json_key_text(json, "memory", memory_name(&engine->memory));
    json_key_text(json, "buffers", engine->one_buffer ? "single" : "multiple");
    parameters_sampling(json, &engine->sampling);
    parameters_times(json, &engine->sampling);
    json_key_double(json, "clock_tick_s", clock_tick_s());
    json_key_double(json, "clock_bound_us", 1e6 * run->clock_bound_s);
    write_units(json, run);
}

static void print_heading(const void *state) {
    const struct run *run = state;
    const struct engine_config *engine = &run->config.engine;
    run->program->print_details(run);
    (void)printf("\nwindow %d, %d repeats; every size verified; clocks within %.3g us of each other\n\n",
                 engine->window, engine->sampling.repeats, 1e6 * run->clock_bound_s);
}

/* Collective. False on all ranks, with the message printed, when the coordinates cannot be used. */
static bool read_torus(struct run *run) {
    char host[EVIDENCE_HOST_BYTES];
    struct problem problem = {0};
    if (!run->config.coordinates)
        return true;
    evidence_host(host);
    coordinates_read(run->config.coordinates, host, &run->coordinates, &problem);
    if (problem_agree(&problem, run->program->options->program))
        return false;
    lattice_make(&run->coordinates, check_ranks(), &run->lattice);
    return true;
}

static bool prepare(void *state) {
    struct run *run = state;
    struct problem problem = {0};
    run->program = this_program();
    if (!read_torus(run))
        return false;
    run->program->prepare(run, &problem);
    (void)points_list(&run->config.engine.points, run->point);
    return !problem_agree(&problem, run->program->options->program);
}

static void release(void *state) {
    struct run *run = state;
    hop_pairs_free(&run->hop_pairs);
    nodes_free(&run->layout.nodes);
    free(run->sets);
    free(run->position);
    free(run->node_at);
    lattice_free(&run->lattice);
    coordinates_free(&run->coordinates);
}

int main(int argc, char **argv) {
    const struct benchmark benchmark = {.options = this_program()->options,
                                        .state_bytes = sizeof(struct run),
                                        .prepare = prepare,
                                        .verify = verify,
                                        .measure = measure,
                                        .release = release,
                                        .hooks = &nics_hooks,
                                        .write_parameters = write_parameters,
                                        .print_heading = print_heading};
    return benchmark_main(argc, argv, &benchmark);
}
