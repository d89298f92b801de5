/*
 * Finds the components that explain the bad links: routers, nodes, cables or single links.
 *
 * If more than half of all links are bad, the only finding is the network. A node or router explains its
 * transfers if all that were tested are bad and they use at least BLAME_MIN links (BLAME_MIN_ONE_WAY if only
 * what it sends, or receives, is bad). A good transfer that is no faster than the fastest bad one does not
 * exclude a node, because a limit at the rate of the bad one would not have slowed it. The node or router
 * that explains most transfers is found first; this repeats until none explains any. Then both directions of
 * one cable make one finding, and each remaining link makes its own. With one node per router the two cannot
 * be distinguished and are named together. Has no side effects; only rank 0 uses it.
 *
 * Leaves out: larger components (a module, a cabinet) and probabilities.
 */
#pragma once

#include "topobw/verdict/verdict.h"

enum { BLAME_MIN = 3, BLAME_MIN_ONE_WAY = 2 };

enum component { COMPONENT_LINK, COMPONENT_CABLE, COMPONENT_NODE, COMPONENT_ROUTER, COMPONENT_NETWORK };

enum direction { DIRECTION_ANY, DIRECTION_SENDING, DIRECTION_RECEIVING };

struct finding {
    enum component component;
    enum direction direction; /* for a node or router that only sends badly, or only receives badly */
    int rank;                 /* a rank on the node or router; -1 for a link or cable */
    bool only_node;           /* the router has no other node in the test */
    int link;                 /* the first link explained */
    int links;                /* number of links explained */
    enum link_state state;    /* of the first link, before it was explained */
    double missing;           /* median of its links' missing share of the rate, 0 to 1 */
    char *part;               /* listed plans: name of the bad part, "global:r0-3>r8-0"; else NULL */
    char *other;              /* a part that explains as much, because the same packets cross it; or NULL */
};

/*
 * Returns the findings, the largest first, to be freed by the caller; explained_by[link] is the index of the
 * link's finding, -1 for a sound link. transfer_bad[i] and rates[i] belong to transfer i of the plan; two
 * rates that differ by at most the tolerance (0 to 1) count as equal.
 */
struct finding *blame(const struct plan *plan, const struct link_result *results, const bool *transfer_bad,
                      const double *rates, double tolerance, int *count, int *explained_by);

/* "link", "cable", "node", "router", "network". */
const char *component_name(enum component component);
