/* Samples of one way to split; see measure.h. */
#include "rowcol/measure.h"

#include "lib/measure/clock.h"
#include "lib/measure/idle.h"
#include "lib/run/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The memory that the largest point of a way takes. */
static size_t largest_buffer(const struct run *run, int way) {
    size_t largest = 0;
    for (int i = 0; i < run->point_count; i++) {
        size_t bytes = collective_bytes(run->points[i].collective, run->points[i].bytes,
                                        split_ranks(&run->standing, way));
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

static struct group open_group(const struct run *run, int way) {
    struct group group = {.comm = split_comm(&run->standing, way),
                          .seed = run->config.sampling.seed,
                          .memory = &run->config.memory};
    MPI_CHECK(MPI_Comm_rank(group.comm, &group.rank));
    MPI_CHECK(MPI_Comm_size(group.comm, &group.ranks));
    group.outgoing = memory_alloc(group.memory, largest_buffer(run, way));
    group.incoming = memory_alloc(group.memory, largest_buffer(run, way));
    group.counts = check_alloc((size_t)group.ranks, sizeof(int));
    group.places = check_alloc((size_t)group.ranks, sizeof(int));
    return group;
}

static void close_group(struct group *group) {
    memory_free(group->memory, group->outgoing);
    memory_free(group->memory, group->incoming);
    free(group->counts);
    free(group->places);
    MPI_CHECK(MPI_Comm_free(&group->comm));
}

/* ---- a common start ---- */

static const double least_slack_s = 20e-6;
/* The longest slack: most_slack_s, or most_agreements x the time of one agreement if that is longer. */
static const double most_slack_s = 0.02;
static const double most_agreements = 4;
static const double drift_s = 0.25; /* clocks older than this are read again */
static const double spin_s = 0.5e-3;

enum { ATTEMPTS = 10, ATTEMPTS_LEAST = 200 };

/* The state that all samples of one way to split share. */
struct starter {
    enum start start;
    double late_s;
    double late_share; /* allowed lateness at this point, as a share of the sample */
    double least_late_share;
    double most_late_share;
    double latest_s; /* how late the last sample began on its latest rank */
    struct clock clock;
    bool one_clock; /* all ranks share one clock, which is read only once */
    double slack_s; /* time from rank 0's broadcast to the common start */
    double most_slack_s;
    double read_s;   /* time of the last reading of the clocks; rank 0's value counts */
    double sample_s; /* duration of the last sample on the slowest rank */
};

/* What rank 0 broadcasts before a sample. */
struct word {
    double start_s;
    int read_clocks;
};

/* Returns whether each rank of a node can have its own CPU. */
static bool all_have_cpus(void) {
    MPI_Comm node;
    int ranks = 0;
    MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI_CHECK(MPI_Comm_size(node, &ranks));
    MPI_CHECK(MPI_Comm_free(&node));
    int enough = ranks <= sysconf(_SC_NPROCESSORS_ONLN);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    return enough;
}

#ifdef RAILYARD_HOST_FROM_MPI
enum { SIMULATED = 1 }; /* in a simulation, where polling a clock takes real time and sleeping takes none */
#else
enum { SIMULATED = 0 };
#endif

static enum start choose_start(enum start asked) {
    if (asked != START_AUTO)
        return asked;
    return SIMULATED || !all_have_cpus() ? START_BARRIER : START_CLOCK;
}

/* Collective. Returns the longest time for rank 0's broadcast to reach a rank. */
static double agreement_s(void) {
    struct word word = {0};
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    double begin_s = clock_now_s();
    MPI_CHECK(MPI_Bcast(&word, (int)sizeof word, MPI_BYTE, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    return sampling_longest(clock_now_s() - begin_s);
}

static struct starter open_starter(const struct run *run) {
    struct starter starter = {.start = choose_start(run->config.start),
                              .late_s = run->config.late_s,
                              .late_share = run->config.late_percent / 100,
                              .least_late_share = run->config.late_percent / 100,
                              .most_late_share = run->config.late_most_percent / 100};
    starter.clock = clock_open(MPI_COMM_WORLD, run->config.clock_pings);
    clock_read(&starter.clock);
    starter.one_clock = clock_bound_s(&starter.clock, MPI_COMM_WORLD) <= 0;
    starter.read_s = clock_now_s();
    if (starter.start == START_CLOCK) {
        double agreement = agreement_s();
        starter.slack_s = fmax(least_slack_s, agreement);
        starter.most_slack_s = fmax(most_slack_s, most_agreements * agreement);
    }
    return starter;
}

/* Returns how late a rank may start. */
static double tolerance_s(const struct starter *starter) {
    return fmax(starter->late_s, starter->late_share * starter->sample_s);
}

/* Sleeps, and polls the clock at the end where a sleep may be too long: ranks that share a CPU disturb each
 * other by it. */
static void wait_until(double own_s, double tolerance) {
    double poll_s = SIMULATED || tolerance > 2 * spin_s ? 0 : spin_s;
    double left_s = own_s - clock_now_s();
    if (left_s > 2 * poll_s)
        idle_sleep(left_s - poll_s);
    while (clock_now_s() < own_s)
        ;
}

/* Collective. Returns when all begin, and the time of it by this rank's clock; *late_s is how late it is. */
static double begin(struct starter *starter, double *late_s) {
    if (starter->start == START_BARRIER) {
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        *late_s = 0;
        return clock_now_s();
    }
    struct word word = {0};
    word.read_clocks = !starter->one_clock && clock_now_s() - starter->read_s > drift_s;
    word.start_s = clock_global_s(&starter->clock, clock_now_s()) + starter->slack_s;
    MPI_CHECK(MPI_Bcast(&word, (int)sizeof word, MPI_BYTE, 0, MPI_COMM_WORLD));
    if (word.read_clocks) {
        clock_read_again(&starter->clock);
        starter->read_s = clock_now_s();
        return begin(starter, late_s);
    }
    double own_s = clock_own_s(&starter->clock, word.start_s);
    wait_until(own_s, tolerance_s(starter));
    *late_s = clock_now_s() - own_s;
    return own_s;
}

/* Adapts the next start: a late one gives the next more lead time and more tolerance. */
static void adapt(struct starter *starter, bool good) {
    starter->slack_s = good ? fmax(least_slack_s, 0.98 * starter->slack_s)
                            : fmin(starter->most_slack_s, 1.5 * starter->slack_s);
    if (!good)
        starter->late_share = fmin(starter->most_late_share, 1.1 * starter->late_share);
}

/* Collective. Returns whether every rank started in time for a sample of this duration. */
static bool began_together(struct starter *starter, double late_s, double sample_s) {
    double record[] = {late_s, sample_s};
    double most[2];
    if (starter->start == START_BARRIER)
        return true;
    MPI_CHECK(MPI_Allreduce(record, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    starter->latest_s = fmax(0, most[0]);
    starter->sample_s = most[1];
    bool good = most[0] <= tolerance_s(starter);
    adapt(starter, good);
    return good;
}

/* ---- a point ---- */

/* One sample of this rank: seconds per collective, from the common start. False when a rank was late. */
static bool take_sample(const struct run *run, struct group *group, const struct point *point,
                        struct starter *starter, double *seconds) {
    double late_s = 0;
    double start_s = begin(starter, &late_s);
    for (int i = 0; i < run->config.batch; i++) {
        group->root = (int)(group->calls++ % group->ranks);
        point->collective->run(group, point->bytes);
    }
    double sample_s = clock_now_s() - start_s;
    *seconds = sample_s / run->config.batch;
    return began_together(starter, late_s, sample_s);
}

/* Collective. Untimed samples; returns how long one takes on the slowest rank. */
static double warm_up(const struct run *run, struct group *group, const struct point *point,
                      struct starter *starter) {
    const struct sampling *sampling = &run->config.sampling;
    double begin_s = clock_now_s();
    double seconds = 0;
    for (int i = 0; i < sampling->warmups || sampling_longest(clock_now_s() - begin_s) < sampling->warmup_s;
         i++)
        (void)take_sample(run, group, point, starter, &seconds);
    return sampling_longest(seconds) * run->config.batch;
}

/* Returns enough samples for the minimum time of a point, at most SAMPLES_MOST. */
static int samples_wanted(const struct sampling *sampling, double sample_s) {
    double wanted = sampling->repeats;
    if (sample_s > 0 && sampling->min_time_s > 0)
        wanted = fmin(fmax(wanted, sampling->min_time_s / sample_s), SAMPLES_MOST);
    return (int)wanted;
}

static void keep_sample(struct recording *record, double seconds) {
    record->samples_us =
        check_grow(record->samples_us, record->total, &record->room, sizeof *record->samples_us);
    record->samples_us[record->total++] = 1e6 * seconds;
}

/* Returns for how long samples may be dropped. */
static double patience_s(const struct sampling *sampling) {
    return sampling->point_time_s > 0 ? sampling->point_time_s : INFINITY;
}

/* Collective. Adds the samples of a point; none where the ranks cannot begin together. */
static void measure_point(const struct run *run, struct group *group, int index, struct starter *starter,
                          struct recording *record) {
    const struct sampling *sampling = &run->config.sampling;
    const struct point *point = &run->points[index];
    int wanted = samples_wanted(sampling, warm_up(run, group, point, starter));
    starter->late_share = starter->least_late_share;
    int first = sampling_first(sampling);
    int before = record->total;
    double taken_s = 0;
    int count = 0;
    int dropped = 0;
    double begin_s = clock_now_s();
    sampling_begin();
    while (count < wanted && dropped <= ATTEMPTS * count + ATTEMPTS_LEAST) {
        double seconds = 0;
        if (!take_sample(run, group, point, starter, &seconds)) {
            dropped++;
            if (dropped % ATTEMPTS == 0 && sampling_longest(clock_now_s() - begin_s) > patience_s(sampling))
                break;
            continue;
        }
        keep_sample(record, seconds);
        record->latest_us[index] = fmax(record->latest_us[index], 1e6 * starter->latest_s);
        taken_s += seconds * run->config.batch;
        if (++count == first && sampling->point_time_s > 0 && wanted > first)
            wanted = (int)fmax(
                first, fmin(wanted, sampling->point_time_s * first / fmax(1e-9, sampling_longest(taken_s))));
    }
    sampling_end();
    if (count < first)
        record->total = before;
    record->count[index] = count < first ? 0 : count;
    record->dropped[index] = dropped;
}

/* Collective. True on all ranks when the data of this point are right. */
static bool verify(const struct point *point, struct group *group, const char *program, bool run) {
    struct problem problem = {0};
    if (run)
        collective_verify(point->collective, group, point->bytes, &problem);
    else
        collective_check(point->collective, group, point->bytes, &problem);
    return !problem_agree(&problem, program);
}

/* Collective. All points of one way; false on all ranks when data were wrong. */
static bool measure_points(const struct run *run, struct group *group, const char *program,
                           struct starter *starter, struct recording *record) {
    for (int i = 0; i < run->point_count; i++) {
        group->calls = 0;
        if (!verify(&run->points[i], group, program, true))
            return false;
        measure_point(run, group, i, starter, record);
        record->calls[i] = group->calls;
        if (!verify(&run->points[i], group, program, false))
            return false;
    }
    return true;
}

/* Reduces each sample to the slowest rank's time on the first rank of each split, and to the mean of all
 * ranks on rank 0. */
static void reduce_samples(const struct group *group, struct recording *record) {
    double *slowest = check_alloc((size_t)record->total, sizeof *slowest);
    record->mean_us = check_alloc((size_t)record->total, sizeof *record->mean_us);
    MPI_CHECK(MPI_Reduce(record->samples_us, slowest, record->total, MPI_DOUBLE, MPI_MAX, 0, group->comm));
    MPI_CHECK(MPI_Reduce(record->samples_us, record->mean_us, record->total, MPI_DOUBLE, MPI_SUM, 0,
                         MPI_COMM_WORLD));
    for (int i = 0; i < record->total; i++)
        record->mean_us[i] /= check_ranks();
    free(record->samples_us);
    record->samples_us = slowest;
}

bool rowcol_measure(const struct run *run, int way, const char *program, struct recording *record) {
    struct group group = open_group(run, way);
    struct starter starter = open_starter(run);
    *record = (struct recording){.start = starter.start};
    keep_sample(record, 0);
    record->total = 0;
    bool good = measure_points(run, &group, program, &starter, record);
    record->clock_bound_s = clock_bound_s(&starter.clock, MPI_COMM_WORLD);
    record->clock_error_s = clock_known_error_s(&starter.clock, MPI_COMM_WORLD);
    if (good)
        reduce_samples(&group, record);
    clock_close(&starter.clock);
    close_group(&group);
    return good;
}
