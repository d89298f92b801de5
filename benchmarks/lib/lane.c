/* Latency and bandwidth between two ranks; see lane.h. */
#include "lib/lane.h"

#include "lib/check.h"
#include "lib/options.h"
#include "lib/payload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_DATA = 1, TAG_ANSWER = 2, TAG_CONTROL = 3 };

/* ---- points ---- */

bool parse_lane_tests(const char *text, void *field) {
    const char *names[LANE_TESTS];
    for (int i = 0; i < LANE_TESTS; i++)
        names[i] = lane_tests()[i].name;
    return options_choose(text, names, LANE_TESTS, field);
}

static size_t largest_size(const struct lane_points *points) {
    size_t largest = 0;
    for (int i = 0; i < points->sizes.count; i++)
        if (points->sizes.value[i] > largest)
            largest = points->sizes.value[i];
    return largest;
}

void lane_points_check(const struct lane_points *points, struct problem *problem) {
    for (int test = 0; test < LANE_TESTS; test++)
        if (points->tests[test] && largest_size(points) < lane_tests()[test].smallest_bytes)
            problem_set(problem, "--sizes 0: %s has no rate for 0 B; valid: sizes from 1 B",
                        lane_tests()[test].name);
}

int lane_points_list(const struct lane_points *points, struct lane_point *list) {
    int count = 0;
    for (int test = 0; test < LANE_TESTS; test++)
        for (int i = 0; points->tests[test] && i < points->sizes.count; i++)
            if (points->sizes.value[i] >= lane_tests()[test].smallest_bytes)
                list[count++] = (struct lane_point){test, points->sizes.value[i]};
    return count;
}

/* ---- the two ends ---- */

struct lane lane_open(const struct lane_config *config, int rank, int peer) {
    struct lane lane = {.config = config, .rank = rank, .peer = peer, .team = MPI_COMM_NULL};
    size_t largest = largest_size(&config->points);
    lane.outgoing = check_alloc_pages(largest);
    lane.incoming = check_alloc_pages(largest);
    lane.requests = check_alloc(2 * (size_t)config->window, sizeof *lane.requests);
    payload_fill(lane.outgoing, largest, payload_key(config->sampling.seed, 0, (uint64_t)rank, 0));
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

/* Both ends leave together; or all ends of the team. */
static void meet(const struct lane *lane) {
    if (lane->team != MPI_COMM_NULL) {
        MPI_CHECK(MPI_Barrier(lane->team));
        return;
    }
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
    {"latency", "latency_us", 0, latency_s, one_way_us, 0},
    {"bandwidth", "bandwidth_gbyte_s", 1, bandwidth_s, one_way_gbyte_s, 1},
    {"bibandwidth", "bandwidth_gbyte_s", 1, bibandwidth_s, both_ways_gbyte_s, 2},
};

const struct lane_test *lane_tests(void) {
    return tests;
}

/* ---- the engine ---- */

static void check_incoming(const struct lane *lane, size_t bytes, struct problem *problem) {
    uint64_t key = payload_key(lane->config->sampling.seed, 0, (uint64_t)lane->peer, 0);
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

/* How many samples the point gets, after the first ones took that long: the slowest end of a team decides, of
 * a pair alone the leader. */
static int settle_samples(const struct lane *lane, int taken, double taken_s) {
    double longest_s = taken_s;
    if (lane->team != MPI_COMM_NULL)
        MPI_CHECK(MPI_Allreduce(&taken_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, lane->team));
    else if (lane->leads)
        MPI_CHECK(MPI_Send(&longest_s, 1, MPI_DOUBLE, lane->peer, TAG_CONTROL, MPI_COMM_WORLD));
    else
        MPI_CHECK(
            MPI_Recv(&longest_s, 1, MPI_DOUBLE, lane->peer, TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return sampling_count(&lane->config->sampling, taken, longest_s);
}

static double sample_s(const struct lane *lane, const struct lane_point *point) {
    if (lane->team != MPI_COMM_NULL)
        meet(lane);
    return lane_tests()[point->test].sample_s(lane, point->bytes);
}

int lane_measure(const struct lane *lane, const struct lane_point *point, double *samples_s) {
    const struct sampling *sampling = &lane->config->sampling;
    int first = sampling_first(sampling);
    int count = first;
    double taken_s = 0;
    meet(lane);
    for (int i = 0; i < sampling->warmups; i++)
        (void)sample_s(lane, point);
    for (int i = 0; i < count; i++) {
        samples_s[i] = sample_s(lane, point);
        taken_s += samples_s[i];
        if (i + 1 == first)
            count = settle_samples(lane, first, taken_s);
    }
    return count;
}
