/* Options of hops, their defaults and their conflicts; see config.h. */
#include "hops/config.h"

#include "lib/check.h"
#include "lib/output.h"
#include "lib/problem.h"
#include "lib/rows.h"

#define FIELD(name) offsetof(struct hops_config, name)

static const struct option_row rows[] = {
    ROW_COORDINATES("none: ranks 0 and N-1", FIELD(coordinates)),
    ROW_DIMENSIONS(FIELD(dimensions)),
    ROW_HOPS(FIELD(hops)),
    ROW_SIZES("0-4MiB", "message sizes; 0 is for latency alone", FIELD(lane.points.sizes)),
    {"tests", "LIST", "latency,bandwidth,bibandwidth", NULL, "latency, bandwidth, bibandwidth",
     "what to measure", parse_lane_tests, FIELD(lane.points.tests)},
    ROW_WINDOW("8", FIELD(lane.window)),
    ROW_BATCH(FIELD(lane.batch)),
    ROW_REPEATS("20", "samples per point", FIELD(lane.sampling.repeats)),
    ROW_WARMUPS("2", "untimed samples before", FIELD(lane.sampling.warmups)),
    ROW_POINT_TIME(FIELD(lane.sampling.point_time_s)),
    ROW_SEED(FIELD(lane.sampling.seed)),
    ROW_JSON(FIELD(lane.sampling.json)),
};

static void settle(void *configuration, unsigned given, struct problem *problem);

static const struct option_table table = {
    .program = "hops",
    .purpose = "latency and bandwidth between nodes, by torus dimension and hops",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .settle = settle,
};

static void settle(void *configuration, unsigned given, struct problem *problem) {
    const struct hops_config *config = configuration;
    if (check_ranks() < 2)
        problem_set(problem, "1 rank: a pair is measured; valid: 2 ranks or more");
    if (!config->coordinates && options_given(&table, given, "dimensions"))
        problem_set(problem, "--dimensions %s: needs --coordinates FILE", config->dimensions);
    if (!config->coordinates && config->hops.count > 0)
        problem_set(problem, "--hops %zu: needs --coordinates FILE", config->hops.value[0]);
    lane_points_check(&config->lane.points, problem);
    output_probe(config->lane.sampling.json, problem);
}

enum options_outcome hops_config_read(int argc, char **argv, struct hops_config *config) {
    return options_settle(&table, argc, argv, config);
}
