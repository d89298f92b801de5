/* Concurrent pairs; see team.h. */
#include "pt2pt/team.h"

#include "lib/measure/idle.h"
#include "lib/run/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_TIMES = 11, TAG_PAIR = 12, MAXIMA = 5 };

struct team team_make(int pairs) {
    return (struct team){.pairs = pairs, .pair = check_alloc((size_t)pairs, sizeof(struct pair))};
}

void team_free(struct team *team) {
    free(team->pair);
}

static bool is_member(const struct team *team, int rank) {
    for (int i = 0; i < team->pairs; i++)
        if (team->pair[i].from == rank || team->pair[i].to == rank)
            return true;
    return false;
}

/* This rank's results of one point. */
struct part {
    int count;
    int units;
    int ends;              /* that lead */
    double *unit_s;        /* seconds of a unit or percentile, of each leading end and each sample */
    struct whole *samples; /* over the ends of this rank */
};

struct recording {
    struct point point[POINTS_MAX];
    int points;
    struct part part[POINTS_MAX];
    double clock_bound_s;
};

/* ---- a point on one rank ---- */

/* Seconds of each end's samples: [end * count + sample]. */
static double *durations(const struct engine *engine, const struct point_times *times, bool both) {
    size_t all = (size_t)engine->end_count * (size_t)times->count;
    double *own_s = check_alloc(all, sizeof(double));
    for (int e = 0; e < engine->end_count; e++)
        for (int i = 0; i < times->count; i++) {
            const struct times *of = &times->of_end[(size_t)i * (size_t)engine->end_count + (size_t)e];
            own_s[(size_t)e * (size_t)times->count + (size_t)i] = of->end_s - of->start_s;
        }
    if (both) {
        double *theirs_s = check_alloc(all, sizeof(double));
        /* If data flow both ways, the follower's time is used, too. */
        MPI_Request *requests = check_alloc(2 * (size_t)engine->end_count, sizeof *requests);
        int posted = 0;
        for (int e = 0; e < engine->end_count; e++) {
            const struct end *end = &engine->ends[e];
            if (end->leads)
                MPI_CHECK(MPI_Irecv(theirs_s + (size_t)e * (size_t)times->count, times->count, MPI_DOUBLE,
                                    end->peer, TAG_TIMES, MPI_COMM_WORLD, &requests[posted++]));
            else
                MPI_CHECK(MPI_Isend(own_s + (size_t)e * (size_t)times->count, times->count, MPI_DOUBLE,
                                    end->peer, TAG_TIMES, MPI_COMM_WORLD, &requests[posted++]));
        }
        MPI_CHECK(MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE));
        free(requests);
        for (size_t i = 0; i < all; i++)
            own_s[i] = fmax(own_s[i], theirs_s[i]);
        free(theirs_s);
    }
    return own_s;
}

static struct whole *empty_wholes(int count) {
    struct whole *wholes = check_alloc((size_t)count, sizeof *wholes);
    for (int i = 0; i < count; i++)
        wholes[i] = (struct whole){INFINITY, -INFINITY, INFINITY, -INFINITY, 0, 0};
    return wholes;
}

static void add_end(const struct engine *engine, const struct point_times *times, const struct clock *clock,
                    int end, double *duration_s, int percentile, struct part *part) {
    for (int i = 0; i < times->count; i++) {
        size_t at = (size_t)i * (size_t)engine->end_count + (size_t)end;
        struct whole *whole = &part->samples[i];
        double start_s = clock_global_s(clock, times->of_end[at].start_s);
        double unit_s = duration_s[i] / times->units;
        if (percentile >= 0)
            unit_s = times->percentiles_s[at * PERCENTILES + (size_t)percentile];
        double end_s = start_s + duration_s[i];
        whole->first_start_s = fmin(whole->first_start_s, start_s);
        whole->last_start_s = fmax(whole->last_start_s, start_s);
        whole->first_end_s = fmin(whole->first_end_s, end_s);
        whole->last_end_s = fmax(whole->last_end_s, end_s);
        whole->slowest_s = fmax(whole->slowest_s, unit_s);
        whole->sum_s += unit_s;
        part->unit_s[(size_t)part->ends * (size_t)times->count + (size_t)i] = unit_s;
    }
    part->ends++;
}

/* ---- all points on one rank ---- */

/* Collective over the team. Measures the figures of a test at a size; returns how many there were, 0 when
 * data were wrong. */
static int measure_figures(struct engine *engine, struct clock *clock, struct point_times *times, int at,
                           struct recording *record, struct problem *problem) {
    const struct point *point = &record->point[at];
    const struct figure *figure = &figures[point->figure];
    int count = figure->share > 0 ? PERCENTILES : 1;
    if (engine->pairs > 1)
        clock_read(clock);
    if (!engine_measure(engine, point, times, problem))
        return 0;
    if (engine->pairs > 1)
        clock_read_again(clock);
    double *durations_s = durations(engine, times, figure->test == BIBANDWIDTH);
    for (int i = 0; i < count; i++) {
        /* The part of this rank in one figure of a point that was measured. */
        struct part part = {.count = times->count, .units = times->units};
        size_t all = (size_t)engine->end_count * (size_t)times->count;
        part.unit_s = check_alloc(all, sizeof(double));
        part.samples = empty_wholes(times->count);
        for (int e = 0; e < engine->end_count; e++)
            if (engine->ends[e].leads)
                add_end(engine, times, clock, e, durations_s + (size_t)e * (size_t)times->count,
                        figure->share > 0 ? i : -1, &part);
        record->part[at + i] = part;
    }
    record->clock_bound_s = fmax(record->clock_bound_s, fmax(clock->first.bound_s, clock->last.bound_s));
    free(durations_s);
    return count;
}

static void measure_points(const struct team *team, MPI_Comm comm, const struct engine_config *config,
                           struct recording *record, struct problem *problem) {
    struct engine engine = engine_open(config, comm, team->pair, team->pairs);
    struct clock clock = clock_open(comm, config->clock_pings);
    size_t all = (size_t)engine.config->sampling.repeats * (size_t)engine.end_count;
    struct point_times times =
        (struct point_times){.of_end = check_alloc(all, sizeof(struct times)),
                             .percentiles_s = check_alloc(all * PERCENTILES, sizeof(double))};
    int done = 1;
    for (int i = 0; i < record->points && done > 0; i += done)
        done = measure_figures(&engine, &clock, &times, i, record, problem);
    free(times.of_end);
    free(times.percentiles_s);
    clock_close(&clock);
    engine_close(&engine);
}

/* ---- all ranks ---- */

/* Collective. Rank 0 has, of each sample, what the ranks of the team have. */
static struct whole *reduce_wholes(const struct part *part, int count) {
    double *own = check_alloc((size_t)count * MAXIMA, sizeof *own);
    double *all = check_alloc((size_t)count * MAXIMA, sizeof *all);
    double *sums = check_alloc((size_t)count, sizeof *sums);
    double *own_sums = check_alloc((size_t)count, sizeof *own_sums);
    struct whole *wholes = empty_wholes(count);
    const struct whole *from = part->samples ? part->samples : wholes;
    for (int i = 0; i < count; i++) {
        double maxima[MAXIMA] = {-from[i].first_start_s, from[i].last_start_s, -from[i].first_end_s,
                                 from[i].last_end_s, from[i].slowest_s};
        memcpy(own + (size_t)i * MAXIMA, maxima, sizeof maxima);
        own_sums[i] = from[i].sum_s;
    }
    MPI_CHECK(MPI_Reduce(own, all, count * MAXIMA, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Reduce(own_sums, sums, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
    for (int i = 0; i < count; i++) {
        const double *maxima = all + (size_t)i * MAXIMA;
        wholes[i] = (struct whole){-maxima[0], maxima[1], -maxima[2], maxima[3], maxima[4], sums[i]};
    }
    free(own_sums);
    free(sums);
    free(all);
    free(own);
    return wholes;
}

/* From the order of ranks to that of pairs. */
static double *order_by_pair(const struct team *team, int count, const double *gathered, int *offsets) {
    double *values = check_alloc((size_t)team->pairs * (size_t)count, sizeof *values);
    for (int i = 0; i < team->pairs; i++) {
        int *offset = &offsets[team->pair[i].from];
        memcpy(values + (size_t)i * (size_t)count, gathered + *offset, (size_t)count * sizeof *values);
        *offset += count;
    }
    return values;
}

/* Collective. Rank 0 has the samples of every pair. */
static double *gather_pairs(const struct team *team, const struct part *part, int count) {
    int *counts = check_alloc((size_t)check_ranks(), sizeof *counts);
    int *offsets = check_alloc((size_t)check_ranks(), sizeof *offsets);
    double *values = NULL;
    double *gathered = check_alloc((size_t)team->pairs * (size_t)count, sizeof *gathered);
    /* The offset of each rank is that of the pairs that it leads, in their order. */
    for (int i = 0; i < team->pairs; i++)
        counts[team->pair[i].from] += count;
    for (int rank = 1; rank < check_ranks(); rank++)
        offsets[rank] = offsets[rank - 1] + counts[rank - 1];
    MPI_CHECK(MPI_Gatherv(part->unit_s, part->ends * count, MPI_DOUBLE, gathered, counts, offsets, MPI_DOUBLE,
                          0, MPI_COMM_WORLD));
    if (check_rank() == 0)
        values = order_by_pair(team, count, gathered, offsets);
    free(gathered);
    free(offsets);
    free(counts);
    return values;
}

bool team_measure(const struct team *team, const struct engine_config *config, const char *program,
                  struct team_result *result) {
    struct problem problem = {0};
    struct recording *record = check_alloc(1, sizeof *record);
    MPI_Comm comm = MPI_COMM_NULL;
    bool member = is_member(team, check_rank());
    *result = (struct team_result){0};
    record->points = points_list(&config->points, record->point);
    result->points = record->points;
    memcpy(result->point, record->point, sizeof result->point);
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, check_rank(), &comm));
    if (member) {
        measure_points(team, comm, config, record, &problem);
        MPI_CHECK(MPI_Comm_free(&comm));
    }
    idle_barrier();
    bool good = !problem_agree(&problem, program);
    if (good) {
        for (int i = 0; i < record->points; i++) {
            int shape[2] = {record->part[i].count, record->part[i].units};
            MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, shape, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
            result->count[i] = shape[0];
            result->units[i] = shape[1];
            result->whole[i] = reduce_wholes(&record->part[i], shape[0]);
            if (team->pairs <= DETAIL_PAIRS)
                result->pair_s[i] = gather_pairs(team, &record->part[i], shape[0]);
        }
        MPI_CHECK(MPI_Reduce(&record->clock_bound_s, &result->clock_bound_s, 1, MPI_DOUBLE, MPI_MAX, 0,
                             MPI_COMM_WORLD));
    }
    for (int i = 0; i < record->points; i++) {
        free(record->part[i].unit_s);
        free(record->part[i].samples);
    }
    free(record);
    return good;
}

void team_result_free(struct team_result *result) {
    for (int i = 0; i < result->points; i++) {
        free(result->whole[i]);
        free(result->pair_s[i]);
    }
}

/* ---- values ---- */

double *team_whole_values(const struct team *team, const struct team_result *result,
                          const struct engine_config *config, int point) {
    const struct point *chosen = &result->point[point];
    bool data = figures[chosen->figure].directions > 0;
    double *values = check_alloc((size_t)result->count[point], sizeof *values);
    for (int i = 0; i < result->count[point]; i++) {
        const struct whole *whole = &result->whole[point][i];
        double whole_s = whole->last_end_s - whole->first_start_s;
        values[i] = data ? team->pairs * point_value(config, chosen, whole_s / result->units[point])
                         : point_value(config, chosen, whole->slowest_s);
    }
    return values;
}

double team_short_percent(const struct team_result *result, int point) {
    int short_ones = 0;
    for (int i = 0; i < result->count[point]; i++)
        short_ones +=
            clock_too_short(result->whole[point][i].last_end_s - result->whole[point][i].first_start_s);
    return 100.0 * short_ones / result->count[point];
}
