/*
 * Pairs of ranks that measure at the same time while all other ranks sleep, and their combined results.
 *
 * A rank may be in several pairs. All times are converted to one clock. A sample then lasts from the first
 * start to the last end, and the overlap is the share of it in which all pairs were active.
 *
 * Leaves out: individual times if there are more than DETAIL_PAIRS pairs.
 */
#pragma once

#include "pt2pt/engine.h"

#include <stdbool.h>

enum { DETAIL_PAIRS = 1024 };

struct team {
    int pairs;
    struct pair *pair;
};

/* One sample of all pairs, on rank 0. */
struct whole {
    double first_start_s; /* these four are on one common clock */
    double last_start_s;
    double first_end_s;
    double last_end_s;
    double slowest_s; /* slowest pair's time per unit, or its percentile */
    double sum_s;
};

/* The results of a team, on rank 0. */
struct team_result {
    int points;
    struct point point[POINTS_MAX];
    int count[POINTS_MAX]; /* samples of the point */
    int units[POINTS_MAX]; /* units per sample */
    struct whole *whole[POINTS_MAX];
    double *pair_s[POINTS_MAX]; /* time per unit, [pair * count + sample]; NULL for more than DETAIL_PAIRS */
    double clock_bound_s;       /* the largest error of the common clock; 0 for a pair alone */
};

struct team team_make(int pairs);
void team_free(struct team *team);

/* Collective. Runs all points; false on all ranks when data were wrong, with the message printed. */
bool team_measure(const struct team *team, const struct engine_config *config, const char *program,
                  struct team_result *result);
void team_result_free(struct team_result *result);

/* On rank 0, to be freed. The team's: for data, those of all pairs over the whole of each sample; for a time,
 * the slowest pair's. */
double *team_whole_values(const struct team *team, const struct team_result *result,
                          const struct engine_config *config, int point);

/* Returns the percentage of the samples that are too short for the clock (clock_too_short). */
double team_short_percent(const struct team_result *result, int point);
