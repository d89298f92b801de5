/*
 * hops: latency and bandwidth between two nodes, by torus dimension and number of hops.
 *
 * Models section 4.1 of Peña et al., "Analysis of Topology-Dependent MPI Performance on Gemini Networks"
 * (EuroMPI 2013): the OSU point-to-point tests (lib/lane.h) between nodes a given number of hops apart along
 * X, Y or Z. The coordinates file says where the nodes stand; without it the first and the last rank are
 * measured. One pair at a time; all other ranks sleep.
 *
 * Leaves out: pairs that run at once and share links, and the choice of the route.
 */
#include "hops_config.h"
#include "lib/check.h"
#include "lib/coordinates.h"
#include "lib/evidence.h"
#include "lib/idle.h"
#include "lib/lane.h"
#include "lib/output.h"
#include "lib/pairs.h"
#include "lib/problem.h"
#include "lib/table.h"

#include <stdlib.h>

static const char program[] = "hops";

enum { TAG_COUNT = 11, TAG_SAMPLES = 12 };

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

static const char *host_of(const struct evidence_list *evidence, int rank) {
    return evidence->ranks ? evidence->of_rank[rank].host : "";
}

static struct series point_series(const struct pair *pair, int test, size_t bytes,
                                  const struct evidence_list *evidence) {
    return (struct series){
        .fom = lane_tests()[test].fom,
        .label_count = 6,
        .labels = {{"test", lane_tests()[test].name, 0},
                   {"dimension", pair->dimension, 0},
                   {"hops", NULL, pair->hops},
                   {"from", host_of(evidence, pair->from), 0},
                   {"to", host_of(evidence, pair->to), 0},
                   {"size_bytes", NULL, (int64_t)bytes}},
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

/* Both ends run all points; the leader keeps the series. Stops at the first point whose data are wrong. */
static void measure_points(const struct run *run, const struct pair *pair, struct lane *lane,
                           const struct evidence_list *evidence, struct series_list *list,
                           struct problem *problem) {
    const struct hops_config *config = &run->config;
    for (int test = 0; test < LANE_TESTS; test++)
        for (int i = 0; i < config->sizes.count && !problem_is_set(problem); i++) {
            size_t bytes = config->sizes.value[i];
            if (!hops_in_point(config, test, bytes))
                continue;
            struct series series = point_series(pair, test, bytes, evidence);
            lane_verify(lane, bytes, problem);
            series.samples = check_alloc((size_t)config->lane.repeats, sizeof(double));
            if (!problem_is_set(problem))
                series.count = lane_measure(lane, &lane_tests()[test], bytes, series.samples);
            series_add(list, series);
        }
}

static void measure_pair(const struct run *run, const struct pair *pair, const struct evidence_list *evidence,
                         struct series_list *list, struct problem *problem) {
    int rank = check_rank();
    if (rank != pair->from && rank != pair->to)
        return;
    struct lane lane = lane_open(&run->config.lane, rank, rank == pair->from ? pair->to : pair->from,
                                 hops_largest_size(&run->config));
    lane.leads = rank == pair->from;
    measure_points(run, pair, &lane, evidence, list, problem);
    lane_close(&lane);
}

static void send_series(const struct series_list *list) {
    for (int i = 0; i < list->count; i++) {
        const struct series *series = &list->series[i];
        MPI_CHECK(MPI_Send(&series->count, 1, MPI_INT, 0, TAG_COUNT, MPI_COMM_WORLD));
        MPI_CHECK(MPI_Send(series->samples, series->count, MPI_DOUBLE, 0, TAG_SAMPLES, MPI_COMM_WORLD));
    }
}

static void receive_samples(int from, struct series *series) {
    MPI_CHECK(MPI_Recv(&series->count, 1, MPI_INT, from, TAG_COUNT, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    series->samples = check_alloc((size_t)series->count, sizeof(double));
    MPI_CHECK(MPI_Recv(series->samples, series->count, MPI_DOUBLE, from, TAG_SAMPLES, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
}

static void receive_series(const struct run *run, const struct pair *pair,
                           const struct evidence_list *evidence, struct series_list *list) {
    for (int test = 0; test < LANE_TESTS; test++)
        for (int i = 0; i < run->config.sizes.count; i++) {
            if (!hops_in_point(&run->config, test, run->config.sizes.value[i]))
                continue;
            struct series series = point_series(pair, test, run->config.sizes.value[i], evidence);
            receive_samples(pair->from, &series);
            series_add(list, series);
        }
}

static void add_all(const struct series_list *from, struct series_list *to) {
    for (int i = 0; i < from->count; i++)
        series_add(to, from->series[i]);
}

/* Moves what the leader measured to rank 0's list. */
static void collect(const struct run *run, const struct pair *pair, const struct evidence_list *evidence,
                    struct series_list *mine, struct series_list *list) {
    int rank = check_rank();
    if (rank == 0 && pair->from == 0) {
        add_all(mine, list);
        mine->count = 0; /* the samples are the other list's now */
    } else if (rank == 0) {
        receive_series(run, pair, evidence, list);
    } else if (rank == pair->from) {
        send_series(mine);
    }
}

/* Collective. One pair measures while the others sleep; false on all ranks when its data were wrong. */
static bool run_pair(const struct run *run, const struct pair *pair, const struct evidence_list *evidence,
                     struct series_list *list) {
    struct problem problem = {0};
    struct series_list mine = {0};
    measure_pair(run, pair, evidence, &mine, &problem);
    idle_barrier();
    bool good = !problem_agree(&problem, program);
    if (good)
        collect(run, pair, evidence, &mine, list);
    series_free(&mine);
    return good;
}

static void add_missing(const struct run *run, const struct pair *pair, struct series_list *list) {
    for (int test = 0; test < LANE_TESTS; test++)
        if (run->config.tests[test])
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

static void write_numbers(struct json *json, const char *key, const struct number_list *list) {
    json_key(json, key);
    json_array(json);
    for (int i = 0; i < list->count; i++)
        json_integer(json, (int64_t)list->value[i]);
    json_array_end(json);
}

static void write_tests(struct json *json, const struct hops_config *config) {
    json_key(json, "tests");
    json_array(json);
    for (int test = 0; test < LANE_TESTS; test++)
        if (config->tests[test])
            json_text(json, lane_tests()[test].name);
    json_array_end(json);
}

static void write_torus(struct json *json, const struct run *run) {
    json_key(json, "torus");
    json_array(json);
    for (int d = 0; run->config.coordinates && d < TORUS_DIMENSIONS; d++)
        json_integer(json, run->coordinates.extents[d]);
    json_array_end(json);
}

static void write_parameters(struct json *json, const void *context) {
    const struct run *run = context;
    const struct hops_config *config = &run->config;
    json_key_text(json, "coordinates", config->coordinates);
    write_torus(json, run);
    json_key_text(json, "dimensions", config->coordinates ? config->dimensions : NULL);
    write_numbers(json, "hops", &config->hops);
    write_numbers(json, "sizes_bytes", &config->sizes);
    write_tests(json, config);
    json_key_integer(json, "window", config->lane.window);
    json_key_integer(json, "batch", config->lane.batch);
    json_key_integer(json, "repeats", config->lane.repeats);
    json_key_integer(json, "warmups", config->lane.warmups);
    json_key(json, "max_time_per_point_s");
    json_double(json, config->lane.point_time_s);
    json_key(json, "seed");
    json_unsigned(json, config->lane.seed);
}

static void print_heading(const struct run *run, const struct evidence_list *evidence) {
    const struct lane_config *lane = &run->config.lane;
    int hosts = evidence_hosts(evidence);
    (void)printf("%s %s: %d ranks on %d host%s", program, RAILYARD_VERSION, evidence->ranks, hosts,
                 hosts > 1 ? "s" : "");
    if (run->config.coordinates)
        (void)printf(", torus %dx%dx%d", run->coordinates.extents[0], run->coordinates.extents[1],
                     run->coordinates.extents[2]);
    (void)printf("\nwindow %d, batch %d up to 8 KiB, %d repeats after %d warmups; every size verified\n\n",
                 lane->window, lane->batch, lane->repeats, lane->warmups);
}

/* Collective. Rank 0 prints and writes; the exit status of all ranks. */
static int report(const struct run *run, const struct evidence_list *evidence,
                  const struct series_list *list) {
    struct problem problem = {0};
    if (check_rank() == 0) {
        struct document document = {program, write_parameters, run, evidence, list};
        print_heading(run, evidence);
        table_print(list);
        if (run->config.json)
            output_write(run->config.json, &document, &problem);
    }
    return problem_agree(&problem, program) ? EXIT_NOT_WRITTEN : EXIT_SUCCESS;
}

static int run_hops(const struct run *run) {
    struct series_list list = {0};
    struct evidence_list evidence;
    evidence_gather(&evidence);
    int status = run_pairs(run, &evidence, &list) ? report(run, &evidence, &list) : EXIT_DATA_WRONG;
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
        return outcome == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    int status = run_settled(&run);
    coordinates_free(&run.coordinates);
    pairs_free(&run.pairs);
    return status;
}

int main(int argc, char **argv) {
    check_mpi_init(&argc, &argv);
    int status = run(argc, argv);
    MPI_CHECK(MPI_Finalize());
    return status;
}
