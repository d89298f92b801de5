/*
 * rowcol: one collective in all rows, or in all planes, of a block of nodes at the same time.
 *
 * Models section 4.2 of Peña et al., "Analysis of Topology-Dependent MPI Performance on Gemini Networks"
 * (EuroMPI 2013): Alltoall and Allgather on communicators that are rows (X, Y, Z) or planes (XY, XZ, YZ) of a
 * cube, both nodes of a router counted along Y; and others. All ranks begin a sample together (measure.h),
 * then every split runs its collective. The time of a split is that of its slowest rank; the slowest split is
 * the figure of merit; the mean of all ranks, which Peña et al. print, and each split are recorded, too.
 *
 * Leaves out: measuring one split at a time.
 */
#include "engine/benchmark.h"
#include "rowcol/measure.h"

#include <math.h>
#include <stdlib.h>

/* ---- options ---- */

#define FIELD(name) offsetof(struct rowcol_config, name)

static const struct option_row rows[] = {
    ROW_COORDINATES("none: splits all", FIELD(coordinates)),
    ROW_ABSENT_NAMES("splits", "LIST", "X,Y,Z,XY,XZ,YZ; all without coordinates", "X, Y, Z, XY, XZ, YZ, all",
                     "rows and planes that run the collective at the same time", FIELD(ways), options_some,
                     split_ways),
    ROW_NAMES("collectives", "LIST", "alltoall,allgather,allreduce,bcast,barrier",
              "alltoall, allgather, allreduce, bcast, barrier, alltoallv, reduce-scatter, allreduce-float",
              "what to measure", FIELD(collectives), options_some, collectives),
    ROW_SIZES("8-64KiB", "bytes per pair (alltoall), per rank (allgather), or of the vector", FIELD(sizes)),
    ROW("batch", "COUNT", "1", "1 to 1000000", "consecutive collectives per sample", parse_count,
        FIELD(batch)),
    ROW_NAMES("start", "NAME", "auto", START_VALUES, "how all ranks start a sample", FIELD(start),
              options_one, start_names),
    ROW("late", "SECONDS", "1e-6", "above 0, like 1e-6",
        "drop a sample if a rank starts it later than agreed by more than this time, and ...", parse_positive,
        FIELD(late_s)),
    ROW("late-percent", "PERCENT", "1", "above 0 and below 100",
        "... by more than this percentage of the sample's time", parse_percent, FIELD(late_percent)),
    ROW_ABSENT("late-most", "PERCENT", "that of --late-percent", "above 0; at 100 every sample counts",
               "each dropped sample raises --late-percent by a tenth for this point, up to this value",
               parse_positive, FIELD(late_most_percent)),
    ROW_CLOCK(FIELD(clock_pings)),
    ROW_MEMORY(FIELD(memory)),
    ROW_REPEATS("20", "minimum number of samples per point", FIELD(sampling.repeats)),
    ROW_WARMUPS("2", "minimum number of untimed samples before", FIELD(sampling.warmups)),
    ROW_WARMUP_TIME(FIELD(sampling.warmup_s)),
    ROW_MIN_TIME(FIELD(sampling.min_time_s)),
    ROW_POINT_TIME(FIELD(sampling.point_time_s)),
    ROW_SEED(FIELD(sampling.seed)),
    ROW_JSON(FIELD(sampling.json)),
};

static void settle(void *configuration, const struct options_given *given, struct problem *problem) {
    struct rowcol_config *config = configuration;
    if (check_ranks() < 2)
        problem_set(problem, "1 rank: collectives are measured; expected 2 ranks or more");
    config->late_most_percent = fmax(config->late_most_percent, config->late_percent);
    for (int way = 0; way < SPLIT_WAYS; way++) {
        bool possible = config->coordinates || way == SPLIT_ALL;
        if (!options_given(given, "splits"))
            config->ways[way] = config->coordinates ? way != SPLIT_ALL : way == SPLIT_ALL;
        else if (config->ways[way] && !possible)
            problem_set(problem, "--splits %s: needs --coordinates FILE; valid without: all",
                        split_ways[way].name);
    }
    for (int c = 0; c < COLLECTIVES; c++)
        for (int i = 0;
             config->collectives[c] && collectives[c].multiple_bytes > 0 && i < config->sizes.count; i++) {
            size_t bytes = config->sizes.value[i];
            size_t multiple = collectives[c].multiple_bytes;
            if (bytes == 0 || bytes % multiple != 0)
                problem_set(problem, "--sizes %zu: %s; expected multiples of %zu B from %zu B", bytes,
                            collectives[c].name, multiple, multiple);
        }
    memory_open(&config->memory, problem);
}

enum { BUFFER_MAX = 1 << 30 };

/* ---- positions of the ranks ---- */

static bool is_measured(const struct run *run, int way) {
    return split_ranks(&run->standing, way) > 1;
}

static void check_memory(const struct run *run, struct problem *problem) {
    for (int way = 0; way < SPLIT_WAYS; way++)
        for (int i = 0; run->config.ways[way] && i < run->point_count; i++) {
            const struct point *point = &run->points[i];
            int ranks = split_ranks(&run->standing, way);
            size_t bytes = collective_bytes(point->collective, point->bytes, ranks);
            if (bytes > BUFFER_MAX)
                problem_set(
                    problem,
                    "--sizes %zu: %s of %d ranks (split %s) needs a buffer of %zu B; expected at most "
                    "%zu B",
                    point->bytes, point->collective->name, ranks, split_ways[way].name, bytes,
                    (size_t)BUFFER_MAX / (bytes / point->bytes));
        }
}

static void check_ways(const struct run *run, struct problem *problem) {
    for (int way = 0; way < SPLIT_WAYS; way++)
        if (run->config.ways[way] && is_measured(run, way))
            return;
    problem_set(problem,
                "--splits: every requested split has 1 rank; expected dimensions with 2 nodes or more");
}

/* ---- series ---- */

static const struct fom slowest = {"slowest_us", "us", BETTER_LOWER};

static double *part_of(const double *samples, int count) {
    double *part = check_alloc((size_t)count, sizeof *part);
    for (int i = 0; i < count; i++)
        part[i] = samples[i];
    return part;
}

/* The largest of all splits, sample by sample. */
static double *largest_of(double *const *splits_us, int splits, int offset, int count) {
    double *largest = part_of(splits_us[0] + offset, count);
    for (int split = 1; split < splits; split++)
        for (int i = 0; i < count; i++)
            if (splits_us[split][offset + i] > largest[i])
                largest[i] = splits_us[split][offset + i];
    return largest;
}

static void add_split(const struct run *run, int way, int split, const struct evidence_list *evidence,
                      struct series series, const double *samples, struct series_list *list) {
    int first = split_first(&run->standing, way, split);
    int last = split_last(&run->standing, way, split);
    series.fom = (struct fom){"split_us", "us", BETTER_LOWER};
    series.detail = true;
    series_label(&series, "from", evidence_host_of(evidence, first), 0);
    series_label(&series, "to", evidence_host_of(evidence, last), 0);
    series_add_copy(list, series, samples);
}

static void add_samples(struct series series, struct fom fom, const double *samples, bool detail,
                        struct series_list *list) {
    series.fom = fom;
    series.detail = detail;
    series_add_copy(list, series, samples);
}

/* Adds the times of a point as rates, if it moves data. */
static void add_rates(const struct point *point, int ranks, const double *samples_us, bool bus,
                      const char *name, struct series series, struct series_list *list) {
    if (!point->collective->bus_share)
        return;
    double share = bus ? point->collective->bus_share(ranks) : 1;
    double *rates = check_alloc((size_t)series.count, sizeof *rates);
    for (int i = 0; i < series.count; i++)
        rates[i] = share * collective_gbyte_s(point->collective, point->bytes, ranks, 1e-6 * samples_us[i]);
    add_samples(series, (struct fom){name, "GB/s", BETTER_HIGHER}, rates, true, list);
    free(rates);
}

static void add_one(struct series series, struct fom fom, double value, struct series_list *list) {
    series.fom = fom;
    series.detail = true;
    series_add_one(list, series, value);
}

/* The series of one point over all splits. */
static void add_point(const struct run *run, int way, const struct recording *recording, int index,
                      int offset, const double *largest, struct series series, struct series_list *list) {
    const struct point *point = &run->points[index];
    int ranks = split_ranks(&run->standing, way);
    add_samples(series, slowest, largest, false, list);
    add_samples(series, (struct fom){"mean_us", "us", BETTER_LOWER}, recording->mean_us + offset, false,
                list);
    add_rates(point, ranks, largest, false, "algorithmic_bandwidth_gbyte_s", series, list);
    add_rates(point, ranks, largest, true, "bus_bandwidth_gbyte_s", series, list);
    add_one(series, (struct fom){"calls_count", "count", BETTER_NEITHER}, (double)recording->calls[index],
            list);
    if (recording->start != START_CLOCK)
        return;
    add_one(series, (struct fom){"dropped_count", "count", BETTER_NEITHER}, recording->dropped[index], list);
    add_one(series, (struct fom){"latest_start_us", "us", BETTER_LOWER}, recording->latest_us[index], list);
}

/* On rank 0. Adds the slowest split of each point, the mean, then each split. */
static void add_way(const struct run *run, int way, const struct recording *recording,
                    double *const *splits_us, const struct evidence_list *evidence,
                    struct series_list *list) {
    int splits = split_count(&run->standing, way);
    int offset = 0;
    for (int i = 0; i < run->point_count; i++) {
        struct series series = {.fom = slowest, .count = recording->count[i]};
        series.label_count = 4;
        series.labels[0] = (struct label){"collective", run->points[i].collective->name, 0};
        series.labels[1] = (struct label){"split", split_ways[way].name, 0};
        series.labels[2] = (struct label){"ranks", NULL, split_ranks(&run->standing, way)};
        series.labels[3] = (struct label){"size_bytes", NULL, (int64_t)run->points[i].bytes};
        if (recording->count[i] == 0) {
            series.reason =
                "the ranks did not begin together in 3 samples; expected --start barrier, a longer --late, "
                "--late-percent or --late-most, or fewer ranks a CPU";
            series_add(list, series);
            continue;
        }
        double *largest = largest_of(splits_us, splits, offset, series.count);
        add_point(run, way, recording, i, offset, largest, series, list);
        free(largest);
        for (int split = 0; split < splits; split++)
            add_split(run, way, split, evidence, series, splits_us[split] + offset, list);
        offset += recording->count[i];
    }
}

enum { TAG_COUNT = 11, TAG_VALUES = 12 };

static double *receive(int from, int *count) {
    MPI_CHECK(MPI_Recv(count, 1, MPI_INT, from, TAG_COUNT, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    double *values = check_alloc((size_t)*count, sizeof *values);
    MPI_CHECK(MPI_Recv(values, *count, MPI_DOUBLE, from, TAG_VALUES, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return values;
}

/* Sends samples from the rank that took them to rank 0, which returns them, to be freed. */
static double *collect_doubles(int from, const double *values, int *count) {
    int rank = check_rank();
    if (rank == 0)
        return from == 0 ? part_of(values, *count) : receive(from, count);
    if (rank == from) {
        MPI_CHECK(MPI_Send(count, 1, MPI_INT, 0, TAG_COUNT, MPI_COMM_WORLD));
        MPI_CHECK(MPI_Send(values, *count, MPI_DOUBLE, 0, TAG_VALUES, MPI_COMM_WORLD));
    }
    return NULL;
}

static bool run_way(struct run *run, int way, const struct evidence_list *evidence,
                    struct series_list *list) {
    struct recording record;
    bool good = rowcol_measure(run, way, benchmark.options.program, &record);
    run->measured++;
    run->verified += good;
    if (good) {
        /* Every split's samples to rank 0, which makes series of them. */
        int splits = split_count(&run->standing, way);
        double **splits_us = check_alloc((size_t)splits, sizeof *splits_us);
        for (int split = 0; split < splits; split++) {
            int total = record.total;
            splits_us[split] =
                collect_doubles(split_first(&run->standing, way, split), record.samples_us, &total);
        }
        if (check_rank() == 0)
            add_way(run, way, &record, splits_us, evidence, list);
        for (int split = 0; split < splits; split++)
            free(splits_us[split]);
        free(splits_us);
    }
    run->start = record.start;
    run->clock_bound_s = fmax(run->clock_bound_s, record.clock_bound_s);
    run->clock_error_s = fmax(run->clock_error_s, record.clock_error_s);
    free(record.samples_us);
    free(record.mean_us);
    return good;
}

static int measure(void *state, const struct evidence_list *evidence, struct series_list *list) {
    struct run *run = state;
    for (int way = 0; way < SPLIT_WAYS; way++) {
        if (!run->config.ways[way])
            continue;
        if (!is_measured(run, way))
            series_add(list, (struct series){.fom = slowest,
                                             .label_count = 1,
                                             .labels = {{"split", split_ways[way].name, 0}},
                                             .reason = "1 rank in each split"});
        else if (!run_way(run, way, evidence, list))
            return EXIT_DATA_WRONG;
    }
    return EXIT_SUCCESS;
}

/* The data of each collective and size were compared before and after its samples (measure.c). */
static void verify(void *state, struct problem *problem) {
    const struct run *run = state;
    if (run->verified < run->measured)
        problem_set(problem, "data are wrong, no time is printed");
}

/* ---- print and write ---- */

static void write_parameters(struct json *json, const void *state) {
    const struct run *run = state;
    const struct standing *standing = &run->standing;
    parameters_torus(json, standing->path, &standing->coordinates);
    parameters_integers(json, "box_nodes", standing->box.length, standing->path ? TORUS_DIMENSIONS : 0);
    json_key_integer(json, "nodes_per_router", standing->lattice.nodes_per_router);
    json_key_integer(json, "ranks_per_node", standing->box.ranks_per_node);
    json_key_array(json, "splits");
    for (int way = 0; way < SPLIT_WAYS; way++)
        if (run->config.ways[way])
            json_text(json, split_ways[way].name);
    json_array_end(json);
    json_key_array(json, "collectives");
    for (int c = 0; c < COLLECTIVES; c++)
        if (run->config.collectives[c])
            json_text(json, collectives[c].name);
    json_array_end(json);
    parameters_numbers(json, "sizes_bytes", &run->config.sizes);
    json_key_integer(json, "batch", run->config.batch);
    json_key_text(json, "start", start_names[run->start]);
    json_key_double(json, "late_s", run->config.late_s);
    json_key_double(json, "late_percent", run->config.late_percent);
    json_key_double(json, "late_most_percent", run->config.late_most_percent);
    json_key_double(json, "clock_bound_us", 1e6 * run->clock_bound_s);
    json_key_double(json, "clock_error_us", 1e6 * run->clock_error_s);
    json_key_text(json, "memory", memory_name(&run->config.memory));
    parameters_sampling(json, &run->config.sampling);
    parameters_times(json, &run->config.sampling);
}

static void print_heading(const void *state) {
    const struct run *run = state;
    const struct box *box = &run->standing.box;
    if (run->standing.path)
        (void)printf(", %dx%dx%d nodes, %d per router (along Y), %d rank%s per node", box->length[0],
                     box->length[1], box->length[2], run->standing.lattice.nodes_per_router,
                     box->ranks_per_node, box->ranks_per_node > 1 ? "s" : "");
    (void)printf(
        "\nthe slowest of all simultaneous splits; every size verified; each split is in the JSON\n");
    (void)printf("start by %s; clocks within %.3g us of each other\n\n", start_names[run->start],
                 1e6 * run->clock_bound_s);
}

static bool prepare(void *state) {
    struct run *run = state;
    struct problem problem = {0};
    const struct rowcol_config *config = &run->config;
    for (int c = 0; c < COLLECTIVES; c++) {
        const struct collective *collective = &collectives[c];
        int sizes = collective->multiple_bytes > 0 ? config->sizes.count : 1;
        for (int i = 0; config->collectives[c] && i < sizes; i++)
            run->points[run->point_count++] =
                (struct point){collective, collective->multiple_bytes > 0 ? config->sizes.value[i] : 0};
    }
    char host[EVIDENCE_HOST_BYTES];
    struct standing *standing = &run->standing;
    standing->path = run->config.coordinates;
    if (standing->path) {
        evidence_host(host);
        coordinates_read(standing->path, host, &standing->coordinates, &problem);
    }
    if (problem_agree(&problem, benchmark.options.program))
        return false;
    if (standing->path) {
        lattice_make(&standing->coordinates, check_ranks(), &standing->lattice);
        box_find(&standing->lattice, &standing->coordinates, check_ranks(), standing->path, &standing->box,
                 &problem);
    }
    if (!problem_is_set(&problem)) {
        check_memory(run, &problem);
        check_ways(run, &problem);
    }
    return !problem_agree(&problem, benchmark.options.program);
}

static void release(void *state) {
    struct run *run = state;
    coordinates_free(&run->standing.coordinates);
    lattice_free(&run->standing.lattice);
}

const struct benchmark benchmark = {
    .options = {.program = "rowcol",
                .purpose = "collectives in all rows or planes of a block of nodes at the same time",
                OPTION_ROWS(rows),
                .settle = settle},
    .state_bytes = sizeof(struct run),
    .prepare = prepare,
    .verify = verify,
    .measure = measure,
    .release = release,
    .write_parameters = write_parameters,
    .print_heading = print_heading,
};
