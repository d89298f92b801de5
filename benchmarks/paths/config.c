/* Options of paths, their defaults and their conflicts; see config.h. */
#include "paths/config.h"

#include "lib/check.h"
#include "lib/output.h"
#include "lib/rows.h"

#define FIELD(name) offsetof(struct paths_config, name)

static const struct option_row rows[] = {
    ROW_COORDINATES("none: it must be given", FIELD(coordinates)),
    ROW_DIMENSIONS(FIELD(dimensions)),
    ROW_HOPS(FIELD(hops)),
    {"paths", "LIST", "1,2", NULL, "counts and ranges from 1, like 1-4",
     "pairs that transfer at the same time", parse_numbers, FIELD(paths)},
    ROW_SIZES("1MiB", "message sizes; 0 is for latency alone", FIELD(lane.points.sizes)),
    {"tests", "LIST", "bandwidth,bibandwidth", NULL, "latency, bandwidth, bibandwidth", "what to measure",
     parse_lane_tests, FIELD(lane.points.tests)},
    ROW_WINDOW("8", FIELD(lane.window)),
    ROW_BATCH(FIELD(lane.batch)),
    ROW_REPEATS("20", "samples per point", FIELD(lane.sampling.repeats)),
    ROW_WARMUPS("2", "untimed samples before", FIELD(lane.sampling.warmups)),
    ROW_POINT_TIME(FIELD(lane.sampling.point_time_s)),
    ROW_SEED(FIELD(lane.sampling.seed)),
    ROW_JSON(FIELD(lane.sampling.json)),
};

static void settle(void *configuration, unsigned given, struct problem *problem) {
    const struct paths_config *config = configuration;
    (void)given;
    if (check_ranks() < 2)
        problem_set(problem, "1 rank: pairs are measured; valid: 2 ranks or more");
    if (!config->coordinates)
        problem_set(problem, "--coordinates: missing; valid: a coordinates file");
    lane_points_check(&config->lane.points, problem);
    output_probe(config->lane.sampling.json, problem);
}

static const struct option_table table = {
    .program = "paths",
    .purpose = "transfers at the same time on parallel paths along one torus dimension",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .settle = settle,
};

enum options_outcome paths_config_read(int argc, char **argv, struct paths_config *config) {
    return options_settle(&table, argc, argv, config);
}
