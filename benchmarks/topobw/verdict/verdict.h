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
 * sound rate, too (readings.h); otherwise the link was disturbed, which is no fault. Has no side effects;
 * only rank 0 uses it.
 *
 * Leaves out: which component is to blame (blame.h), and links that are too fast.
 */
#ifndef RAILYARD_TOPOBW_VERDICT_VERDICT_H
#define RAILYARD_TOPOBW_VERDICT_VERDICT_H

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
    bool bad;
    enum way way;
    enum link_state state;
};

struct verdict_config {
    double tolerance;    /* 0 to 1 */
    double factor;       /* payload rate / rate in the links file; 0: the median over all links */
    double host_gbyte_s; /* rate of a host's link in the links file */
};

/* Fills expectation, peers, missing and state of every link. Returns the factor used, 0 without expectations.
 */
double verdict_judge(const struct verdict_config *config, const struct plan *plan,
                     struct link_result *results);

/* Returns the rate that limits a test of a link: its own, or that of its senders' links to their routers. */
double verdict_limit(const struct verdict_config *config, const struct tested_link *link);

/* Returns whether the link failed its test. */
bool verdict_is_bad(const struct link_result *result);

/* "sound", "slow", "detour", "no answer", "not tested", "unstable", "disturbed", "not judged", "explained".
 */
const char *verdict_name(enum link_state state);

/* Writes the first peer of each link; the link itself if no earlier link is a peer. */
void verdict_groups(const struct plan *plan, int *group);

/* Sorts the values and returns their median. */
double verdict_median(double *values, int count);

#endif
