/*
 * Judges a link: its rate against the expected rate of its class and sharing, and against its peers; the way
 * of its packets against the usual one. A link that packets go round is bad at any rate, and one whose way no
 * datagram shows is not judged.
 *
 * Peers are links of the same class (or, without a links file, of the same dimension and phases), with as
 * many sharers. A link is slow by its peers when it is both the tolerance and PEER_DEVIATIONS robust
 * deviations (1.4826 x the median absolute deviation) below their median. This assumes no distribution, and a
 * slow minority does not move the median. It is slow by expectation when it is EXPECTATION_TOLERANCES
 * tolerances below the expected rate. That limit is wider because a rate in a file does not include the cost
 * of protocols and processors, while peers share that cost. Slowness is proven if the readings exclude a
 * sound rate, too (readings_shortest); otherwise the link was disturbed, which is no fault. Has no side
 * effects; only rank 0 uses it.
 *
 * Leaves out: which component is to blame (blame.h), and links that are too fast.
 */
#pragma once

#include "topobw/plan/plan.h"

enum { PEERS_MIN = 4, PEER_DEVIATIONS = 4, EXPECTATION_TOLERANCES = 2 };

enum link_state {
    LINK_SOUND,
    LINK_SLOW,
    LINK_DETOUR,
    LINK_SILENT,
    LINK_UNTESTED,
    LINK_UNSTABLE,
    LINK_DISTURBED,
    LINK_UNJUDGED,
    LINK_EXPLAINED /* bad because of a part that a finding names; the link may be sound */
};

/* The way of a link's packets. */
enum way { WAY_NOT_ASKED, WAY_USUAL, WAY_OTHER, WAY_UNSEEN };

/* The measurements of one link, and its verdict. */
struct link_result {
    double seconds;          /* time in the fastest round; infinity: no answer in time; 0: not tested */
    double rate_gbyte_s;     /* rate of all its transfers together */
    int routers;             /* number of routers on the route, or ROUTE_UNKNOWN */
    double expected_gbyte_s; /* expected rate; 0: unknown */
    double possible_gbyte_s; /* the highest rate that its readings do not exclude */
    double peers_gbyte_s;    /* median rate of its peers; 0: fewer than PEERS_MIN */
    double least_gbyte_s;    /* least rate at which its peers count it as sound; 0: fewer than PEERS_MIN */
    double missing;          /* missing share of the reference rate, 0 to 1 */
    bool slow;               /* slow by its peers or by expectation */
    bool proven;             /* slow, and its readings exclude that a disturbance alone made it so */
    bool bad;                /* the link failed its test */
    enum way way;
    enum link_state state;
};

struct verdict_config {
    double tolerance;    /* 0 to 1 */
    double factor;       /* payload rate / rate in the links file; 0: the median over all links */
    double host_gbyte_s; /* rate of a host's link in the links file */
};

/* Fills expectation, peers, missing and state of every link. Returns the factor, 0 without expectations. */
double verdict_judge(const struct verdict_config *config, const struct plan *plan,
                     struct link_result *results);

/* Returns the rate that limits a test of a link: its own, or that of its senders' links to their routers. */
double verdict_limit(const struct verdict_config *config, const struct tested_link *link);

/* "sound", "slow", "detour", "no answer", "not tested", "unstable", "disturbed", "not judged", "explained".
 */
const char *verdict_name(enum link_state state);

/* Writes the first peer of each link; the link itself if no earlier link is a peer. */
void verdict_groups(const struct plan *plan, int *group);

/*
 * Bounds the true time of a link from several, possibly disturbed measurements.
 *
 * Models a reading as the link's own time plus a disturbance, exponentially distributed: F is then the
 * distribution of (fastest - own) n / (mean excess over the fastest), with 2 and 2 (n - 1) degrees of
 * freedom. The result is the shortest own time that the readings do not exclude, with one chance of error in
 * a thousand. Readings that agree leave no room below the fastest; those that differ do. Pure.
 *
 * Leaves out: a disturbance that adds the same time to each reading, which looks like a slow link.
 *
 * Returns the shortest time in seconds that the readings do not exclude: above 0 and at most the fastest
 * reading. A single reading is returned as it is. */
double readings_shortest(const double *seconds, int count);

/*
 * Finds unstable links: those whose rate often falls below their peers' in the same round.
 *
 * A link dips in a round when its rate is DIP_PERCENT or more below its peers' median of that round. A load
 * that slows all links at the same time is not a dip. A link is unstable when it dips more often than its
 * peers do on average, by more than four standard deviations of a Poisson process, and still is fast in some
 * rounds. The verdict judges links that are always slow. Memory does not grow with the number of rounds.
 * Pure; rank 0 alone uses it.
 *
 * Leaves out: when a dip began and ended within a round.
 */
enum { DIP_PERCENT = 20, DIP_DEVIATIONS = 4 };

/* The results of one link over all rounds. */
struct link_rounds {
    int rounds;
    int dips;
    double lowest; /* rate over the peers' median in its worst round; 1 without any round */
};

struct stability {
    int links;
    int *group; /* for each link, the index of its first peer */
    struct link_rounds *of_link;
};

struct stability stability_make(const struct plan *plan);
void stability_free(struct stability *stability);

/* Adds a round: the rate of each link, 0 where it was not in the round. */
void stability_add(struct stability *stability, const double *rates);

bool stability_is_unstable(const struct stability *stability, int link);
