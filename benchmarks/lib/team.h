/*
 * Pairs of ranks that measure at the same time, while all other ranks sleep.
 *
 * A team of one pair is the usual point-to-point benchmark. In a larger one every sample starts with a
 * barrier among the team's ranks, and each leader takes its own pair's time. Before each point every pair
 * verifies its data (lane.h).
 *
 * Leaves out: a rank in two pairs of a team.
 */
#ifndef RAILYARD_LIB_TEAM_H
#define RAILYARD_LIB_TEAM_H

#include "lib/lane.h"

#include <stdbool.h>

struct team {
    int pairs;
    int *from; /* leaders' ranks */
    int *to;
};

/* What a team measured, on rank 0. */
struct team_result {
    int pairs;
    int points;
    struct lane_point point[LANE_POINTS_MAX];
    int count[LANE_POINTS_MAX]; /* samples of each point, the same for all pairs */
    double **seconds;           /* of each pair: the samples of all points, one after the other */
};

struct team team_make(int pairs);
void team_free(struct team *team);

/* Collective. Runs all points; false on all ranks when data were wrong, with the message printed. */
bool team_measure(const struct team *team, const struct lane_config *config, const char *program,
                  struct team_result *result);
void team_result_free(struct team_result *result);

/* On rank 0: the values of a pair's samples at a point, in the unit of the test; to be freed. */
double *team_values(const struct team_result *result, const struct lane_config *config, int pair, int point);

/*
 * On rank 0: the team's value of each sample at a point, to be freed. The slowest pair's time counts: for a
 * rate, the bytes of all pairs over it; for a time, itself.
 */
double *team_totals(const struct team_result *result, const struct lane_config *config, int point);

#endif
