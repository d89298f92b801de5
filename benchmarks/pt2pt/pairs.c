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
#include "pt2pt/pairs.h"

#include "lib/output/table.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

const char *const buffer_names[2] = {"multiple", "single"};

void pairs_settle(void *configuration, const struct options_given *given, struct problem *problem) {
    struct pt2pt_config *config = configuration;
    (void)given;
    if (check_ranks() < 2)
        problem_set(problem, "1 rank: pairs are measured; expected 2 ranks or more");
    points_check(&config->engine.points, problem);
    memory_open(&config->engine.memory, problem);
}

/* ---- nodes and torus ---- */

/* The fewest ranks of the first `count` nodes. */
static int fewest_ranks(const struct nodes *nodes, int count, int *node) {
    *node = 0;
    for (int i = 0; i < count; i++)
        if (nodes_size(nodes, i) < nodes_size(nodes, *node))
            *node = i;
    return nodes_size(nodes, *node);
}

void pairs_check_per_node(struct run *run, int node_count, const char *option, struct problem *problem) {
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

int pairs_chosen_rank(const struct nodes *nodes, int node, int l, int count) {
    return nodes_rank(nodes, node, (int)((long)l * nodes_size(nodes, node) / count));
}

void pairs_label(struct set *set, const char *name, const char *text, int64_t number) {
    set->labels[set->label_count++] = (struct label){name, text, number};
}

void pairs_print_torus(const struct run *run) {
    const int *extents = run->coordinates.extents;
    int nodes = run->lattice.nodes_per_router;
    if (run->config.coordinates)
        (void)printf(", torus %dx%dx%d, %d node%s per router", extents[0], extents[1], extents[2], nodes,
                     nodes > 1 ? "s" : "");
}

bool pairs_too_far(int extent, size_t hops, char reason[SET_REASON_BYTES]) {
    reason[0] = '\0';
    if (extent == 1)
        (void)snprintf(reason, SET_REASON_BYTES, "extent 1: no hops in this dimension");
    else if (hops > (size_t)extent / 2)
        (void)snprintf(reason, SET_REASON_BYTES, "extent %d: at most %d hops", extent, extent / 2);
    return reason[0] != '\0';
}

/* ---- measure ---- */

/* Stores the medians of a step behind those of the steps before. */
static void note_set(struct run *run, const struct set *set, const struct team_result *result) {
    for (int i = 0; i < result->points; i++) {
        double *values = team_whole_values(&set->team, result, &run->config.engine, i);
        if (run->of_sets[i] == NULL)
            run->of_sets[i] = check_alloc((size_t)pairing.set_count(run), sizeof(double));
        run->of_sets[i][run->measured - 1] = table_median(values, result->count[i]);
        run->short_sum[i] += team_short_percent(result, i);
        free(values);
    }
}

/* Collective. Measures one set of pairs; returns false on all ranks if its data were wrong. */
static bool run_set(struct run *run, struct set *set, const struct evidence_list *evidence,
                    struct series_list *list) {
    const struct engine_config *engine = &run->config.engine;
    struct team_result *result = check_alloc(1, sizeof *result);
    bool good = true;
    if (set->team.pairs == 0) {
        series_missing(set, engine, list);
    } else {
        good = team_measure(&set->team, engine, benchmark.options.program, result);
        run->measured++;
        run->verified += good;
        if (good && check_rank() == 0) {
            if (run->over_sets)
                note_set(run, set, result);
            else
                series_of_set(set, result, engine, evidence, list);
            for (int i = 0; i < result->points; i++) {
                struct units *units = &run->units[i];
                int of_set = result->units[i];
                units->least = units->least == 0 || of_set < units->least ? of_set : units->least;
                units->most = of_set > units->most ? of_set : units->most;
            }
            if (result->clock_bound_s > run->clock_bound_s)
                run->clock_bound_s = result->clock_bound_s;
        }
        team_result_free(result);
    }
    free(result);
    return good;
}

int pairs_measure(void *state, const struct evidence_list *evidence, struct series_list *list) {
    struct run *run = state;
    int sets = pairing.set_count(run);
    bool good = true;
    run->sets = check_alloc((size_t)sets, sizeof *run->sets);
    for (int i = 0; good && i < sets; i++) {
        pairing.make_set(run, i, &run->sets[i]);
        good = run_set(run, &run->sets[i], evidence, list);
        team_free(&run->sets[i].team);
    }
    for (int i = 0; i < POINTS_MAX && run->of_sets[i] != NULL; i++)
        series_over_sets(&run->sets[0], &run->point[i], run->of_sets[i], run->measured,
                         run->short_sum[i] / run->measured, list);
    return good ? EXIT_SUCCESS : EXIT_DATA_WRONG;
}

/* The data of each size were compared before and after its samples (engine.h). */
void pairs_verify(void *state, struct problem *problem) {
    const struct run *run = state;
    if (run->verified < run->measured)
        problem_set(problem, "data are wrong, no rate is printed");
}

/* ---- print and write ---- */

void pairs_write_parameters(struct json *json, const void *state) {
    const struct run *run = state;
    const struct engine_config *engine = &run->config.engine;
    pairing.write_parameters(json, run);
    parameters_numbers(json, "sizes_bytes", &engine->points.sizes);
    json_key_array(json, "tests");
    for (int f = 0; f < FIGURES; f++)
        if (engine->points.tests[figures[f].test] && (f == 0 || figures[f].test != figures[f - 1].test))
            json_text(json, figures[f].name);
    json_array_end(json);
    json_key_integer(json, "window", engine->window);
    json_key_integer(json, "windows", engine->windows);
    json_key_integer(json, "batch", engine->batch);
    json_key_text(json, "memory", memory_name(&engine->memory));
    json_key_text(json, "buffers", buffer_names[engine->one_buffer]);
    parameters_sampling(json, &engine->sampling);
    parameters_times(json, &engine->sampling);
    json_key_double(json, "clock_tick_s", clock_tick_s());
    json_key_double(json, "clock_bound_us", 1e6 * run->clock_bound_s);
    int points = points_list(&run->config.engine.points, (struct point *)run->point);
    json_key_array(json, "sample_units");
    for (int i = 0; i < points; i++) {
        const struct figure *figure = &figures[run->point[i].figure];
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

void pairs_print_heading(const void *state) {
    const struct run *run = state;
    const struct engine_config *engine = &run->config.engine;
    pairing.print_details(run);
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
    if (problem_agree(&problem, benchmark.options.program))
        return false;
    lattice_make(&run->coordinates, check_ranks(), &run->lattice);
    return true;
}

bool pairs_prepare(void *state) {
    struct run *run = state;
    struct problem problem = {0};
    if (!read_torus(run))
        return false;
    pairing.prepare(run, &problem);
    (void)points_list(&run->config.engine.points, run->point);
    return !problem_agree(&problem, benchmark.options.program);
}

void pairs_release(void *state) {
    struct run *run = state;
    free(run->hop_pairs.pairs);
    nodes_free(&run->layout.nodes);
    free(run->sets);
    free(run->position);
    free(run->node_at);
    lattice_free(&run->lattice);
    coordinates_free(&run->coordinates);
}
