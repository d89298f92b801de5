/*
 * The options of rowcol.
 *
 * Leaves out: the coordinates file's contents (lib/ranks/coordinates.h), and sizes that are too large for the
 * splits, which are checked later.
 */
#ifndef RAILYARD_ROWCOL_CONFIG_H
#define RAILYARD_ROWCOL_CONFIG_H

#include "lib/input/options.h"
#include "lib/input/parse.h"
#include "lib/measure/memory.h"
#include "lib/measure/sampling.h"
#include "rowcol/collective.h"
#include "rowcol/splits.h"

/* How a sample starts. */
enum start { START_AUTO, START_CLOCK, START_BARRIER };

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

const char *start_name(enum start start);

extern const struct option_table rowcol_options;

#endif
