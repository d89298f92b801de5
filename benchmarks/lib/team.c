/* Concurrent pairs; see team.h. */
#include "lib/team.h"

#include "lib/check.h"
#include "lib/collect.h"
#include "lib/idle.h"

#include <stdlib.h>

struct team team_make(int pairs) {
    return (struct team){.pairs = pairs,
                         .from = check_alloc((size_t)pairs, sizeof(int)),
                         .to = check_alloc((size_t)pairs, sizeof(int))};
}

void team_free(struct team *team) {
    free(team->from);
    free(team->to);
}

/* This rank's pair in the team, -1 when it has none. */
static int find_pair(const struct team *team, int rank) {
    for (int i = 0; i < team->pairs; i++)
        if (team->from[i] == rank || team->to[i] == rank)
            return i;
    return -1;
}

/* Collective. The communicator of the team's ranks, where there is more than one pair. */
static MPI_Comm team_comm(const struct team *team, bool member) {
    MPI_Comm comm = MPI_COMM_NULL;
    if (team->pairs > 1)
        MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, check_rank(), &comm));
    return comm;
}

/* What one end measures: the samples of all points, one after the other. */
struct recording {
    int total;
    double *seconds;
};

/* Whether any pair of the team found wrong data; the ends of one pair know of each other. */
static bool any_wrong(const struct lane *lane, const struct problem *problem) {
    int wrong = problem_is_set(problem);
    if (lane->team != MPI_COMM_NULL)
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, lane->team));
    return wrong;
}

static void measure_points(const struct lane *lane, struct team_result *result, struct recording *mine,
                           struct problem *problem) {
    for (int i = 0; i < result->points; i++) {
        lane_verify(lane, result->point[i].bytes, problem);
        if (any_wrong(lane, problem))
            return;
        result->count[i] = lane_measure(lane, &result->point[i], mine->seconds + mine->total);
        mine->total += result->count[i];
    }
}

static void measure_pair(const struct team *team, int pair, MPI_Comm comm, const struct lane_config *config,
                         struct team_result *result, struct recording *mine, struct problem *problem) {
    int rank = check_rank();
    bool leads = team->from[pair] == rank;
    struct lane lane = lane_open(config, rank, leads ? team->to[pair] : team->from[pair]);
    lane.leads = leads;
    lane.team = comm;
    measure_points(&lane, result, mine, problem);
    lane_close(&lane);
}

/* The numbers of samples, from the first pair's leader to rank 0. */
static void collect_counts(const struct team *team, struct team_result *result) {
    double counts[LANE_POINTS_MAX];
    int points = result->points;
    for (int i = 0; i < points; i++)
        counts[i] = result->count[i];
    double *collected = collect_doubles(team->from[0], counts, &points);
    for (int i = 0; collected && i < points; i++)
        result->count[i] = (int)collected[i];
    free(collected);
}

static void collect(const struct team *team, const struct recording *mine, struct team_result *result) {
    collect_counts(team, result);
    for (int pair = 0; pair < team->pairs; pair++) {
        int total = mine->total;
        double *seconds = collect_doubles(team->from[pair], mine->seconds, &total);
        if (seconds)
            result->seconds[pair] = seconds;
    }
}

bool team_measure(const struct team *team, const struct lane_config *config, const char *program,
                  struct team_result *result) {
    struct problem problem = {0};
    struct recording mine = {0};
    int pair = find_pair(team, check_rank());
    MPI_Comm comm = team_comm(team, pair >= 0);
    *result = (struct team_result){.pairs = team->pairs};
    result->points = lane_points_list(&config->points, result->point);
    result->seconds = check_alloc((size_t)team->pairs, sizeof *result->seconds);
    mine.seconds = check_alloc((size_t)result->points * (size_t)config->sampling.repeats, sizeof(double));
    if (pair >= 0)
        measure_pair(team, pair, comm, config, result, &mine, &problem);
    idle_barrier();
    bool good = !problem_agree(&problem, program);
    if (good)
        collect(team, &mine, result);
    if (comm != MPI_COMM_NULL)
        MPI_CHECK(MPI_Comm_free(&comm));
    free(mine.seconds);
    return good;
}

void team_result_free(struct team_result *result) {
    for (int pair = 0; pair < result->pairs; pair++)
        free(result->seconds[pair]);
    free(result->seconds);
}

static int offset_of(const struct team_result *result, int point) {
    int offset = 0;
    for (int i = 0; i < point; i++)
        offset += result->count[i];
    return offset;
}

static double value_of(const struct lane_config *config, const struct lane_point *point, double seconds) {
    return lane_tests()[point->test].value(config, point->bytes, seconds);
}

double *team_values(const struct team_result *result, const struct lane_config *config, int pair, int point) {
    const double *seconds = result->seconds[pair] + offset_of(result, point);
    double *values = check_alloc((size_t)result->count[point], sizeof *values);
    for (int i = 0; i < result->count[point]; i++)
        values[i] = value_of(config, &result->point[point], seconds[i]);
    return values;
}

static double slowest_s(const struct team_result *result, int at) {
    double slowest = 0;
    for (int pair = 0; pair < result->pairs; pair++)
        if (result->seconds[pair][at] > slowest)
            slowest = result->seconds[pair][at];
    return slowest;
}

double *team_totals(const struct team_result *result, const struct lane_config *config, int point) {
    const struct lane_point *chosen = &result->point[point];
    double shares = lane_tests()[chosen->test].directions > 0 ? result->pairs : 1;
    int offset = offset_of(result, point);
    double *totals = check_alloc((size_t)result->count[point], sizeof *totals);
    for (int i = 0; i < result->count[point]; i++)
        totals[i] = shares * value_of(config, chosen, slowest_s(result, offset + i));
    return totals;
}
