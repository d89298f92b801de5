/*
 * How rowcol measures one way to split: all splits start together, the slowest rank's time counts.
 *
 * Leaves out: where the ranks stand (splits.h), and what becomes of the samples.
 */
#ifndef RAILYARD_ROWCOL_MEASURE_H
#define RAILYARD_ROWCOL_MEASURE_H

#include "rowcol/config.h"
#include "rowcol/splits.h"

enum { POINTS_MAX = COLLECTIVES * PARSE_LIST_MAX };

/* One collective at one size. */
struct point {
    const struct collective *collective;
    size_t bytes;
};

struct run {
    struct rowcol_config config;
    struct standing standing;
    int point_count;
    struct point points[POINTS_MAX];
};

/* What was measured of one way to split: the samples of all points, one after the other. */
struct recording {
    int count[POINTS_MAX];
    int total;
    double *samples_us;
};

/*
 * Collective. Measures all points of one way. On the first rank of each split the recording has the times of
 * the split's slowest rank; its samples are to be freed. False on all ranks when data were wrong, with the
 * message printed.
 */
bool rowcol_measure(const struct run *run, int way, const char *program, struct recording *mine);

#endif
