/*
 * The measuring part of topobw: rounds through the phases, and what rank 0 makes of them.
 *
 * Leaves out: printing (report.h).
 */
#pragma once

#include "lib/ranks/evidence.h"
#include "topobw/plan/plan.h"
#include "topobw/run/stream.h"
#include "topobw/verdict/blame.h"
#include "topobw/verdict/verdict.h"

#include <stdio.h>

enum routes { ROUTES_OFF, ROUTES_STRICT };

struct topobw_config {
    const char *coordinates;
    const char *links;
    double factor; /* 0: found from the data */
    struct stream_config stream;
    int repeats;
    int retests;
    double tolerance_percent;
    enum routes routes;
    double soak_s;           /* measure rounds for this long, and treat unstable links as bad */
    const char *nic_suffix;  /* NULL: the host's own name */
    const char *rounds_file; /* where rank 0 writes each round; NULL: nowhere */
    const char *counters;
    const char *json;
};

extern const char *const topobw_routes[ROUTES_STRICT + 1]; /* "off", "strict" */

struct topobw {
    struct topobw_config config;
    struct role roles[PHASES_MAX];
    int rounds; /* number of rounds: repeats + 2 x retests */
    int slots;  /* number of phases that any rank uses; each has a slot in `own` */
    int slot_of_phase[PHASES_MAX];
    int hops;    /* most routers on a way that are asked for their addresses; 0: none */
    int routers; /* in the phase of a probe, routers on the way from this rank; ROUTE_UNKNOWN */
    double *own; /* this rank's numbers: per slot the number of routers on the way to this rank, the addresses
                of those on the way from it, then start and end per round */
    int rounds_begun;
    double limit_s; /* time limit of a transfer: --deadline, or more if the first small transfer was slow */
    double given_up_bytes; /* bytes of the cancelled transfer; given_up_s: its time limit */
    double given_up_s;
    bool stuck;     /* a transfer was cancelled; all ranks stop measuring */
    double clock_s; /* last clock that the link's first sender reported; a cancelled request may still write
                       it */
    bool verified;  /* all data that were received are right */
    double counters_s; /* time spent in the counters library; 0: not used */

    /* On rank 0 alone. */
    struct coordinates coordinates;
    struct link_rates rates;
    struct plan plan;
    double *all; /* `own` of every rank */
    struct stability stability;
    FILE *rounds_file;
    int rounds_done;
    double begun_s;
    struct link_result *results;
    double factor; /* payload rate / rate in the links file; 0: no expected rates */
    int unjudged;  /* links that are not bad, but no datagram shows the way of their packets */
    char **ways;   /* for each transfer, the routers on its way, ">leaf0>spine1>leaf2>", then the same for the
                      ways of their answers; NULL: not known */
    int finding_count;
    struct finding *findings;
    int *explained_by; /* for each link, the index of its finding, or -1 */
};

/* Collective. Measures all links and judges them; a problem when data were wrong. */
void topobw_measure(struct topobw *run, struct problem *problem);

/* On rank 0. Returns the seconds of a transfer in a round; 0 if it was not in that round, infinity if it was
 * cancelled. */
double topobw_seconds(const struct topobw *run, const struct transfer *transfer, int round);

/* On rank 0. Seconds from the first start to the last end of a link's transfers in a round. */
double topobw_link_seconds(const struct topobw *run, int link, int round);

/* On rank 0. Returns whether a link that is not bad has a way that no datagram shows. */
bool topobw_is_unjudged(const struct topobw *run, int link);

/* On rank 0. Returns GB/s of a link whose transfers took `seconds`. */
double topobw_rate(const struct topobw *run, int link, double seconds);

/* ---- routes.c ---- */

/* Collective. Counts the routers on the ways of these phases, and asks them for their names where they are
 * traced. Called after the first round, when unreachable ranks are known. A busy machine may lose datagrams.
 * Ends after a phase in which none shows anything, because names of hosts may belong to another network. */
void topobw_probe_routes(struct topobw *run, uint64_t phases);

/*
 * Finds which direction of a link is dead. A transfer needs acknowledgements in the opposite direction, so a
 * link without an answer may be sound, and only the opposite direction dead.
 *
 * Both ends send each other more datagrams than a shaper passes immediately, and rank 0 collects along the
 * tree (relay.h) which ones arrived. A direction whose datagrams all arrive is not dead.
 *
 * Leaves out: listed plans, whose return routes usually use other links; more links than SILENT_MAX.
 *
 * Collective, after a transfer was cancelled. Corrects the results on rank 0: if only the opposite direction
 * of a link is dead, the link becomes "not tested" and the opposite direction "no answer".
 */
void topobw_probe_silence(struct topobw *run);

/* Of this rank's numbers, or another's: the number of routers on the way to it in a phase, and the addresses
 * of those on the way from it. */
double *topobw_routers(const struct topobw *run, double *numbers, int phase);
double *topobw_hops(const struct topobw *run, double *numbers, int phase);

/* Collective. True on all ranks when it is on any; the ranks leave together. A rank without a transfer waits
 * for those that have one. topobw_meet: when any rank has cancelled a transfer. */
bool topobw_on_any(const struct topobw *run, int here);
bool topobw_meet(const struct topobw *run);

void topobw_free(struct topobw *run);
