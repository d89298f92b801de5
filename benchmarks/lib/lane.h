/*
 * Point-to-point tests between two ranks: a table of tests over one engine.
 *
 * latency       one way: half of a round trip of one message (batched for small ones), as osu_latency
 * bandwidth     `window` messages in flight one way, then a zero-byte answer, as osu_bw
 * bibandwidth   `window` messages in flight both ways at once, no answer, as osu_bibw; counts both directions
 *
 * As OSU does, all messages of a window share one send and one receive buffer (their bytes are the same).
 * Data are verified before every point. Pairs that measure at the same time start each sample together, by a
 * barrier (team.h); a pair alone needs none. Leaves out: one-sided and persistent communication.
 */
#ifndef RAILYARD_LIB_LANE_H
#define RAILYARD_LIB_LANE_H

#include "lib/parse.h"
#include "lib/problem.h"
#include "lib/sampling.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LANE_TESTS = 3, LANE_POINTS_MAX = LANE_TESTS * PARSE_LIST_MAX, LANE_SMALL_BYTES = 8192 };

/* What a user asks for: tests at sizes. */
struct lane_points {
    bool tests[LANE_TESTS];
    struct number_list sizes;
};

struct lane_config {
    int window; /* messages in flight */
    int batch;  /* round trips of one latency sample, up to LANE_SMALL_BYTES */
    struct lane_points points;
    struct sampling sampling;
};

/* One test at one size. */
struct lane_point {
    int test;
    size_t bytes;
};

/* One rank's end of a pair. */
struct lane {
    const struct lane_config *config;
    int rank;
    int peer;
    bool leads;    /* takes the time */
    MPI_Comm team; /* both ends of all pairs that measure at once; MPI_COMM_NULL: this pair is alone */
    char *outgoing;
    char *incoming;
    MPI_Request *requests; /* 2 * window */
};

struct lane_test {
    const char *name;
    const char *fom;
    size_t smallest_bytes;
    double (*sample_s)(const struct lane *lane, size_t bytes);
    double (*value)(const struct lane_config *config, size_t bytes, double sample_s);
    int directions; /* of data that the value counts; 0: a time */
};

/* "latency", "bandwidth", "bibandwidth", in this order. */
const struct lane_test *lane_tests(void);

/* ---- points ---- */

/* Parser for option tables: names of tests into bool[LANE_TESTS]. */
bool parse_lane_tests(const char *text, void *field);

/* A problem when a chosen test has no size that it can be measured at. */
void lane_points_check(const struct lane_points *points, struct problem *problem);

/* The points in the order of tests, then sizes; returns their number, at most LANE_POINTS_MAX. */
int lane_points_list(const struct lane_points *points, struct lane_point *list);

/* ---- measure ---- */

/* An end of the pair rank, peer; buffers for the largest size asked for. */
struct lane lane_open(const struct lane_config *config, int rank, int peer);
void lane_close(struct lane *lane);

/* Both ends send each other the payload of that size and check it; a problem on both when either received
 * wrong data. */
void lane_verify(const struct lane *lane, size_t bytes, struct problem *problem);

/* All ends run one point. Returns the number of samples; samples_s, of `repeats` doubles, has this end's
 * seconds. */
int lane_measure(const struct lane *lane, const struct lane_point *point, double *samples_s);

#endif
