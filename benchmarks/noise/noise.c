/*
 * noise: how much longer a fixed piece of work sometimes takes on each core, and what that costs an
 * application that synchronises after each piece.
 *
 * Models the fixed work quantum (FWQ): every rank does the same number of steps again and again, and whatever
 * exceeds its own shortest time is noise. Then all ranks do a quantum and an allreduce of 8 bytes in turn.
 * The slowest rank delays all of them, so noise of single cores is amplified with the number of ranks
 * (Hoefler et al., SC'10).
 *
 * Leaves out: the source of the noise, and a core that is slow all the time (its shortest time is longer).
 */
#include "engine/benchmark.h"
#include "lib/measure/clock.h"
#include "lib/measure/payload.h"

#include <math.h>
#include <stdlib.h>

enum { TRIALS = 20, DETAIL_RANKS = 1024 };

struct config {
    double quantum_s;
    int count;
    int repeats;
    const char *json;
};

/* The figures of merit of a repeat, over all ranks. */
enum { QUANTUM, MEAN_NOISE, WORST_NOISE, LONGEST_DELAY, ALLREDUCE, ITERATION, DELAY, AMPLIFICATION, FOMS };

static const struct fom foms[FOMS] = {
    {"quantum_us", "us", BETTER_LOWER},
    {"mean_noise_percent", "%", BETTER_NEITHER},
    {"worst_noise_percent", "%", BETTER_NEITHER},
    {"longest_delay_us", "us", BETTER_LOWER},
    {"allreduce_us", "us", BETTER_LOWER},
    {"iteration_us", "us", BETTER_LOWER},
    {"delay_us", "us", BETTER_LOWER},
    {"amplification_percent", "%", BETTER_NEITHER},
};

struct noise {
    struct config config;
    uint64_t steps;       /* steps per quantum, the same on all ranks */
    double *of_fom[FOMS]; /* one value per repeat */
    double *of_rank;      /* on rank 0: noise in percent, [rank * repeats + repeat] */
    double *own_percent;  /* this rank's noise, one value per repeat */
};

/* ---- options ---- */

#define FIELD(name) offsetof(struct config, name)

static const struct option_row rows[] = {
    ROW("quantum", "SECONDS", "1e-3", "above 0, like 1e-3", "undisturbed time of a piece of work",
        parse_positive, FIELD(quantum_s)),
    ROW("count", "COUNT", "1000", "1 to 1000000", "quanta, and allreduces, per repeat", parse_count,
        FIELD(count)),
    ROW("repeats", "COUNT", "10", "1 to 1000000", "repeats of all three measurements", parse_count,
        FIELD(repeats)),
    ROW_JSON(FIELD(json)),
};

static void settle(void *configuration, const struct options_given *given, struct problem *problem) {
    const struct config *config = configuration;
    (void)given;
    if (config->quantum_s > 10)
        problem_set(problem, "--quantum %g: longer than 10 s", config->quantum_s);
}

/* ---- work ---- */

/* Computes a chain of dependent steps that no compiler can shorten (xorshift64). */
static uint64_t work(uint64_t steps) {
    uint64_t value = UINT64_C(0x9e3779b97f4a7c15);
    for (uint64_t i = 0; i < steps; i++) {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    return value;
}

/* Returns the seconds of the work. The volatile value prevents the compiler from removing it. */
static double timed_work(uint64_t steps) {
    double start_s = clock_now_s();
    volatile uint64_t value = work(steps);
    (void)value;
    return clock_now_s() - start_s;
}

static uint64_t allreduced(uint64_t word) {
    uint64_t sum = 0;
    MPI_CHECK(MPI_Allreduce(&word, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    return sum;
}

/* Collective. Checks that every rank computes the same value and that the allreduce sums them correctly. */
static void verify(void *state, struct problem *problem) {
    const struct noise *noise = state;
    uint64_t ranks = (uint64_t)check_ranks();
    uint64_t own = work(noise->steps);
    payload_test_fault(&own, sizeof own, check_rank());
    if (allreduced(own) != ranks * work(noise->steps))
        problem_set(problem, "data are wrong, no time is printed: the sum over ranks of the same work");
}

static bool prepare(void *state) {
    struct noise *noise = state;
    uint64_t steps = 1000;
    double shortest_s = 0;
    while (shortest_s < noise->config.quantum_s / 4 && steps < UINT64_MAX / 4) {
        steps *= 2;
        shortest_s = timed_work(steps);
    }
    for (int i = 0; i < TRIALS; i++)
        shortest_s = fmin(shortest_s, timed_work(steps));
    steps = (uint64_t)fmax(1, (double)steps * noise->config.quantum_s / fmax(shortest_s, 1e-9));
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &steps, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD));
    noise->steps = steps;
    return true;
}

/* ---- measure ---- */

/* The quanta of this rank in one repeat. */
struct quanta {
    double shortest_s;
    double longest_s;
    double mean_s;
};

static struct quanta measure_quanta(const struct noise *noise) {
    struct quanta quanta = {.shortest_s = INFINITY};
    for (int i = 0; i < noise->config.count; i++) {
        double seconds = timed_work(noise->steps);
        quanta.shortest_s = fmin(quanta.shortest_s, seconds);
        quanta.longest_s = fmax(quanta.longest_s, seconds);
        quanta.mean_s += seconds / noise->config.count;
    }
    return quanta;
}

/* Collective. Returns this rank's mean seconds per iteration of `steps` of work and an allreduce. */
static double measure_allreduces(const struct noise *noise, uint64_t steps) {
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    double start_s = clock_now_s();
    for (int i = 0; i < noise->config.count; i++) {
        (void)timed_work(steps);
        (void)allreduced(1);
    }
    return (clock_now_s() - start_s) / noise->config.count;
}

static double reduced(double value, MPI_Op op) {
    double result = 0;
    MPI_CHECK(MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, op, MPI_COMM_WORLD));
    return result;
}

static void measure_repeats(struct noise *noise, struct series_list *list) {
    int repeats = noise->config.repeats;
    for (int fom = 0; fom < FOMS; fom++)
        noise->of_fom[fom] = check_alloc((size_t)repeats, sizeof(double));
    noise->own_percent = check_alloc((size_t)repeats, sizeof(double));
    (void)measure_allreduces(noise, noise->steps); /* untimed */
    for (int repeat = 0; repeat < repeats; repeat++) {
        series_begin_repeat(list, clock_date_s());
        /* Measures one repeat. The delay is the time of an iteration beyond the allreduce and the slowest
         * core's undisturbed quantum. */
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        struct quanta quanta = measure_quanta(noise);
        double own_delay_s = quanta.mean_s - quanta.shortest_s;
        double mean_delay_s = reduced(own_delay_s, MPI_SUM) / check_ranks();
        double allreduce_s = reduced(measure_allreduces(noise, 0), MPI_MAX);
        double iteration_s = reduced(measure_allreduces(noise, noise->steps), MPI_MAX);
        double delay_s = iteration_s - allreduce_s - reduced(quanta.shortest_s, MPI_MAX);
        double percent = 100 * own_delay_s / quanta.shortest_s;
        noise->own_percent[repeat] = percent;
        noise->of_fom[QUANTUM][repeat] = 1e6 * reduced(quanta.shortest_s, MPI_MIN);
        noise->of_fom[MEAN_NOISE][repeat] = reduced(percent, MPI_SUM) / check_ranks();
        noise->of_fom[WORST_NOISE][repeat] = reduced(percent, MPI_MAX);
        noise->of_fom[LONGEST_DELAY][repeat] = 1e6 * reduced(quanta.longest_s - quanta.shortest_s, MPI_MAX);
        noise->of_fom[ALLREDUCE][repeat] = 1e6 * allreduce_s;
        noise->of_fom[ITERATION][repeat] = 1e6 * iteration_s;
        noise->of_fom[DELAY][repeat] = 1e6 * fmax(0, delay_s);
        noise->of_fom[AMPLIFICATION][repeat] =
            100 * fmax(0, delay_s) / fmax(mean_delay_s, clock_tick_s() + 1e-12);
    }
    if (check_ranks() > DETAIL_RANKS)
        return;
    if (check_rank() == 0)
        noise->of_rank = check_alloc((size_t)check_ranks() * (size_t)repeats, sizeof(double));
    MPI_CHECK(MPI_Gather(noise->own_percent, repeats, MPI_DOUBLE, noise->of_rank, repeats, MPI_DOUBLE, 0,
                         MPI_COMM_WORLD));
}

static int measure(void *state, const struct evidence_list *evidence, struct series_list *list) {
    struct noise *noise = state;
    measure_repeats(noise, list);
    if (check_rank() == 0) {
        int repeats = noise->config.repeats;
        for (int fom = 0; fom < FOMS; fom++)
            series_add_copy(list, (struct series){.fom = foms[fom], .count = repeats}, noise->of_fom[fom]);
        for (int rank = 0; noise->of_rank && rank < evidence->ranks; rank++) {
            struct series series = {
                .fom = {"rank_noise_percent", "%", BETTER_NEITHER}, .count = repeats, .detail = true};
            series_label(&series, "rank", NULL, rank);
            series_label(&series, "host", evidence_host_of(evidence, rank), 0);
            series_add_copy(list, series, noise->of_rank + (size_t)rank * (size_t)repeats);
        }
    }
    return EXIT_SUCCESS;
}

static void release(void *state) {
    struct noise *noise = state;
    for (int fom = 0; fom < FOMS; fom++)
        free(noise->of_fom[fom]);
    free(noise->own_percent);
    free(noise->of_rank);
}

/* ---- print and write ---- */

static void write_parameters(struct json *json, const void *state) {
    const struct noise *noise = state;
    json_key_double(json, "quantum_s", noise->config.quantum_s);
    json_key_unsigned(json, "steps", noise->steps);
    json_key_integer(json, "count", noise->config.count);
    json_key_integer(json, "repeats", noise->config.repeats);
}

static void print_heading(const void *state) {
    const struct noise *noise = state;
    (void)printf("\n%d quanta of %llu steps per repeat; the work of all ranks verified\n\n",
                 noise->config.count, (unsigned long long)noise->steps);
}

const struct benchmark benchmark = {
    .options = {.program = "noise",
                .purpose =
                    "noise of each core by a fixed work quantum, and its amplification in an allreduce",
                OPTION_ROWS(rows),
                .settle = settle},
    .state_bytes = sizeof(struct noise),
    .prepare = prepare,
    .verify = verify,
    .measure = measure,
    .release = release,
    .write_parameters = write_parameters,
    .print_heading = print_heading,
};
