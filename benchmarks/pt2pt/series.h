/*
 * Turns the measurements of a team into series.
 *
 *     latency_us, bandwidth_gbyte_s, ...   of a pair alone
 *     aggregate_bandwidth_gbyte_s          all data over the time from the first start to the last end
 *     slowest_latency_us, mean_latency_us  the largest, and the mean, of all pairs' times
 *     overlap_percent                      the share of the sample in which all pairs were active
 *     slowest_latency_us of pattern `all`  a sample for each step, the median of its repeats; of a rate, the
 *                                          aggregate
 *     pair_bandwidth_gbyte_s, ...          of each pair by its own time; for the document alone
 *     under_sampled_percent                samples shorter than 100 ticks of the clock, where there are any
 *
 * Leaves out: which pairs there are, and the labels that name them; the pattern knows.
 */
#pragma once

#include "lib/output/output.h"
#include "pt2pt/team.h"

enum { SET_LABELS_MAX = 4, SET_REASON_BYTES = 96 };

/* Pairs that measure at the same time, and the labels that identify them. */
struct set {
    struct team team; /* no pairs: not measured */
    char reason[SET_REASON_BYTES];
    int label_count;
    struct label labels[SET_LABELS_MAX];
    char dimension[8]; /* the text of a label */
    bool alone;        /* one pair at a time: its own FOMs, its hosts in every series */
    bool ranks;        /* pairs are labelled by their ranks, too */
};

/* On rank 0. Adds all series of a result. The set must outlive the list, which uses its texts. */
void series_of_set(const struct set *set, const struct team_result *result,
                   const struct engine_config *config, const struct evidence_list *evidence,
                   struct series_list *list);

/* On rank 0. Adds the series of one point over sets that were measured one after the other: a sample for each
 * set. `short_percent` of the sets' samples were too short for the clock. */
void series_over_sets(const struct set *set, const struct point *point, double *samples, int count,
                      double short_percent, struct series_list *list);

/* Adds a series without samples for each figure of a chosen test, with the reason. */
void series_missing(const struct set *set, const struct engine_config *config, struct series_list *list);
