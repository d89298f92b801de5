/* Samples of one way to split; see measure.h. */
#include "rowcol/measure.h"

#include "lib/measure/clock.h"
#include "lib/run/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- a common start ---- */

enum { ATTEMPTS = 10, ATTEMPTS_LEAST = 200 };

/* The state that all samples of one way to split share. */
struct lateness {
    struct starter starter;
    double late_s;
    double late_share; /* allowed lateness at this point, as a share of the sample */
    double least_late_share;
    double most_late_share;
    double latest_s; /* how late the last sample began on its latest rank */
    double sample_s; /* duration of the last sample on the slowest rank */
};

/* Returns how late a rank may start. */
static double tolerance_s(const struct lateness *lateness) {
    return fmax(lateness->late_s, lateness->late_share * lateness->sample_s);
}

/* Adapts the next start: a late one gives the next more lead time and more tolerance. */
static void adapt(struct lateness *lateness, bool good) {
    if (good) {
        starter_faster(&lateness->starter);
        return;
    }
    starter_slower(&lateness->starter);
    lateness->late_share = fmin(lateness->most_late_share, 1.1 * lateness->late_share);
}

/* Collective. Returns whether every rank started in time for a sample of this duration. */
static bool began_together(struct lateness *lateness, double late_s, double sample_s) {
    double record[] = {late_s, sample_s};
    double most[2];
    if (lateness->starter.start == START_BARRIER)
        return true;
    MPI_CHECK(MPI_Allreduce(record, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    lateness->latest_s = fmax(0, most[0]);
    lateness->sample_s = most[1];
    bool good = most[0] <= tolerance_s(lateness);
    adapt(lateness, good);
    return good;
}

/* ---- a point ---- */

/* One sample of this rank: seconds per collective, from the common start. False when a rank was late. */
static bool take_sample(const struct run *run, struct group *group, const struct point *point,
                        struct lateness *lateness, double *seconds) {
    double late_s = 0;
    double start_s = starter_begin(&lateness->starter, tolerance_s(lateness), &late_s);
    for (int i = 0; i < run->config.batch; i++) {
        group->root = (int)(group->calls++ % group->ranks);
        point->collective->run(group, point->bytes);
    }
    double sample_s = clock_now_s() - start_s;
    *seconds = sample_s / run->config.batch;
    return began_together(lateness, late_s, sample_s);
}

/* Collective. Untimed samples; returns how long one takes on the slowest rank. */
static double warm_up(const struct run *run, struct group *group, const struct point *point,
                      struct lateness *lateness) {
    const struct sampling *sampling = &run->config.sampling;
    double begin_s = clock_now_s();
    double seconds = 0;
    for (int i = 0; i < sampling->warmups || sampling_longest(clock_now_s() - begin_s) < sampling->warmup_s;
         i++)
        (void)take_sample(run, group, point, lateness, &seconds);
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

/* Collective. Adds the samples of a point; none where the ranks cannot begin together. */
static void measure_point(const struct run *run, struct group *group, int index, struct lateness *lateness,
                          struct recording *record) {
    const struct sampling *sampling = &run->config.sampling;
    const struct point *point = &run->points[index];
    int wanted = samples_wanted(sampling, warm_up(run, group, point, lateness));
    lateness->late_share = lateness->least_late_share;
    int first = sampling_first(sampling);
    int before = record->total;
    double taken_s = 0;
    int count = 0;
    int dropped = 0;
    double begin_s = clock_now_s();
    sampling_begin();
    while (count < wanted && dropped <= ATTEMPTS * count + ATTEMPTS_LEAST) {
        double seconds = 0;
        if (!take_sample(run, group, point, lateness, &seconds)) {
            dropped++;
            if (dropped % ATTEMPTS == 0 &&
                sampling_longest(clock_now_s() - begin_s) >
                    (sampling->point_time_s > 0 ? sampling->point_time_s : INFINITY))
                break;
            continue;
        }
        keep_sample(record, seconds);
        record->latest_us[index] = fmax(record->latest_us[index], 1e6 * lateness->latest_s);
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
                           struct lateness *lateness, struct recording *record) {
    for (int i = 0; i < run->point_count; i++) {
        group->calls = 0;
        if (!verify(&run->points[i], group, program, true))
            return false;
        measure_point(run, group, i, lateness, record);
        record->calls[i] = group->calls;
        if (!verify(&run->points[i], group, program, false))
            return false;
    }
    return true;
}

bool rowcol_measure(const struct run *run, int way, const char *program, struct recording *record) {
    struct group group = open_group(run, way);
    const struct rowcol_config *config = &run->config;
    struct lateness lateness =
        (struct lateness){.starter = starter_open(MPI_COMM_WORLD, config->start, config->clock_pings),
                          .late_s = config->late_s,
                          .late_share = config->late_percent / 100,
                          .least_late_share = config->late_percent / 100,
                          .most_late_share = config->late_most_percent / 100};
    *record = (struct recording){.start = lateness.starter.start};
    keep_sample(record, 0);
    record->total = 0;
    bool good = measure_points(run, &group, program, &lateness, record);
    record->clock_bound_s = clock_bound_s(&lateness.starter.clock, MPI_COMM_WORLD);
    record->clock_error_s = clock_known_error_s(&lateness.starter.clock, MPI_COMM_WORLD);
    if (good) {
        /* Reduces each sample to the slowest rank's time on the first rank of each split, and to the mean of
         * all ranks on rank 0. */
        double *slowest = check_alloc((size_t)record->total, sizeof *slowest);
        record->mean_us = check_alloc((size_t)record->total, sizeof *record->mean_us);
        MPI_CHECK(MPI_Reduce(record->samples_us, slowest, record->total, MPI_DOUBLE, MPI_MAX, 0, group.comm));
        MPI_CHECK(MPI_Reduce(record->samples_us, record->mean_us, record->total, MPI_DOUBLE, MPI_SUM, 0,
                             MPI_COMM_WORLD));
        for (int i = 0; i < record->total; i++)
            record->mean_us[i] /= check_ranks();
        free(record->samples_us);
        record->samples_us = slowest;
    }
    starter_close(&lateness.starter);
    memory_free(group.memory, group.outgoing);
    memory_free(group.memory, group.incoming);
    free(group.counts);
    free(group.places);
    MPI_CHECK(MPI_Comm_free(&group.comm));
    return good;
}
