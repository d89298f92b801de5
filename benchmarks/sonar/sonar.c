/*
 * sonar: compares network counters with messages of known size, and computes the payload's share of the
 * counted bytes.
 *
 * Models section V of Pedretti et al., "Using the Cray Gemini Performance Counters" (CUG'13): a known "ping"
 * between two nodes, counters read before and after (librailyard-counters). The first and the last rank
 * exchange; all others sleep. A ping is one message (send), one MPI_Put (put) or one MPI_Get (get) of random
 * or zero bytes. The counts of an equally long silence are subtracted.
 *
 * Leaves out: counters of the routers in between (the library prints those for a group of routers), and
 * distinguishing the traffic of other programs from the ping's.
 */
#include "counters/railyard-counters.h"
#include "engine/benchmark.h"
#include "lib/measure/idle.h"
#include "lib/measure/payload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

enum mode { MODE_SEND, MODE_PUT, MODE_GET, MODES };

enum payload { PAYLOAD_RANDOM, PAYLOAD_ZERO, PAYLOADS };

struct config {
    bool modes[MODES];
    bool payloads[PAYLOADS];
    struct number_list sizes;
    int pings;
    int repeats;
    double settle_s;
    const char *group;
    const char *root;
    uint64_t seed;
    const char *json;
};

static const char *const mode_names[MODES] = {"send", "put", "get"};
static const char *const payload_names[PAYLOADS] = {"random", "zero"};

static bool parse_ping_sizes(const char *text, void *field) {
    struct number_list sizes;
    if (!parse_sizes(text, &sizes))
        return false;
    for (int i = 0; i < sizes.count; i++)
        if (sizes.value[i] == 0)
            return false;
    memcpy(field, &sizes, sizeof sizes);
    return true;
}

#define FIELD(name) offsetof(struct config, name)

static const struct option_row rows[] = {
    ROW_NAMES("pings", "LIST", "send", "send, put, get", "kinds of ping", FIELD(modes), options_some,
              mode_names),
    ROW_NAMES("payloads", "LIST", "random,zero", "random, zero", "data of a ping", FIELD(payloads),
              options_some, payload_names),
    ROW("sizes", "LIST", "1-1MiB", "sizes and ranges (powers of two) from 1 B, with B, KiB or MiB",
        "bytes per ping", parse_ping_sizes, FIELD(sizes)),
    ROW("count", "COUNT", "10", "1 to 1000000", "pings between two readings", parse_count, FIELD(pings)),
    ROW("repeats", "COUNT", "5", "1 to 1000000", "measurements of each size", parse_count, FIELD(repeats)),
    ROW("settle", "SECONDS", "0.05", "0 to 1000000", "pause before the second reading, for late answers",
        parse_seconds, FIELD(settle_s)),
    ROW("group", "NAME", "auto",
        "a counter group of nodes, a file with a slash in its name, or auto (the fabric of rank 0's node)",
        "counters to read", parse_text, FIELD(group)),
    ROW_ABSENT("root", "FOLDER", "RAILYARD_COUNTERS_ROOT, or /", "a folder",
               "folder below which the group's paths are", parse_text, FIELD(root)),
    ROW_SEED(FIELD(seed)),
    ROW_JSON(FIELD(json)),
};

static void settle(void *configuration, const struct options_given *given, struct problem *problem) {
    (void)configuration;
    (void)given;
    if (check_ranks() < 2)
        problem_set(problem, "1 rank: a ping goes from one node to another; expected 2 ranks or more");
}

static size_t largest_size(const struct config *config) {
    size_t largest = 0;
    for (int i = 0; i < config->sizes.count; i++)
        if (config->sizes.value[i] > largest)
            largest = config->sizes.value[i];
    return largest;
}

/* ---- the ends ---- */

enum { TAG_PING = 41, TAG_SYNC = 42, METRICS = 4 };

/* Metrics that every counter group of nodes has. */
static const char *const metric_names[METRICS] = {"sent_bytes", "received_bytes", "sent_packets",
                                                  "received_packets"};

/* The counts of the two ends: source, then destination. */
struct echo {
    double seen[2][METRICS];
};

struct sonar {
    struct config config;
    railyard_counters *counters;
    MPI_Win window; /* MPI_WIN_NULL: no one-sided pings, or an MPI that has none on this network */
    char *local;
    char *remote;
    int source;
    int destination;
    int measured; /* points, and those whose data were right */
    int verified;
    const struct evidence_list *evidence;
};

static bool takes_part(const struct sonar *sonar) {
    return check_rank() == sonar->source || check_rank() == sonar->destination;
}

/* ---- pings ---- */

static void fill(const struct sonar *sonar, char *buffer, size_t bytes, int payload) {
    if (payload == PAYLOAD_ZERO)
        memset(buffer, 0, bytes);
    else
        payload_fill(buffer, bytes, payload_key(sonar->config.seed, 0, (uint64_t)sonar->source, 0));
}

static void ping_send(struct sonar *sonar, int bytes) {
    if (check_rank() == sonar->source)
        MPI_CHECK(MPI_Send(sonar->local, bytes, MPI_CHAR, sonar->destination, TAG_PING, MPI_COMM_WORLD));
    if (check_rank() == sonar->destination)
        MPI_CHECK(MPI_Recv(sonar->remote, bytes, MPI_CHAR, sonar->source, TAG_PING, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
}

/* A put is called at the source of the data, a get at the destination. */
static void ping_put(struct sonar *sonar, int bytes) {
    if (check_rank() != sonar->source)
        return;
    MPI_CHECK(MPI_Put(sonar->local, bytes, MPI_CHAR, sonar->destination, 0, bytes, MPI_CHAR, sonar->window));
    MPI_CHECK(MPI_Win_flush(sonar->destination, sonar->window));
}

static void ping_get(struct sonar *sonar, int bytes) {
    if (check_rank() != sonar->destination)
        return;
    MPI_CHECK(MPI_Get(sonar->remote, bytes, MPI_CHAR, sonar->source, 0, bytes, MPI_CHAR, sonar->window));
    MPI_CHECK(MPI_Win_flush(sonar->source, sonar->window));
}

static void (*const ping_by[MODES])(struct sonar *, int) = {ping_send, ping_put, ping_get};

/* Both ends leave together. */
static void meet(const struct sonar *sonar) {
    int peer = check_rank() == sonar->source ? sonar->destination : sonar->source;
    MPI_CHECK(MPI_Sendrecv(NULL, 0, MPI_CHAR, peer, TAG_SYNC, NULL, 0, MPI_CHAR, peer, TAG_SYNC,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* In the separate memory model a window's owner and its peers see each other's stores only after this. */
static void sync_window(const struct sonar *sonar) {
    if (sonar->window != MPI_WIN_NULL)
        MPI_CHECK(MPI_Win_sync(sonar->window));
}

/* ---- one sounding ---- */

/* Sends all pings of a measurement; returns its seconds on this rank. */
static double ping_all(struct sonar *sonar, int mode, size_t bytes) {
    sync_window(sonar);
    meet(sonar);
    double begun_s = MPI_Wtime();
    for (int i = 0; i < sonar->config.pings; i++)
        ping_by[mode](sonar, (int)bytes);
    double seconds = MPI_Wtime() - begun_s;
    meet(sonar);
    sync_window(sonar);
    return seconds;
}

/* Collective. Reads counters before and after the pings, or before and after a silence of *seconds, which the
 * pings set; the result is on rank 0. False if counters failed. */
static bool sound(struct sonar *sonar, int mode, size_t bytes, double *seconds, struct echo *echo) {
    double seen[METRICS] = {0};
    if (railyard_counters_read(sonar->counters) != 0)
        return false;
    if (takes_part(sonar)) {
        if (*seconds < 0) {
            *seconds = ping_all(sonar, mode, bytes);
        } else {
            /* A measurement without pings, of the same duration, because the traffic of other programs grows
             * with time. */
            meet(sonar);
            idle_sleep(*seconds);
            meet(sonar);
        }
        idle_sleep(sonar->config.settle_s); /* acknowledgements may come late */
    }
    idle_barrier();
    if (railyard_counters_read(sonar->counters) != 0)
        return false;
    if (takes_part(sonar))
        for (int m = 0; m < METRICS; m++)
            seen[m] = railyard_counters_total(sonar->counters, metric_names[m]);
    memcpy(echo->seen[0], seen, sizeof seen); /* the source is rank 0 */
    if (check_rank() == sonar->destination)
        MPI_CHECK(MPI_Send(seen, METRICS, MPI_DOUBLE, 0, TAG_SYNC, MPI_COMM_WORLD));
    if (check_rank() == 0)
        MPI_CHECK(MPI_Recv(echo->seen[1], METRICS, MPI_DOUBLE, sonar->destination, TAG_SYNC, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
    return true;
}

/* Returns the counts of one ping beyond those of silence, at least 0. NaN if the group has no such metric or
 * a counter went backwards; fmax alone would return 0. */
static double per_ping(const struct sonar *sonar, const struct echo *with, const struct echo *without,
                       int end, int metric) {
    double added = with->seen[end][metric] - without->seen[end][metric];
    return isnan(added) ? added : fmax(0, added) / sonar->config.pings;
}

/* ---- are the data right? ---- */

static bool verify_point(struct sonar *sonar, int mode, int payload, size_t bytes) {
    struct problem problem = {0};
    char *expected = check_alloc(bytes, 1);
    fill(sonar, expected, bytes, payload);
    if (check_rank() == sonar->destination) {
        payload_test_fault(sonar->remote, bytes, check_rank());
        if (memcmp(sonar->remote, expected, bytes) != 0)
            problem_set(&problem, "data are wrong, nothing is printed: rank %d, %s of %zu bytes",
                        check_rank(), mode_names[mode], bytes);
    }
    free(expected);
    bool good = !problem_agree(&problem, benchmark.options.program);
    sonar->measured++;
    sonar->verified += good;
    return good;
}

static void verify(void *state, struct problem *problem) {
    const struct sonar *sonar = state;
    if (sonar->verified < sonar->measured)
        problem_set(problem, "data are wrong, nothing is printed");
}

/* ---- series ---- */

static struct series point_series(const struct sonar *sonar, struct fom fom, int mode, int payload,
                                  size_t bytes) {
    return (struct series){
        .fom = fom,
        .label_count = 3,
        .labels = {{"ping", mode_names[mode], 0},
                   {"payload", payload_names[payload], 0},
                   {"size_bytes", NULL, (int64_t)bytes}},
        .samples = check_alloc((size_t)sonar->config.repeats, sizeof(double)),
    };
}

/* The figures of merit of a point: four metrics at each end, and the efficiency at the source. */
enum { EFFICIENCY = 2 * METRICS, FOMS };

static const struct fom foms[FOMS] = {
    {"source_sent_bytes", "bytes", BETTER_LOWER},
    {"source_received_bytes", "bytes", BETTER_LOWER},
    {"source_sent_packets_count", "count", BETTER_NEITHER},
    {"source_received_packets_count", "count", BETTER_NEITHER},
    {"destination_sent_bytes", "bytes", BETTER_LOWER},
    {"destination_received_bytes", "bytes", BETTER_LOWER},
    {"destination_sent_packets_count", "count", BETTER_NEITHER},
    {"destination_received_packets_count", "count", BETTER_NEITHER},
    {"efficiency_percent", "%", BETTER_NEITHER},
};

static void add_sample(struct series *series, double value) {
    if (!isnan(value))
        series->samples[series->count++] = value;
}

static void keep(const struct sonar *sonar, const struct echo *with, const struct echo *without, size_t bytes,
                 struct series *series) {
    for (int end = 0; end < 2; end++)
        for (int m = 0; m < METRICS; m++)
            add_sample(&series[end * METRICS + m], per_ping(sonar, with, without, end, m));
    double counted = per_ping(sonar, with, without, 0, 0) + per_ping(sonar, with, without, 0, 1);
    add_sample(&series[EFFICIENCY], (counted >= (double)bytes ? 100 * (double)bytes / counted : (double)NAN));
}

/* Collective. One mode, payload and size; false on all ranks when counters failed or data were wrong. */
static bool measure_point(struct sonar *sonar, int mode, int payload, size_t bytes,
                          struct series_list *list) {
    struct series series[FOMS];
    struct echo silence = {0};
    struct echo echo = {0};
    for (int fom = 0; fom < FOMS; fom++)
        series[fom] = point_series(sonar, foms[fom], mode, payload, bytes);
    fill(sonar, sonar->local, bytes, payload);
    memset(sonar->remote, 1, bytes);
    bool good = true;
    for (int repeat = 0; good && repeat < sonar->config.repeats; repeat++) {
        double seconds = -1;
        good = sound(sonar, mode, bytes, &seconds, &echo) && sound(sonar, mode, bytes, &seconds, &silence);
        if (good && check_rank() == 0)
            keep(sonar, &echo, &silence, bytes, series);
    }
    for (int fom = 0; fom < FOMS; fom++) {
        if (series[fom].count == 0) {
            free(series[fom].samples);
            series[fom].samples = NULL;
            series[fom].reason = fom == EFFICIENCY
                                     ? "the counters saw less than the payload: they count another network"
                                     : "the counter group has no such metric, or a counter went backwards";
        }
        series_add(list, series[fom]);
    }
    return verify_point(sonar, mode, payload, bytes) && good;
}

static bool measure_mode(struct sonar *sonar, int mode, struct series_list *list) {
    const struct config *config = &sonar->config;
    for (int payload = 0; payload < PAYLOADS; payload++)
        for (int i = 0; config->payloads[payload] && i < config->sizes.count; i++)
            if (!measure_point(sonar, mode, payload, config->sizes.value[i], list))
                return false;
    return true;
}

static int measure(void *state, const struct evidence_list *evidence, struct series_list *list) {
    struct sonar *sonar = state;
    bool good = true;
    for (int mode = 0; good && mode < MODES; mode++) {
        if (!sonar->config.modes[mode])
            continue;
        if (mode != MODE_SEND && sonar->window == MPI_WIN_NULL)
            series_add(list, (struct series){.fom = foms[EFFICIENCY],
                                             .label_count = 1,
                                             .labels = {{"ping", mode_names[mode], 0}},
                                             .reason = "this MPI makes no window on this network"});
        else
            good = measure_mode(sonar, mode, list);
    }
    sonar->evidence = evidence;
    return good ? EXIT_SUCCESS : EXIT_DATA_WRONG;
}

/* ---- print and write ---- */

static void write_parameters(struct json *json, const void *state) {
    const struct sonar *sonar = state;
    const struct config *config = &sonar->config;
    json_key_text(json, "group", railyard_counters_group(sonar->counters));
    parameters_numbers(json, "sizes_bytes", &config->sizes);
    json_key_integer(json, "pings", config->pings);
    json_key_integer(json, "repeats", config->repeats);
    json_key_double(json, "settle_s", config->settle_s);
    json_key_unsigned(json, "seed", config->seed);
}

static void print_heading(const void *state) {
    const struct sonar *sonar = state;
    (void)printf(
        ": %s to %s, counter group %s; %d pings per measurement, silence subtracted, data verified\n\n",
        evidence_host_of(sonar->evidence, sonar->source),
        evidence_host_of(sonar->evidence, sonar->destination), railyard_counters_group(sonar->counters),
        sonar->config.pings);
}

/* ---- set up ---- */

/* Collective. Both ends must be leaders, because two ranks of one node share its counters. */
static bool both_lead(const struct sonar *sonar) {
    struct problem problem = {0};
    if (takes_part(sonar) && !railyard_counters_leads(sonar->counters))
        problem_set(&problem, "ranks 0 and %d share a node and its counters; expected ranks on two nodes",
                    sonar->destination);
    return !problem_agree(&problem, benchmark.options.program);
}

/* Collective. All ranks have the window, or none: an MPI may fail on some only. */
static void open_window(struct sonar *sonar) {
    int created = 0;
    int created_by_all = 0;
    size_t bytes = largest_size(&sonar->config);
    char *exposed = check_rank() == sonar->destination ? sonar->remote : sonar->local;
    if (!sonar->config.modes[MODE_PUT] && !sonar->config.modes[MODE_GET])
        return;
    created = MPI_Win_create(exposed, takes_part(sonar) ? (MPI_Aint)bytes : 0, 1, MPI_INFO_NULL,
                             MPI_COMM_WORLD, &sonar->window) == MPI_SUCCESS;
    MPI_CHECK(MPI_Allreduce(&created, &created_by_all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (!created_by_all) {
        sonar->window = MPI_WIN_NULL; /* ranks that made it cannot free it alone */
        return;
    }
    MPI_CHECK(MPI_Win_set_errhandler(sonar->window, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Win_lock_all(0, sonar->window));
}

static bool prepare(void *state) {
    struct sonar *sonar = state;
    struct railyard_counters_options options = {.group = sonar->config.group, .root = sonar->config.root};
    size_t bytes = largest_size(&sonar->config);
    sonar->destination = check_ranks() - 1;
    sonar->window = MPI_WIN_NULL;
    if (railyard_counters_init(MPI_COMM_WORLD, &options, &sonar->counters) != 0 || !both_lead(sonar))
        return false;
    sonar->local = check_alloc_pages(bytes);
    sonar->remote = check_alloc_pages(bytes);
    open_window(sonar);
    return true;
}

static void release(void *state) {
    struct sonar *sonar = state;
    if (sonar->window != MPI_WIN_NULL) {
        MPI_CHECK(MPI_Win_unlock_all(sonar->window));
        MPI_CHECK(MPI_Win_free(&sonar->window));
    }
    free(sonar->local);
    free(sonar->remote);
    if (sonar->counters)
        railyard_counters_free(&sonar->counters);
}

const struct benchmark benchmark = {
    .options = {.program = "sonar",
                .purpose = "network counters compared with messages of known size",
                OPTION_ROWS(rows),
                .settle = settle},
    .state_bytes = sizeof(struct sonar),
    .prepare = prepare,
    .verify = verify,
    .measure = measure,
    .release = release,
    .write_parameters = write_parameters,
    .print_heading = print_heading,
};
