/*
 * Finds the components that explain the bad links: routers, nodes, cables or single links.
 *
 * More than half of all links bad is one finding, the network. A node or router explains its transfers when
 * all that were tested are bad and they are on BLAME_MIN links or more (BLAME_MIN_ONE_WAY if only what it
 * sends, or receives, is bad). One that is good and no faster than the fastest bad one clears nobody: what
 * limits the node to that rate could not slow it. The one that explains most transfers comes first, until
 * none is left. Then both directions of one cable make one finding, and each remaining link its own. With one
 * node a router the two cannot be told apart, and are named together. Pure; rank 0 alone uses it.
 *
 * Leaves out: larger components (a module, a cabinet) and probabilities.
 */
#ifndef RAILYARD_TOPOBW_VERDICT_BLAME_H
#define RAILYARD_TOPOBW_VERDICT_BLAME_H

#include "topobw/verdict/verdict.h"

enum { BLAME_MIN = 3, BLAME_MIN_ONE_WAY = 2 };

enum component { COMPONENT_LINK, COMPONENT_CABLE, COMPONENT_NODE, COMPONENT_ROUTER, COMPONENT_NETWORK };

enum direction { DIRECTION_ANY, DIRECTION_SENDING, DIRECTION_RECEIVING };

struct finding {
    enum component component;
    enum direction direction; /* of a node or router: only what it sends or receives is bad */
    int rank;                 /* of the node, or of a node of the router; -1 for a link or cable */
    bool only_node;           /* the router has no other node in the test */
    int link;                 /* the first link explained */
    int links;                /* how many */
    double missing;           /* the median of its links, 0 to 1 */
    char *part;               /* of a listed plan: what is to blame, "global:r0-3>r8-0"; else NULL */
};

/*
 * The findings, the largest first, to be freed; *explained_by[link] is the index of the link's finding, -1
 * for a sound one. transfer_bad says it of each transfer of the plan, and rates are those of its transfers,
 * of which two that differ by the tolerance (0 to 1) are alike.
 */
struct finding *blame(const struct plan *plan, const struct link_result *results, const bool *transfer_bad,
                      const double *rates, double tolerance, int *count, int *explained_by);

/* "link", "cable", "node", "router", "network". */
const char *component_name(enum component component);

#endif
