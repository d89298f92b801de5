/*
 * hops: latency and bandwidth between two nodes, by torus dimension and number of hops.
 *
 * Models section 4.1 of Peña et al., "Analysis of Topology-Dependent MPI Performance on Gemini Networks"
 * (EuroMPI 2013): the OSU point-to-point tests (lib/lane.h) between nodes a given number of hops apart along
 * X, Y or Z. The coordinates file says where the nodes stand; without it the first and the last rank are
 * measured. One pair at a time; all other ranks sleep.
 *
 * Leaves out: pairs that run at once and share links (paths, contention), and the choice of the route.
 */
#include "hops/config.h"
#include "hops/pairs.h"
#include "lib/check.h"
#include "lib/coordinates.h"
#include "lib/evidence.h"
#include "lib/lane.h"
#include "lib/output.h"
#include "lib/parameters.h"
#include "lib/problem.h"
#include "lib/report.h"
#include "lib/table.h"
#include "lib/team.h"

static const char program[] = "hops";

struct run {
    struct hops_config config;
    struct coordinates coordinates;
    struct pair_list pairs;
};

static bool measured(const struct pair *pair) {
    return pair->from >= 0;
}

static bool any_measured(const struct pair_list *list) {
    for (int i = 0; i < list->count; i++)
        if (measured(&list->pairs[i]))
            return true;
    return false;
}

/* Collective. Finds the node of every rank. */
static void find_nodes(struct run *run, struct problem *problem) {
    char host[EVIDENCE_HOST_BYTES];
    evidence_host(host);
    if (run->config.coordinates)
        coordinates_read(run->config.coordinates, host, &run->coordinates, problem);
}

/* Finds the pairs; a problem when there are none. */
static void find_pairs(struct run *run, struct problem *problem) {
    const struct hops_config *config = &run->config;
    const int *extents = run->coordinates.extents;
    if (!config->coordinates) {
        pairs_ends(check_ranks(), &run->pairs);
        return;
    }
    pairs_on_torus(&run->coordinates, check_ranks(), config->dimensions, &config->hops, &run->pairs);
    if (!any_measured(&run->pairs))
        problem_set(
            problem,
            "--coordinates %s: no two of the %d ranks are the asked hops apart along %s (torus %dx%dx%d)",
            config->coordinates, check_ranks(), config->dimensions, extents[0], extents[1], extents[2]);
}

/* ---- measure ---- */

static struct series point_series(const struct pair *pair, const struct lane_point *point,
                                  const struct evidence_list *evidence) {
    return (struct series){
        .fom = lane_tests()[point->test].fom,
        .label_count = 6,
        .labels = {{"test", lane_tests()[point->test].name, 0},
                   {"dimension", pair->dimension, 0},
                   {"hops", NULL, pair->hops},
                   {"from", evidence->of_rank[pair->from].host, 0},
                   {"to", evidence->of_rank[pair->to].host, 0},
                   {"size_bytes", NULL, (int64_t)point->bytes}},
    };
}

static struct series missing_series(const struct pair *pair, int test) {
    return (struct series){
        .fom = lane_tests()[test].fom,
        .label_count = 3,
        .labels = {{"test", lane_tests()[test].name, 0},
                   {"dimension", pair->dimension, 0},
                   {"hops", NULL, pair->hops}},
        .reason = pair->reason,
    };
}

/* On rank 0. */
static void add_points(const struct run *run, const struct pair *pair, const struct evidence_list *evidence,
                       const struct team_result *result, struct series_list *list) {
    for (int i = 0; i < result->points; i++) {
        struct series series = point_series(pair, &result->point[i], evidence);
        series.count = result->count[i];
        series.samples = team_values(result, &run->config.lane, 0, i);
        series_add(list, series);
    }
}

/* Collective. One pair measures while the others sleep; false on all ranks when its data were wrong. */
static bool run_pair(const struct run *run, const struct pair *pair, const struct evidence_list *evidence,
                     struct series_list *list) {
    struct team team = team_make(1);
    struct team_result result;
    team.from[0] = pair->from;
    team.to[0] = pair->to;
    bool good = team_measure(&team, &run->config.lane, program, &result);
    if (good && check_rank() == 0)
        add_points(run, pair, evidence, &result, list);
    team_result_free(&result);
    team_free(&team);
    return good;
}

static void add_missing(const struct run *run, const struct pair *pair, struct series_list *list) {
    for (int test = 0; test < LANE_TESTS; test++)
        if (run->config.lane.points.tests[test])
            series_add(list, missing_series(pair, test));
}

static bool run_pairs(const struct run *run, const struct evidence_list *evidence, struct series_list *list) {
    for (int i = 0; i < run->pairs.count; i++) {
        const struct pair *pair = &run->pairs.pairs[i];
        if (!measured(pair))
            add_missing(run, pair, list);
        else if (!run_pair(run, pair, evidence, list))
            return false;
    }
    return true;
}

/* ---- print and write ---- */

static void write_parameters(struct json *json, const void *context) {
    const struct run *run = context;
    const struct hops_config *config = &run->config;
    parameters_torus(json, config->coordinates, &run->coordinates);
    json_key_text(json, "dimensions", config->coordinates ? config->dimensions : NULL);
    parameters_numbers(json, "hops", &config->hops);
    parameters_lane(json, &config->lane);
}

static void print_heading(const void *context, const struct evidence_list *evidence) {
    const struct run *run = context;
    const struct lane_config *lane = &run->config.lane;
    table_heading(program, evidence);
    if (run->config.coordinates)
        (void)printf(", torus %dx%dx%d", run->coordinates.extents[0], run->coordinates.extents[1],
                     run->coordinates.extents[2]);
    (void)printf("\nwindow %d, batch %d up to 8 KiB, %d repeats after %d warmups; every size verified\n\n",
                 lane->window, lane->batch, lane->sampling.repeats, lane->sampling.warmups);
}

static int run_hops(const struct run *run) {
    struct series_list list = {0};
    struct evidence_list evidence;
    evidence_gather(&evidence);
    struct document document = {program, write_parameters, run, &evidence, &list};
    int status = EXIT_DATA_WRONG;
    if (run_pairs(run, &evidence, &list))
        status = report(&document, print_heading, run->config.lane.sampling.json);
    series_free(&list);
    evidence_free(&evidence);
    return status;
}

static int run_settled(struct run *run) {
    struct problem problem = {0};
    find_nodes(run, &problem);
    if (problem_agree(&problem, program))
        return EXIT_USAGE;
    find_pairs(run, &problem);
    return problem_agree(&problem, program) ? EXIT_USAGE : run_hops(run);
}

static int run(int argc, char **argv) {
    struct run run = {0};
    enum options_outcome outcome = hops_config_read(argc, argv, &run.config);
    if (outcome != OPTIONS_RUN)
        return options_status(outcome);
    int status = run_settled(&run);
    coordinates_free(&run.coordinates);
    pairs_free(&run.pairs);
    return status;
}

int main(int argc, char **argv) {
    return check_main(argc, argv, run);
}
