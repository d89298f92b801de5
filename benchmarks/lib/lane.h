/*
 * Point-to-point tests between two ranks: a table of tests over one engine.
 *
 * latency       one way: half of a round trip of one message (batched for small ones), as osu_latency
 * bandwidth     `window` messages in flight one way, then a zero-byte answer, as osu_bw
 * bibandwidth   `window` messages in flight both ways at once, no answer, as osu_bibw; counts both directions
 *
 * As OSU does, all messages of a window share one send and one receive buffer (their bytes are the same).
 * Data are verified before every point. Leaves out: one-sided and persistent communication, and more than one
 * pair at a time.
 */
#ifndef RAILYARD_LANE_H
#define RAILYARD_LANE_H

#include "lib/problem.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LANE_SAMPLES_MIN = 3, LANE_SMALL_BYTES = 8192 };

struct lane_config {
    int window;  /* messages in flight */
    int batch;   /* round trips of one latency sample, up to LANE_SMALL_BYTES */
    int repeats; /* samples wanted */
    int warmups; /* untimed samples before */
    double
        point_time_s; /* fewer samples, at least LANE_SAMPLES_MIN, when they would take longer; 0: no limit */
    uint64_t seed;
};

/* One rank's end of a pair. */
struct lane {
    const struct lane_config *config;
    int rank;
    int peer;
    bool leads; /* takes the time */
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
};

enum { LANE_TESTS = 3 };

/* "latency", "bandwidth", "bibandwidth", in this order. */
const struct lane_test *lane_tests(void);

/* An end of the pair rank, peer for messages up to largest_bytes. */
struct lane lane_open(const struct lane_config *config, int rank, int peer, size_t largest_bytes);
void lane_close(struct lane *lane);

/* Both ends send each other the payload of that size and check it; a problem on both when either received
 * wrong data. */
void lane_verify(const struct lane *lane, size_t bytes, struct problem *problem);

/* Both ends run one point. Returns the number of samples; the leader's buffer, of `repeats` doubles, has the
 * values. */
int lane_measure(const struct lane *lane, const struct lane_test *test, size_t bytes, double *samples);

#endif
