/*
 * What pt2pt, hops, paths and contention share: the same program with other pairs and options. Each of them
 * is a file with its options and a struct pairing; pairs.c measures its sets one after the other.
 *
 * Leaves out: the choice of pairs.
 */
#pragma once

#include "engine/benchmark.h"
#include "lib/ranks/coordinates.h"
#include "pt2pt/nodes.h"
#include "pt2pt/series.h"

/* ---- options ---- */

struct pattern;

enum grouping { GROUPS_HALVES, GROUPS_ALTERNATE, GROUPS_RANKS };

struct pt2pt_config {
    const char *coordinates;
    char dimensions[TORUS_DIMENSIONS + 1]; /* hops, paths */
    struct number_list hops;               /* hops, paths */
    int pairs_per_point;                   /* hops */
    struct number_list paths;              /* paths */
    enum grouping grouping;                /* contention */
    struct number_list per_node;           /* contention: pairs; pt2pt: ranks */
    int spread;                            /* contention */
    int rounds;                            /* contention */
    const struct pattern *pattern;         /* pt2pt */
    struct number_list steps;              /* pt2pt */
    bool every_rank;                       /* pt2pt: each rank counts as a node */
    struct engine_config engine;
};

#define FIELD(name) offsetof(struct pt2pt_config, name)

#define ROWS_ENGINE(default_sizes, which)                                                                    \
    ROW_SIZES(default_sizes, "message sizes; 0 has no bandwidth", FIELD(engine.points.sizes)),               \
        ROW_TESTS(which, FIELD(engine.points.tests)),                                                        \
        ROW("window", "COUNT", "64", "1 to 1000000", "messages in flight for bandwidth (OSU: 64)",           \
            parse_count, FIELD(engine.window)),                                                              \
        ROW("windows", "COUNT", "1", "1 to 1000000", "minimum number of windows per sample", parse_count,    \
            FIELD(engine.windows)),                                                                          \
        ROW("batch", "COUNT", "10", "1 to 1000000",                                                          \
            "minimum number of round trips per sample up to 8 KiB; 1 above", parse_count,                    \
            FIELD(engine.batch)),                                                                            \
        ROW_NAMES("buffers", "NAME", "multiple", "multiple, single (as OSU)",                                \
                  "receive buffers of the messages of a window", FIELD(engine.one_buffer), options_either,   \
                  buffer_names),                                                                             \
        ROW_CLOCK(FIELD(engine.clock_pings)), ROW_MEMORY(FIELD(engine.memory)),                              \
        ROW_REPEATS("20", "samples per point", FIELD(engine.sampling.repeats)),                              \
        ROW_WARMUPS("2", "minimum number of untimed samples before", FIELD(engine.sampling.warmups)),        \
        ROW_WARMUP_TIME(FIELD(engine.sampling.warmup_s)), ROW_MIN_TIME(FIELD(engine.sampling.min_time_s)),   \
        ROW_POINT_TIME(FIELD(engine.sampling.point_time_s)), ROW_SEED(FIELD(engine.sampling.seed)),          \
        ROW_JSON(FIELD(engine.sampling.json))

extern const char *const buffer_names[2];

/* Checks the options of all four, for the `settle` of a program that has no more to check, or for its end. */
void pairs_settle(void *configuration, const struct options_given *given, struct problem *problem);

/* ---- the run ---- */

/* The nodes of a run, and their positions. */
struct layout {
    struct nodes nodes;
    const int (*position)[TORUS_DIMENSIONS]; /* position of each node on the torus; NULL: unknown */
    const int *node_at;                      /* first node at each position, row-major; -1: none */
    int extents[TORUS_DIMENSIONS];
    uint64_t seed;
    int step;
    const int *shuffled; /* the nodes in the random order of this step */
};

struct hop_pair {
    char dimension[8]; /* "X", "Y", "Z", or "none" without coordinates */
    int hops;
    int from; /* rank; -1: not measured */
    int to;
    char reason[SET_REASON_BYTES]; /* why it is not measured */
};

struct hop_list {
    int count;
    struct hop_pair *pairs;
};

/* The range of units per sample of a point over all sets. */
struct units {
    int least;
    int most;
};

struct run {
    struct pt2pt_config config;
    struct set *sets; /* own the labels of the series */
    bool over_sets;   /* pattern `all`: each series has a sample for each set */
    int measured;     /* sets with pairs, and those whose data were right */
    int verified;
    struct coordinates coordinates;
    struct lattice lattice;
    struct layout layout;
    int (*position)[TORUS_DIMENSIONS];
    int *node_at;
    struct hop_list hop_pairs; /* hops */
    int group_nodes;           /* contention: nodes of each group; an odd node is idle */
    struct point point[POINTS_MAX];
    struct units units[POINTS_MAX];
    double *of_sets[POINTS_MAX];  /* pattern `all`: a value for each set that was measured, on rank 0 */
    double short_sum[POINTS_MAX]; /* and the sum of their percentages of samples that are too short */
    double clock_bound_s;
};

/* What differs between the programs. */
struct pairing {
    /* Collective. Prepares what the pairs need, after the torus is read. */
    void (*prepare)(struct run *run, struct problem *problem);
    /* The number of sets, and the pairs of one set; the same on all ranks. */
    int (*set_count)(const struct run *run);
    void (*make_set)(const struct run *run, int index, struct set *set);
    void (*write_parameters)(struct json *json, const struct run *run);
    void (*print_details)(const struct run *run);
};

extern const struct pairing pairing;

/* The struct benchmark of a program: the members of its options. */
#define PAIRS_BENCHMARK(...)                                                                                 \
    const struct benchmark benchmark = {.options = {__VA_ARGS__},                                            \
                                        .state_bytes = sizeof(struct run),                                   \
                                        .prepare = pairs_prepare,                                            \
                                        .verify = pairs_verify,                                              \
                                        .measure = pairs_measure,                                            \
                                        .release = pairs_release,                                            \
                                        .write_parameters = pairs_write_parameters,                          \
                                        .print_heading = pairs_print_heading}

bool pairs_prepare(void *state);
void pairs_verify(void *state, struct problem *problem);
int pairs_measure(void *state, const struct evidence_list *evidence, struct series_list *list);
void pairs_release(void *state);
void pairs_write_parameters(struct json *json, const void *state);
void pairs_print_heading(const void *state);

/* ---- for the programs ---- */

/* Fills in how many ranks of a node take part where no option says it, and checks it against the first
 * `node_count` nodes. */
void pairs_check_per_node(struct run *run, int node_count, const char *option, struct problem *problem);

/* Returns the rank at step l of `count` equal steps through a node. */
int pairs_chosen_rank(const struct nodes *nodes, int node, int l, int count);

void pairs_label(struct set *set, const char *name, const char *text, int64_t number);

void pairs_print_torus(const struct run *run);

/* Writes why no rank can be `hops` away along a dimension of that extent; false where one can. */
bool pairs_too_far(int extent, size_t hops, char reason[SET_REASON_BYTES]);
