/*
 * A common start of all ranks, so that a time runs from one moment to the last rank's end.
 *
 * Rank 0 broadcasts a time on the common clock (clock.h), and each rank waits for it (Hunold and
 * Carpen-Amarie's round time). Alternatively all start as they leave a barrier, each with its own clock.
 * Ranks leave a barrier one after the other, and on a network with slow links what the first send delays the
 * barrier of the last: a halo exchange of 64 ranks on a virtual torus then took 60 ms or, for dozens of
 * iterations after a burst of load, 120 ms.
 *
 * Leaves out: what a late rank is worth, which the caller decides.
 */
#pragma once

#include "lib/measure/clock.h"

enum start { START_AUTO, START_CLOCK, START_BARRIER };

/* Their names, and how an option describes them. */
extern const char *const start_names[START_BARRIER + 1];
#define START_VALUES "clock, barrier, auto (clock where each rank of a host can have a CPU)"

struct starter {
    MPI_Comm comm;
    enum start start; /* clock or barrier */
    struct clock clock;
    bool one_clock; /* all ranks share one clock, which is read only once */
    double slack_s; /* time from rank 0's broadcast to the common start */
    double most_slack_s;
    double margin_s; /* from the arrival of the last broadcast here to the start; below 0: it was late */
    double read_s;   /* time of the last reading of the clocks; rank 0's value counts */
};

/* Collective. `comm` has all ranks. With `pings` every rank is treated as a separate clock (clock_open). */
struct starter starter_open(MPI_Comm comm, enum start asked, bool pings);
void starter_close(struct starter *starter);

/* Collective. Returns when all begin, and the time of it by this rank's clock; *late_s is how late it is.
 * Ranks that may be late by a `tolerance_s` of a millisecond and more sleep until then, others poll at the
 * end. */
double starter_begin(struct starter *starter, double tolerance_s, double *late_s);

/* Leaves as much time for the next broadcast as the last one needed, and a quarter more. `least_s` is the
 * least margin of all ranks; rank 0's value counts. */
void starter_fit(struct starter *starter, double least_s);

/* Leaves more time for the next broadcast, or a little less. */
void starter_slower(struct starter *starter);
void starter_faster(struct starter *starter);
