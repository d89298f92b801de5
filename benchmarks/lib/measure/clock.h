/*
 * One clock for all ranks of a communicator: what to add to a rank's own clock to have that of rank 0.
 *
 * Ranks that read the same clock (one boot of one kernel, one time namespace) need no correction among each
 * other. One rank of each such clock exchanges pings with another along a binomial tree, as in the
 * hierarchical synchronisation of Hunold and Carpen-Amarie (HCA); the ping with the shortest way there and
 * back counts. Two readings, before and after a measurement, correct the drift between them.
 *
 * Leaves out: ways that are slower in one direction. The error is at most the bound: half of the shortest way
 * there and back, added up along the tree.
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>

struct clock_reading {
    double at_s;    /* by this rank's clock */
    double ahead_s; /* lead of rank 0's clock over it */
    double bound_s; /* the largest error of ahead_s */
};

struct clock {
    int name;         /* of this rank's clock */
    MPI_Comm same;    /* the ranks with this rank's clock */
    MPI_Comm leaders; /* one rank of each clock; MPI_COMM_NULL elsewhere */
    bool made;        /* both were made for it */
    struct clock_reading first;
    struct clock_reading last;
};

/* This host's steady clock and its resolution; the simulated clock where MPI is simulated. */
double clock_now_s(void);
double clock_tick_s(void);

/* Seconds since 1970 to a thousandth, so that faults of the network can be drawn over them; 0 where MPI is
 * simulated. */
double clock_date_s(void);

/* Returns whether an interval has fewer than 100 ticks of the clock, which is too coarse. */
bool clock_too_short(double interval_s);

/* Collective. With `pings` every rank is treated as a separate clock, so that the error can be measured on
 * one host. */
struct clock clock_open(MPI_Comm comm, bool pings);
void clock_close(struct clock *clock);

/* Collective. Reads the clocks; clock_read_again adds the reading at the end. */
void clock_read(struct clock *clock);
void clock_read_again(struct clock *clock);

/* Collective over the communicator of clock_open. The error that is known, because the clocks are the same:
 * the largest difference that was read between rank 0's and another rank that reads the same clock. */
double clock_known_error_s(const struct clock *clock, MPI_Comm comm);

/* The largest bound of any rank. */
double clock_bound_s(const struct clock *clock, MPI_Comm comm);

/* A time of this rank's clock in that of rank 0, and the other way round. */
double clock_global_s(const struct clock *clock, double own_s);
double clock_own_s(const struct clock *clock, double global_s);
