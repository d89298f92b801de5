/* Options of contention, their defaults and their conflicts; see config.h. */
#include "contention/config.h"

#include "lib/check.h"
#include "lib/output.h"
#include "lib/rows.h"

#include <string.h>

static const char *const grouping_names[] = {"halves", "alternate", "ranks"};

const char *grouping_name(enum grouping grouping) {
    return grouping_names[grouping];
}

static bool parse_grouping(const char *text, void *field) {
    for (int grouping = GROUPS_HALVES; grouping <= GROUPS_RANKS; grouping++)
        if (strcmp(text, grouping_names[grouping]) == 0) {
            *(enum grouping *)field = (enum grouping)grouping;
            return true;
        }
    return false;
}

#define FIELD(name) offsetof(struct contention_config, name)

static const struct option_row rows[] = {
    {"groups", "NAME", "halves", NULL,
     "halves (of the nodes), alternate (nodes), ranks (halves of the ranks, nodes aside)",
     "the two groups; one of each makes a pair", parse_grouping, FIELD(grouping)},
    {"pairs", "LIST", NULL, "as many as a node has ranks", "counts and ranges from 1, like 1,2,4",
     "pairs per node at the same time", parse_numbers, FIELD(pairs)},
    {"spread", "COUNT", "1", NULL, "0 to 1000000",
     "nodes between the partners of a node's ranks; 0: all on one node", parse_count0, FIELD(spread)},
    {"rounds", "COUNT", "1", NULL, "1 to 1000000", "partners of each rank, one after the other", parse_count,
     FIELD(rounds)},
    ROW_SIZES("8,64KiB", "message sizes; 0 is for latency alone", FIELD(lane.points.sizes)),
    {"tests", "LIST", "latency,bandwidth,bibandwidth", NULL, "latency, bandwidth, bibandwidth",
     "what all pairs do at once", parse_lane_tests, FIELD(lane.points.tests)},
    ROW_WINDOW("8", FIELD(lane.window)),
    ROW_BATCH(FIELD(lane.batch)),
    ROW_REPEATS("20", "samples per point", FIELD(lane.sampling.repeats)),
    ROW_WARMUPS("2", "untimed samples before", FIELD(lane.sampling.warmups)),
    ROW_POINT_TIME(FIELD(lane.sampling.point_time_s)),
    ROW_SEED(FIELD(lane.sampling.seed)),
    ROW_JSON(FIELD(lane.sampling.json)),
};

static void settle(void *configuration, unsigned given, struct problem *problem) {
    const struct contention_config *config = configuration;
    (void)given;
    if (check_ranks() < 2)
        problem_set(problem, "1 rank: pairs are measured; valid: 2 ranks or more");
    lane_points_check(&config->lane.points, problem);
    output_probe(config->lane.sampling.json, problem);
}

static const struct option_table table = {
    .program = "contention",
    .purpose = "pairs between two groups of nodes, all at the same time",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .settle = settle,
};

enum options_outcome contention_config_read(int argc, char **argv, struct contention_config *config) {
    return options_settle(&table, argc, argv, config);
}
