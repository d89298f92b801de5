/*
 * Point-to-point tests between pairs of ranks: a table of tests over one engine.
 *
 * latency       one way: half of a round trip of one message, as osu_latency
 * bandwidth     `window` messages in flight one way, then a zero-byte answer, as osu_bw
 * bibandwidth   `window` messages in flight both ways at once, as osu_bibw; counts both directions
 * rate          messages per second of the test bandwidth, as osu_mbw_mr
 * tail          percentiles of single round trips of a sample
 *
 * A sample is a number of units: windows, or round trips. It starts with a barrier of all ranks that take
 * part. The leader's time begins when its follower is ready. A pair that has finished goes on without a clock
 * until all pairs have, so that none is measured alone. Both ends take the time where data flow both ways.
 *
 * Leaves out: one-sided and persistent communication.
 */
#pragma once

#include "lib/input/parse.h"
#include "lib/measure/clock.h"
#include "lib/measure/memory.h"
#include "lib/measure/sampling.h"
#include "lib/run/problem.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SMALL_BYTES = 8192 };
enum test { LATENCY, BANDWIDTH, BIBANDWIDTH, RATE, TAIL, TESTS };
enum { PERCENTILES = 3, FIGURES = TESTS - 1 + PERCENTILES, POINTS_MAX = FIGURES * PARSE_LIST_MAX };

/* The requested tests and message sizes. */
struct test_points {
    bool tests[TESTS];
    struct number_list sizes;
};

struct engine_config {
    int window;      /* messages in flight */
    int windows;     /* least number of windows per sample */
    int batch;       /* least number of round trips per sample, for messages up to SMALL_BYTES */
    bool one_buffer; /* the messages of a window are received into one buffer */
    bool clock_pings;
    struct memory memory; /* memory of the messages */
    struct test_points points;
    struct sampling sampling;
};

/* One pair that transfers from rank `from`, the leader, to rank `to`. */
struct pair {
    int from;
    int to;
};

/* One figure of merit of a test. */
struct figure {
    const char *name; /* name of the test */
    enum test test;
    const char *unit;      /* unit of all its FOMs */
    const char *fom;       /* FOM of a single pair */
    const char *pair_fom;  /* FOM of each pair if there are several */
    const char *mean_fom;  /* mean over the pairs; NULL for rates, as all pairs send equally much */
    const char *whole_fom; /* FOM of all pairs: the slowest time, or all data over the whole time */
    size_t smallest_bytes;
    int directions; /* directions whose data the value counts; 0: the value is a time */
    double share;   /* the percentile as a share of the round trips, 0 to 1; 0: no percentile */
};

extern const struct figure figures[FIGURES]; /* the first of each test, in their order, come first */

/* One figure at one size. */
struct point {
    int figure;
    size_t bytes;
};

/* ---- points ---- */

/* A row of option tables: names of tests into bool[TESTS]. */
#define ROW_TESTS(fallback, offset)                                                                          \
    {                                                                                                        \
        "tests", "LIST", fallback, NULL, "latency, bandwidth, bibandwidth, rate, tail", "what to measure",   \
            NULL, offset, options_some, {                                                                    \
            figures, sizeof *figures, TESTS                                                                  \
        }                                                                                                    \
    }

/* A problem when a chosen test has no size that it can be measured at. */
void points_check(const struct test_points *points, struct problem *problem);

/* The points in the order of tests, then sizes, then percentiles; returns the number, at most POINTS_MAX. */
int points_list(const struct test_points *points, struct point *list);

/* Returns the figure's value for a unit of `seconds` on average, or for a percentile of round trips. */
double point_value(const struct engine_config *config, const struct point *point, double unit_s);

/* ---- measure ---- */

/* The times of one end in one sample, by this rank's clock. */
struct times {
    double start_s;
    double end_s;
};

/* One rank's end of a pair. */
struct end {
    int peer;
    bool leads;
    bool reverse;          /* the pair's leader has the higher rank */
    char *incoming;        /* slots for the messages of a window */
    MPI_Request *requests; /* requests of the current step, at most 2 * window + 1 */
    int pending;
    int step; /* state within a sample, see engine.c */
    int units_left;
    int grant;         /* units that the leader grants after the timed ones; 0: the end */
    MPI_Request loose; /* the last notice or answer whose completion is not awaited */
    bool owes_ready;   /* the follower has not yet reported that its receives are posted */
    struct times times;
    double trip_s;   /* when the current round trip began */
    double *trips_s; /* test tail only: the round trips of a sample */
    int trip_count;
};

/* This rank's part in pairs that measure at the same time. */
struct engine {
    const struct engine_config *config;
    MPI_Comm team; /* the ranks of all pairs */
    int pairs;     /* pairs in the whole team */
    int end_count;
    struct end *ends;
    char *outgoing;
    int slots; /* messages that each end's incoming memory holds, at the size being measured */
    struct point point;
    int units;  /* units per sample */
    int timing; /* ends that have not finished the timed part */
    int turn;   /* the end that was polled last */
    MPI_Request all_finished;
};

/* Collective over the team. Allocates memory for the largest requested size. */
struct engine engine_open(const struct engine_config *config, MPI_Comm team, const struct pair *pairs,
                          int pair_count);
void engine_close(struct engine *engine);

/* The results of a point's samples on this rank. */
struct point_times {
    int count;
    int units;
    struct times *of_end;  /* [sample * end_count + end] */
    double *percentiles_s; /* [sample * PERCENTILES + p], of the test tail */
};

/*
 * Collective over the team. Verifies the data, warms up, chooses the units of a sample, takes the samples and
 * verifies the data again. `times` has room for `repeats` samples. False on all ranks, and a problem where
 * they were found, when data were wrong.
 */
bool engine_measure(struct engine *engine, const struct point *point, struct point_times *times,
                    struct problem *problem);
