/*
 * congestor: traffic that fills a network while another program, the victim, is measured.
 *
 * Sends rounds of one pattern (patterns.h) until a stop file appears, a time limit passes, or --rounds are
 * sent. It creates a file when the load has started. It records the time of every round, so it can also be
 * the victim: with --rounds and a small message it measures an allreduce of 8 bytes. One round before and one
 * after the timed ones are verified.
 *
 * With --beside it is both: the last ranks send another pattern until the first ranks have finished. A victim
 * under load can then run where only one program can, such as in a simulation.
 *
 * After GPCNeT's congestors (Chunduri et al., SC'19). Leaves out: the victim, and starting both programs
 * (`railyard launch-roles`).
 */
#include "congestor/patterns.h"
#include "counters/nics.h"
#include "engine/benchmark.h"
#include "lib/measure/clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds between two checks for the stop file. Each check is a broadcast, during which the load pauses. */
static const double look_s = 0.05;

/* With --beside a check is cheap, and the ranks that send the second pattern must not run ahead of the
 * others. */
enum { SAMPLES_ROOM = 1 << 16, BATCH_MOST = 1 << 20, BATCH_BESIDE = 4 };

enum end { GOES_ON, BY_ROUNDS, BY_STOP, BY_LIMIT };
static const char *const end_names[] = {"", "rounds", "stop", "limit"};

/* The options. */
struct config {
    const struct load_pattern *pattern;
    struct load_size size;
    int rounds; /* 0: until the stop file or the limit */
    int warmups;
    double limit_s;
    uint64_t seed;
    const char *ready; /* NULL: none; as the next two */
    const char *stop;
    const char *json;
    const struct load_pattern *beside; /* second pattern, sent by the last `beside_ranks` ranks; NULL: none */
    struct load_size beside_size;
    int beside_ranks;
};

struct congestor {
    struct config config;
    struct load_ranks ranks; /* the ranks that send this load */
    struct load load;
    double *round_s; /* times of this rank's rounds; at the end, on rank 0, those of the slowest rank */
    int kept;        /* how many of them are recorded: the first SAMPLES_ROOM rounds */
    int rounds;
    double elapsed_s;
    enum end end;
    int beside_rounds; /* rounds of the second pattern, known to all ranks */
};

enum { TAG_ENDED = 25 };

/* Returns the first rank of the second pattern; the number of ranks without --beside. */
static int first_beside(const struct config *config) {
    return check_ranks() - (config->beside ? config->beside_ranks : 0);
}

static bool is_beside(const struct config *config) {
    return check_rank() >= first_beside(config);
}

/* ---- options ---- */

#define FIELD(name) offsetof(struct config, name)

static const struct option_row rows[] = {
    ROW_NAMES("pattern", "NAME", "alltoall", LOAD_PATTERN_NAMES, "traffic pattern of a round", FIELD(pattern),
              options_row, load_patterns),
    ROW("size", "BYTES", "64KiB", "8B to 64MiB in whole numbers of 8 B", "message size", parse_size,
        FIELD(size.bytes)),
    ROW("window", "COUNT", "8", "1 to 64", "messages in flight (incast and permutation only)", parse_count,
        FIELD(size.in_flight)),
    ROW("rounds", "COUNT", "0", "0 (until --stop or --limit) to 1000000", "number of rounds", parse_count0,
        FIELD(rounds)),
    ROW_WARMUPS("1", "untimed rounds before", FIELD(warmups)),
    ROW("limit", "SECONDS", "600", "0 to 1000000", "end after this time", parse_seconds, FIELD(limit_s)),
    ROW_ABSENT("ready", "FILE", "none", "a path that can be written",
               "file that rank 0 creates when the load has started, after the untimed rounds", parse_text,
               FIELD(ready)),
    ROW_ABSENT("stop", "FILE", "none", "a path", "end when this file exists", parse_text, FIELD(stop)),
    ROW_ABSENT_NAMES("beside", "NAME", "none", LOAD_PATTERN_NAMES,
                     "second pattern, sent by the last ranks until the first ranks have finished",
                     FIELD(beside), options_row, load_patterns),
    ROW("beside-size", "BYTES", "64KiB", "8B to 64MiB in whole numbers of 8 B",
        "message size of the second pattern", parse_size, FIELD(beside_size.bytes)),
    ROW("beside-window", "COUNT", "8", "1 to 64", "messages in flight of the second pattern", parse_count,
        FIELD(beside_size.in_flight)),
    ROW("beside-ranks", "COUNT", "2", "2 to all ranks but two",
        "number of ranks that send the second pattern", parse_count, FIELD(beside_ranks)),
    ROW_SEED(FIELD(seed)),
    ROW_JSON(FIELD(json)),
};

enum { LEAST_BYTES = 8, MOST_BYTES = 1 << 26, WINDOW_MOST = 64 };

static void settle_size(const char *prefix, const struct load_size *size, struct problem *problem) {
    if (size->bytes < LEAST_BYTES || size->bytes > MOST_BYTES || size->bytes % sizeof(double) != 0)
        problem_set(problem, "--%ssize %zuB: not a message; valid: 8B to 64MiB in whole numbers of 8 B",
                    prefix, size->bytes);
    else if (size->in_flight > WINDOW_MOST)
        problem_set(problem, "--%swindow %d: too many; valid: 1 to %d", prefix, size->in_flight, WINDOW_MOST);
}

static void settle(void *configuration, const struct options_given *given, struct problem *problem) {
    const struct config *config = configuration;
    (void)given;
    settle_size("", &config->size, problem);
    if (!problem_is_set(problem))
        settle_size("beside-", &config->beside_size, problem);
    if (problem_is_set(problem))
        return;
    if (config->beside && (config->beside_ranks < 2 || check_ranks() - config->beside_ranks < 2))
        problem_set(problem, "--beside-ranks %d of %d: no two programs; valid: 2 to all ranks but two",
                    config->beside_ranks, check_ranks());
    else if (check_ranks() < 2)
        problem_set(problem, "1 rank sends nothing; valid: 2 ranks or more");
}

/* ---- rounds ---- */

static void verify(void *state, struct problem *problem) {
    struct congestor *congestor = state;
    if (!load_verified_round(&congestor->load))
        problem_set(problem, "data are wrong, no time is printed: pattern %s on rank %d",
                    congestor->load.pattern->name, check_rank());
}

static void timed_round(struct congestor *congestor) {
    double start_s = clock_now_s();
    congestor->load.pattern->round(&congestor->load);
    if (congestor->kept < SAMPLES_ROOM)
        congestor->round_s[congestor->kept++] = clock_now_s() - start_s;
    congestor->rounds++;
}

/* On the first rank of a pattern; that of the second checks whether the first ranks have finished. */
static enum end look(const struct congestor *congestor, double begun_s) {
    const struct config *config = &congestor->config;
    if (is_beside(config)) {
        int ended = 0;
        MPI_CHECK(MPI_Iprobe(0, TAG_ENDED, MPI_COMM_WORLD, &ended, MPI_STATUS_IGNORE));
        return ended ? BY_STOP : GOES_ON;
    }
    if (config->stop && access(config->stop, F_OK) == 0)
        return BY_STOP;
    if (clock_now_s() - begun_s >= config->limit_s)
        return BY_LIMIT;
    return config->rounds && congestor->rounds >= config->rounds ? BY_ROUNDS : GOES_ON;
}

/* Collective. Returns why the load ends, or sets the number of rounds until the next check. */
static enum end look_together(struct congestor *congestor, double begun_s, int *batch) {
    int word[] = {GOES_ON, 1};
    if (congestor->load.rank == 0) {
        double round_s = (clock_now_s() - begun_s) / fmax(1, congestor->rounds);
        double rounds = congestor->rounds ? look_s / fmax(round_s, 1e-9) : 1;
        word[0] = (int)look(congestor, begun_s);
        word[1] = (int)fmin(fmax(1, rounds), is_beside(&congestor->config) ? BATCH_BESIDE : BATCH_MOST);
        if (congestor->config.rounds && !is_beside(&congestor->config))
            word[1] = (int)fmin(word[1], congestor->config.rounds - congestor->rounds);
    }
    MPI_CHECK(MPI_Bcast(word, 2, MPI_INT, 0, congestor->load.comm));
    *batch = word[1];
    return (enum end)word[0];
}

/* Collective. */
static void send_rounds(struct congestor *congestor) {
    int batch = 0;
    congestor->round_s = check_alloc(SAMPLES_ROOM, sizeof(double));
    /* The first ranks start after one round of the second pattern, so that all rounds are under load. */
    if (congestor->config.beside) {
        if (is_beside(&congestor->config))
            timed_round(congestor);
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    }
    double begun_s = clock_now_s();
    while ((congestor->end = look_together(congestor, begun_s, &batch)) == GOES_ON)
        for (int i = 0; i < batch; i++)
            timed_round(congestor);
    congestor->elapsed_s = clock_now_s() - begun_s;
    /* After the first ranks have finished: stops the second pattern and shares its number of rounds with all
     * ranks. */
    const struct config *config = &congestor->config;
    int sent = is_beside(config) ? congestor->rounds : 0;
    if (config->beside && check_rank() == 0)
        MPI_CHECK(MPI_Send(NULL, 0, MPI_BYTE, first_beside(config), TAG_ENDED, MPI_COMM_WORLD));
    if (config->beside && check_rank() == first_beside(config))
        MPI_CHECK(MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_ENDED, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_CHECK(MPI_Allreduce(&sent, &congestor->beside_rounds, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Reduce(congestor->load.rank == 0 ? MPI_IN_PLACE : congestor->round_s, congestor->round_s,
                         congestor->kept, MPI_DOUBLE, MPI_MAX, 0, congestor->load.comm));
}

static uint64_t round_bytes(const struct congestor *congestor) {
    const struct load *load = &congestor->load;
    return load->pattern->round_bytes((uint64_t)load->ranks, load->bytes) * (uint64_t)load->in_flight;
}

/* Collective. Counts the NICs only during the load, instead of the engine. */
static int measure(void *state, const struct evidence_list *evidence, struct series_list *list) {
    struct congestor *congestor = state;
    for (int i = 0; !is_beside(&congestor->config) && i < congestor->config.warmups; i++)
        congestor->load.pattern->round(&congestor->load);
    struct nics *nics = nics_begin();
    /* Creates the file that reports that the load has started; false, after a message, if it cannot be
     * written. */
    struct problem problem = {0};
    FILE *file = congestor->config.ready && check_rank() == 0 ? fopen(congestor->config.ready, "w") : NULL;
    if (congestor->config.ready && check_rank() == 0 && (!file || fclose(file) != 0))
        problem_set(&problem, "--ready %s: cannot be written: %s", congestor->config.ready, strerror(errno));
    bool ready = !problem_agree(&problem, benchmark.options.program);
    if (ready)
        send_rounds(congestor);
    nics_end(nics);
    if (ready && check_rank() == 0 && congestor->rounds > 0) {
        double rate_gbyte_s =
            1e-9 * (double)round_bytes(congestor) * congestor->rounds / congestor->elapsed_s;
        struct series series = {.fom = {"round_us", "us", BETTER_LOWER}, .count = congestor->kept};
        series_label(&series, "pattern", congestor->load.pattern->name, 0);
        series_label(&series, "size_bytes", NULL, (int64_t)congestor->load.bytes);
        for (int i = 0; i < congestor->kept; i++)
            congestor->round_s[i] *= 1e6;
        series_add_copy(list, series, congestor->round_s);
        series.fom = (struct fom){"aggregate_bandwidth_gbyte_s", "GB/s", BETTER_HIGHER};
        series_add_one(list, series, rate_gbyte_s);
    }
    (void)evidence;
    return ready ? EXIT_SUCCESS : EXIT_NOT_WRITTEN;
}

/* Collective. The ranks of each pattern have their own communicator. */
static bool prepare(void *state) {
    struct congestor *congestor = state;
    const struct config *config = &congestor->config;
    bool beside = is_beside(config);
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, beside, check_rank(), &congestor->ranks.comm));
    congestor->ranks.seed = config->seed;
    load_open(&congestor->load, beside ? config->beside : config->pattern,
              beside ? &config->beside_size : &config->size, congestor->ranks);
    return true;
}

static void release(void *state) {
    struct congestor *congestor = state;
    load_close(&congestor->load);
    MPI_CHECK(MPI_Comm_free(&congestor->ranks.comm));
    free(congestor->round_s);
}

/* ---- print and write ---- */

static void write_parameters(struct json *json, const void *state) {
    const struct congestor *congestor = state;
    json_key_text(json, "pattern", congestor->load.pattern->name);
    json_key_integer(json, "size_bytes", (int64_t)congestor->load.bytes);
    json_key_integer(json, "window", congestor->load.in_flight);
    json_key_integer(json, "rounds", congestor->config.rounds);
    json_key_integer(json, "warmups", congestor->config.warmups);
    json_key_unsigned(json, "seed", congestor->config.seed);
    json_key_integer(json, "rounds_sent", congestor->rounds);
    json_key_unsigned(json, "round_bytes", round_bytes(congestor));
    json_key_double(json, "elapsed_s", congestor->elapsed_s);
    json_key_text(json, "ended_by", end_names[congestor->end]);
    if (!congestor->config.beside)
        return;
    json_key_text(json, "beside", congestor->config.beside->name);
    json_key_integer(json, "beside_size_bytes", (int64_t)congestor->config.beside_size.bytes);
    json_key_integer(json, "beside_window", congestor->config.beside_size.in_flight);
    json_key_integer(json, "beside_ranks", congestor->config.beside_ranks);
    json_key_integer(json, "beside_rounds_sent", congestor->beside_rounds);
}

static void print_heading(const void *state) {
    const struct congestor *congestor = state;
    (void)printf(
        "\n%d rounds of %llu bytes of payload in %.3g s, ended by %s; first and last round verified\n\n",
        congestor->rounds, (unsigned long long)round_bytes(congestor), congestor->elapsed_s,
        end_names[congestor->end]);
}

const struct benchmark benchmark = {
    .options =
        {.program = "congestor",
         .purpose =
             "traffic that fills a network while another program is measured, and the time of each round",
         OPTION_ROWS(rows),
         .settle = settle},
    .state_bytes = sizeof(struct congestor),
    .prepare = prepare,
    .verify = verify,
    .measure = measure,
    .release = release,
    .counts_nics = true,
    .write_parameters = write_parameters,
    .print_heading = print_heading,
};
