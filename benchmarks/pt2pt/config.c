/* Options of the point-to-point programs, their defaults and their conflicts; see config.h. */
#include "pt2pt/config.h"

#include "lib/input/rows.h"
#include "lib/output/output.h"
#include "lib/run/check.h"

/* ---- parsers ---- */

static const char *const grouping_names[] = {"halves", "alternate", "ranks"};

const char *grouping_name(enum grouping grouping) {
    return grouping_names[grouping];
}

static bool parse_grouping(const char *text, void *field) {
    return options_one(text, grouping_names, GROUPS_RANKS + 1, field);
}

static bool parse_buffers(const char *text, void *field) {
    static const char *const names[] = {"multiple", "single"};
    return options_either(text, names, field);
}

static bool parse_units(const char *text, void *field) {
    static const char *const names[] = {"nodes", "ranks"};
    return options_either(text, names, field);
}

/* ---- rows ---- */

#define FIELD(name) offsetof(struct pt2pt_config, name)

#define TEST_NAMES "latency, bandwidth, bibandwidth, rate, tail"

#define ROWS_ENGINE(default_sizes, which)                                                                    \
    ROW_SIZES(default_sizes, "message sizes; 0 has no bandwidth", FIELD(engine.points.sizes)),               \
        ROW("tests", "LIST", which, TEST_NAMES, "what to measure", parse_tests, FIELD(engine.points.tests)), \
        ROW("window", "COUNT", "64", "1 to 1000000", "messages in flight for bandwidth (OSU: 64)",           \
            parse_count, FIELD(engine.window)),                                                              \
        ROW("windows", "COUNT", "1", "1 to 1000000", "minimum number of windows per sample", parse_count,    \
            FIELD(engine.windows)),                                                                          \
        ROW("batch", "COUNT", "10", "1 to 1000000",                                                          \
            "minimum number of round trips per sample up to 8 KiB; 1 above", parse_count,                    \
            FIELD(engine.batch)),                                                                            \
        ROW("buffers", "NAME", "multiple", "multiple, single (as OSU)",                                      \
            "receive buffers of the messages of a window", parse_buffers, FIELD(engine.one_buffer)),         \
        ROW_CLOCK(FIELD(engine.clock_pings)), ROW_MEMORY(FIELD(engine.memory)),                              \
        ROW_REPEATS("20", "samples per point", FIELD(engine.sampling.repeats)),                              \
        ROW_WARMUPS("2", "minimum number of untimed samples before", FIELD(engine.sampling.warmups)),        \
        ROW_WARMUP_TIME(FIELD(engine.sampling.warmup_s)), ROW_MIN_TIME(FIELD(engine.sampling.min_time_s)),   \
        ROW_POINT_TIME(FIELD(engine.sampling.point_time_s)), ROW_SEED(FIELD(engine.sampling.seed)),          \
        ROW_JSON(FIELD(engine.sampling.json))

#define COUNT_OF(rows) (int)(sizeof(rows) / sizeof(rows)[0])

static void settle_engine(struct pt2pt_config *config, struct problem *problem) {
    if (check_ranks() < 2)
        problem_set(problem, "1 rank: pairs are measured; expected 2 ranks or more");
    points_check(&config->engine.points, problem);
    memory_open(&config->engine.memory, problem);
}

static void settle(void *configuration, unsigned given, struct problem *problem) {
    (void)given;
    settle_engine(configuration, problem);
}

/* ---- hops ---- */

static const struct option_row hops_rows[] = {
    ROW_COORDINATES("none: ranks 0 and N-1", FIELD(coordinates)),
    ROW_DIMENSIONS(FIELD(dimensions)),
    ROW_HOPS(FIELD(hops)),
    ROW("pairs-per-point", "COUNT", "1", "1 to 1000000",
        "maximum number of pairs per dimension and hop count", parse_count, FIELD(pairs_per_point)),
    ROWS_ENGINE("0-4MiB", "latency,bandwidth,bibandwidth"),
};

static void settle_hops(void *configuration, unsigned given, struct problem *problem) {
    struct pt2pt_config *config = configuration;
    if (!config->coordinates && options_given(&hops_options, given, "dimensions"))
        problem_set(problem, "--dimensions %s: needs --coordinates FILE", config->dimensions);
    if (!config->coordinates && config->hops.count > 0)
        problem_set(problem, "--hops %zu: needs --coordinates FILE", config->hops.value[0]);
    if (!config->coordinates && config->pairs_per_point > 1)
        problem_set(problem, "--pairs-per-point %d: needs --coordinates FILE", config->pairs_per_point);
    settle_engine(config, problem);
}

const struct option_table hops_options = {
    .program = "hops",
    .purpose = "latency and bandwidth between nodes, by torus dimension and hops",
    .rows = hops_rows,
    .count = COUNT_OF(hops_rows),
    .settle = settle_hops,
};

/* ---- paths ---- */

static const struct option_row paths_rows[] = {
    ROW_COORDINATES("none: required", FIELD(coordinates)),
    ROW_DIMENSIONS(FIELD(dimensions)),
    ROW_HOPS(FIELD(hops)),
    {"paths", "LIST", "1,2", NULL, "counts and ranges from 1, like 1-4",
     "pairs that transfer at the same time", parse_numbers, FIELD(paths)},
    ROWS_ENGINE("1MiB", "bandwidth,bibandwidth"),
};

static void settle_paths(void *configuration, unsigned given, struct problem *problem) {
    struct pt2pt_config *config = configuration;
    (void)given;
    settle_engine(config, problem);
    if (!config->coordinates)
        problem_set(problem, "--coordinates: missing; expected a coordinates file");
}

const struct option_table paths_options = {
    .program = "paths",
    .purpose = "transfers at the same time on parallel paths along one torus dimension",
    .rows = paths_rows,
    .count = COUNT_OF(paths_rows),
    .settle = settle_paths,
};

/* ---- contention ---- */

static const struct option_row contention_rows[] = {
    {"groups", "NAME", "halves", NULL,
     "halves (of the nodes), alternate (nodes), ranks (halves of the ranks, nodes aside)",
     "the two groups; one of each makes a pair", parse_grouping, FIELD(grouping)},
    {"pairs", "LIST", NULL, "as many as a node has ranks", "counts and ranges from 1, like 1,2,4",
     "pairs per node at the same time", parse_numbers, FIELD(per_node)},
    {"spread", "COUNT", "1", NULL, "0 to 1000000",
     "nodes between the partners of a node's ranks; 0: all on one node", parse_count0, FIELD(spread)},
    {"rounds", "COUNT", "1", NULL, "1 to 1000000", "partners of each rank, one after the other", parse_count,
     FIELD(rounds)},
    ROWS_ENGINE("8,64KiB", "latency,bandwidth,bibandwidth"),
};

const struct option_table contention_options = {
    .program = "contention",
    .purpose = "pairs between two groups of nodes, all at the same time",
    .rows = contention_rows,
    .count = COUNT_OF(contention_rows),
    .settle = settle,
};

/* ---- pt2pt ---- */

static const struct option_row pt2pt_rows[] = {
    {"pattern", "NAME", "ring", NULL,
     "ring, shift, all, random, bisection, nearest, farthest, incast, fan-out",
     "which nodes transfer to which, all at once", parse_pattern, FIELD(pattern)},
    {"steps", "LIST", "1", NULL, "counts and ranges from 1, like 1,2,4",
     "of shift: how far; of random: which permutation", parse_numbers, FIELD(steps)},
    {"units", "NAME", "nodes", NULL, "nodes, ranks (each rank counts as a node)", "what the pattern connects",
     parse_units, FIELD(every_rank)},
    {"per-node", "LIST", "1", NULL, "counts and ranges from 1, like 1,2,4",
     "ranks of each node that take part, at equal steps: one a NIC, one a core", parse_numbers,
     FIELD(per_node)},
    ROW_COORDINATES("none: nodes in the order of their ranks", FIELD(coordinates)),
    {"pairs", "FILE", NULL, "none", "a path that all ranks can write",
     "file with a matrix of all pairs for each test and size, written while they are measured", parse_text,
     FIELD(pairs)},
    ROWS_ENGINE("8,64KiB,1MiB", "latency,bandwidth,rate"),
};

static void settle_pt2pt(void *configuration, unsigned given, struct problem *problem) {
    const struct pt2pt_config *config = configuration;
    settle(configuration, given, problem);
    bool one = config->per_node.count == 1 && config->per_node.value[0] == 1;
    if (!one && (config->pairs || config->pattern->steps == ALL_STEPS))
        problem_set(problem, "--%s %s: of one rank of each node; expected --per-node 1",
                    config->pairs ? "pairs" : "pattern",
                    config->pairs ? config->pairs : config->pattern->name);
}

const struct option_table pt2pt_options = {
    .program = "pt2pt",
    .purpose = "latency, bandwidth and message rate of a pattern of pairs, all at the same time",
    .rows = pt2pt_rows,
    .count = COUNT_OF(pt2pt_rows),
    .settle = settle_pt2pt,
};
