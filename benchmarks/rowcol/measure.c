/* Samples of one way to split; see measure.h. */
#include "rowcol/measure.h"

#include "lib/check.h"

#include <stdlib.h>

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
    struct group group = {.comm = split_comm(&run->standing, way), .seed = run->config.sampling.seed};
    MPI_CHECK(MPI_Comm_rank(group.comm, &group.rank));
    MPI_CHECK(MPI_Comm_size(group.comm, &group.ranks));
    group.outgoing = check_alloc_pages(largest_buffer(run, way));
    group.incoming = check_alloc_pages(largest_buffer(run, way));
    return group;
}

static void close_group(struct group *group) {
    free(group->outgoing);
    free(group->incoming);
    MPI_CHECK(MPI_Comm_free(&group->comm));
}

/* One sample of this rank: seconds per collective. All ranks start together. */
static double sample_s(const struct run *run, const struct group *group, const struct point *point) {
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    double start_s = MPI_Wtime();
    for (int i = 0; i < run->config.batch; i++)
        point->collective->run(group, point->bytes);
    return (MPI_Wtime() - start_s) / run->config.batch;
}

/* The same on all ranks: the slowest decides. */
static int settle_samples(const struct run *run, int taken, double taken_s) {
    double longest_s = 0;
    taken_s *= run->config.batch;
    MPI_CHECK(MPI_Allreduce(&taken_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return sampling_count(&run->config.sampling, taken, longest_s);
}

static int measure_point(const struct run *run, const struct group *group, const struct point *point,
                         double *samples_us) {
    const struct sampling *sampling = &run->config.sampling;
    int first = sampling_first(sampling);
    int count = first;
    double taken_s = 0;
    for (int i = 0; i < sampling->warmups; i++)
        (void)sample_s(run, group, point);
    for (int i = 0; i < count; i++) {
        double seconds = sample_s(run, group, point);
        taken_s += seconds;
        samples_us[i] = 1e6 * seconds;
        if (i + 1 == first)
            count = settle_samples(run, first, taken_s);
    }
    return count;
}

/* Collective. All points of one way; false on all ranks when data were wrong. */
static bool measure_points(const struct run *run, const struct group *group, const char *program,
                           struct recording *mine) {
    for (int i = 0; i < run->point_count; i++) {
        struct problem problem = {0};
        collective_verify(run->points[i].collective, group, run->points[i].bytes, &problem);
        if (problem_agree(&problem, program))
            return false;
        mine->count[i] = measure_point(run, group, &run->points[i], mine->samples_us + mine->total);
        mine->total += mine->count[i];
    }
    return true;
}

/* The slowest rank's time of each sample, on the first rank of each split. */
static void reduce_split(const struct group *group, struct recording *mine) {
    double *slowest = check_alloc((size_t)mine->total, sizeof *slowest);
    MPI_CHECK(MPI_Reduce(mine->samples_us, slowest, mine->total, MPI_DOUBLE, MPI_MAX, 0, group->comm));
    free(mine->samples_us);
    mine->samples_us = slowest;
}

bool rowcol_measure(const struct run *run, int way, const char *program, struct recording *mine) {
    size_t room = (size_t)run->point_count * (size_t)run->config.sampling.repeats;
    struct group group = open_group(run, way);
    *mine = (struct recording){.samples_us = check_alloc(room, sizeof(double))};
    bool good = measure_points(run, &group, program, mine);
    if (good)
        reduce_split(&group, mine);
    close_group(&group);
    return good;
}
