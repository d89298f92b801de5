/*
 * Measures one way to split the ranks: all splits start together, and the slowest rank's time is recorded.
 *
 * They start together (lib/measure/start.h), and a rank's time runs from that moment to its own end. A sample
 * in which any rank was late is dropped and counted. A rank that leaves a barrier late measures too short a
 * time.
 *
 * Leaves out: the positions of ranks (splits.h), and the reporting of samples.
 */
#pragma once

#include "lib/measure/sampling.h"
#include "lib/measure/start.h"
#include "rowcol/collective.h"
#include "rowcol/splits.h"

struct rowcol_config {
    const char *coordinates;
    bool ways[SPLIT_WAYS];
    bool collectives[COLLECTIVES];
    struct number_list sizes;
    int batch;
    enum start start;
    double late_s;            /* a sample in which a rank began later than this is dropped ... */
    double late_percent;      /* ... and by more than this percentage of its time */
    double late_most_percent; /* upper limit of late_percent, which grows when samples are dropped */
    bool clock_pings;
    struct memory memory;
    struct sampling sampling;
};

enum { POINTS_MAX = COLLECTIVES * PARSE_LIST_MAX };

/* One collective at one size. */
struct point {
    const struct collective *collective;
    size_t bytes;
};

struct run {
    struct rowcol_config config;
    struct standing standing;
    int measured; /* ways to split, and those whose data were right */
    int verified;
    int point_count;
    struct point points[POINTS_MAX];
    enum start start; /* what it was */
    double clock_bound_s;
    double clock_error_s;
};

/* The measurements of one way to split: the samples of all points, one after the other. */
struct recording {
    int count[POINTS_MAX];        /* 0: the ranks could not start together often enough */
    int dropped[POINTS_MAX];      /* samples in which a rank began late */
    long calls[POINTS_MAX];       /* of the collective, checks and warm-ups included */
    double latest_us[POINTS_MAX]; /* the latest start of a rank in an accepted sample */
    int total;
    int room;
    double *samples_us;
    double *mean_us; /* over all ranks, on rank 0 */
    double clock_bound_s;
    double clock_error_s; /* where it is known */
    enum start start;     /* what it was */
};

/*
 * Collective. Measures all points of one way. On the first rank of each split the recording has the times of
 * the split's slowest rank; its samples and means are to be freed. False on all ranks when data were wrong,
 * with the message printed.
 */
bool rowcol_measure(const struct run *run, int way, const char *program, struct recording *record);
