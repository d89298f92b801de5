/* Prints the counts of a torus's user-space router in the format of railyard-counters. */
#ifndef COUNTERS_ROUTER_H
#define COUNTERS_ROUTER_H

#include <stdbool.h>
#include <stdint.h>

struct routed;

/* The link that sent the largest share of its rate in an interval, and what all links sent. */
struct busiest {
    const char *host;
    const char *port;
    double share;
    uint64_t packets;
    uint64_t bytes;
};

/* Open the counters of a torus's router, or return NULL where the torus has none. */
struct routed *routed_open(const char *torus);

/* Print the lines of a snapshot, without its end. */
void routed_snapshot(struct routed *routed);

/* Sweep over all links; what is compared with is the sweep before. */
struct busiest routed_sweep(struct routed *routed, double seconds, bool timed);

/* Find the link that sent the largest share of its rate over all timed sweeps, with their total duration. */
struct busiest routed_timed(const struct routed *routed, double seconds);

#endif
