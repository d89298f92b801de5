/* Latency and bandwidth between two ranks; see lane.h. */
#include "lib/lane.h"

#include "lib/check.h"
#include "lib/payload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_DATA = 1, TAG_ANSWER = 2, TAG_CONTROL = 3 };

/* ---- the two ends ---- */

struct lane lane_open(const struct lane_config *config, int rank, int peer, size_t largest_bytes) {
    struct lane lane = {.config = config, .rank = rank, .peer = peer};
    lane.outgoing = check_alloc_pages(largest_bytes);
    lane.incoming = check_alloc_pages(largest_bytes);
    lane.requests = check_alloc(2 * (size_t)config->window, sizeof *lane.requests);
    payload_fill(lane.outgoing, largest_bytes, payload_key(config->seed, 0, (uint64_t)rank, 0));
    return lane;
}

void lane_close(struct lane *lane) {
    free(lane->outgoing);
    free(lane->incoming);
    free(lane->requests);
}

static void send_to_peer(const struct lane *lane, size_t bytes, int tag) {
    MPI_CHECK(MPI_Send(lane->outgoing, (int)bytes, MPI_CHAR, lane->peer, tag, MPI_COMM_WORLD));
}

static void receive_from_peer(const struct lane *lane, size_t bytes, int tag) {
    MPI_CHECK(
        MPI_Recv(lane->incoming, (int)bytes, MPI_CHAR, lane->peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Both ends leave together. */
static void meet(const struct lane *lane) {
    MPI_CHECK(MPI_Sendrecv(NULL, 0, MPI_CHAR, lane->peer, TAG_CONTROL, NULL, 0, MPI_CHAR, lane->peer,
                           TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* ---- latency ---- */

static int batch_of(const struct lane_config *config, size_t bytes) {
    return bytes <= LANE_SMALL_BYTES ? config->batch : 1;
}

static double latency_s(const struct lane *lane, size_t bytes) {
    int trips = batch_of(lane->config, bytes);
    double start_s = MPI_Wtime();
    for (int i = 0; i < trips; i++) {
        if (lane->leads)
            send_to_peer(lane, bytes, TAG_DATA);
        receive_from_peer(lane, bytes, TAG_DATA);
        if (!lane->leads)
            send_to_peer(lane, bytes, TAG_DATA);
    }
    return MPI_Wtime() - start_s;
}

static double one_way_us(const struct lane_config *config, size_t bytes, double sample_s) {
    return 1e6 * sample_s / (2.0 * batch_of(config, bytes));
}

/* ---- bandwidth ---- */

static void post_sends(const struct lane *lane, size_t bytes, MPI_Request *requests) {
    for (int i = 0; i < lane->config->window; i++)
        MPI_CHECK(MPI_Isend(lane->outgoing, (int)bytes, MPI_CHAR, lane->peer, TAG_DATA, MPI_COMM_WORLD,
                            &requests[i]));
}

static void post_receives(const struct lane *lane, size_t bytes, MPI_Request *requests) {
    for (int i = 0; i < lane->config->window; i++)
        MPI_CHECK(MPI_Irecv(lane->incoming, (int)bytes, MPI_CHAR, lane->peer, TAG_DATA, MPI_COMM_WORLD,
                            &requests[i]));
}

static void wait_window(const struct lane *lane, MPI_Request *requests) {
    MPI_CHECK(MPI_Waitall(lane->config->window, requests, MPI_STATUSES_IGNORE));
}

static double bandwidth_s(const struct lane *lane, size_t bytes) {
    double start_s = MPI_Wtime();
    if (lane->leads) {
        post_sends(lane, bytes, lane->requests);
        wait_window(lane, lane->requests);
        receive_from_peer(lane, 0, TAG_ANSWER);
    } else {
        post_receives(lane, bytes, lane->requests);
        wait_window(lane, lane->requests);
        send_to_peer(lane, 0, TAG_ANSWER);
    }
    return MPI_Wtime() - start_s;
}

static double bibandwidth_s(const struct lane *lane, size_t bytes) {
    MPI_Request *receives = lane->requests;
    MPI_Request *sends = lane->requests + lane->config->window;
    double start_s = MPI_Wtime();
    post_receives(lane, bytes, receives);
    post_sends(lane, bytes, sends);
    wait_window(lane, sends);
    wait_window(lane, receives);
    return MPI_Wtime() - start_s;
}

static double one_way_gbyte_s(const struct lane_config *config, size_t bytes, double sample_s) {
    return 1e-9 * (double)bytes * config->window / sample_s;
}

static double both_ways_gbyte_s(const struct lane_config *config, size_t bytes, double sample_s) {
    return 2 * one_way_gbyte_s(config, bytes, sample_s);
}

static const struct lane_test tests[LANE_TESTS] = {
    {"latency", "latency_us", 0, latency_s, one_way_us},
    {"bandwidth", "bandwidth_gbyte_s", 1, bandwidth_s, one_way_gbyte_s},
    {"bibandwidth", "bandwidth_gbyte_s", 1, bibandwidth_s, both_ways_gbyte_s},
};

const struct lane_test *lane_tests(void) {
    return tests;
}

/* ---- the engine ---- */

static void check_incoming(const struct lane *lane, size_t bytes, struct problem *problem) {
    uint64_t key = payload_key(lane->config->seed, 0, (uint64_t)lane->peer, 0);
    size_t wrong = payload_first_difference(lane->incoming, bytes, key);
    if (wrong < bytes)
        problem_set(
            problem,
            "data are wrong, no rate is printed: rank %d, message of %zu bytes from rank %d, byte %zu",
            lane->rank, bytes, lane->peer, wrong);
}

/* Both ends take note when the other has a problem, so that both stop. */
static void share_problem(const struct lane *lane, struct problem *problem) {
    struct problem theirs = {0};
    MPI_CHECK(MPI_Sendrecv(problem->text, PROBLEM_BYTES, MPI_CHAR, lane->peer, TAG_CONTROL, theirs.text,
                           PROBLEM_BYTES, MPI_CHAR, lane->peer, TAG_CONTROL, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
    if (problem_is_set(&theirs))
        problem_set(problem, "%s", theirs.text);
}

void lane_verify(const struct lane *lane, size_t bytes, struct problem *problem) {
    memset(lane->incoming, 0, bytes);
    MPI_CHECK(MPI_Sendrecv(lane->outgoing, (int)bytes, MPI_CHAR, lane->peer, TAG_DATA, lane->incoming,
                           (int)bytes, MPI_CHAR, lane->peer, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    payload_test_fault(lane->incoming, bytes, lane->rank);
    check_incoming(lane, bytes, problem);
    share_problem(lane, problem);
}

/* How many samples the point gets, after the first ones took that long; the leader decides. */
static int settle_samples(const struct lane *lane, int taken, double taken_s) {
    const struct lane_config *config = lane->config;
    int samples = config->repeats;
    if (config->point_time_s > 0 && taken_s > 0) {
        double affordable = floor(config->point_time_s / taken_s * taken);
        if (affordable < samples)
            samples = affordable < taken ? taken : (int)affordable;
    }
    MPI_CHECK(lane->leads ? MPI_Send(&samples, 1, MPI_INT, lane->peer, TAG_CONTROL, MPI_COMM_WORLD)
                          : MPI_Recv(&samples, 1, MPI_INT, lane->peer, TAG_CONTROL, MPI_COMM_WORLD,
                                     MPI_STATUS_IGNORE));
    return samples;
}

int lane_measure(const struct lane *lane, const struct lane_test *test, size_t bytes, double *samples) {
    const struct lane_config *config = lane->config;
    int first = config->repeats < LANE_SAMPLES_MIN ? config->repeats : LANE_SAMPLES_MIN;
    int count = first;
    double taken_s = 0;
    meet(lane);
    for (int i = 0; i < config->warmups; i++)
        (void)test->sample_s(lane, bytes);
    for (int i = 0; i < count; i++) {
        double sample_s = test->sample_s(lane, bytes);
        taken_s += sample_s;
        samples[i] = test->value(config, bytes, sample_s);
        if (i + 1 == first)
            count = settle_samples(lane, first, taken_s);
    }
    return count;
}
