/* What the ranks of a torus wait for: the time that they could have run and no processor was free
 * (schedstat). */
#ifndef COUNTERS_RANKS_H
#define COUNTERS_RANKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ranks;

/* A node: its network namespace, and its number among the times that `ranks_look` is given. */
struct rank_node {
    ino_t inode;
    int64_t number;
};

/* Return an empty set of ranks for these nodes. */
struct ranks *ranks_open(const struct rank_node *nodes, size_t count);

/* Look at every rank and print one line of what changed since the last look:
 *
 *   w seconds ranks run_ns wait_ns most_wait_ns delay_ns
 *
 * `run_ns` and `wait_ns` are sums over the ranks, `most_wait_ns` is the largest of one rank. `delay_ns` is
 * the sum of what each rank waited, but of each rank at most the time `quiet_ns` in which nothing was under
 * way from its node or to it; NULL where that is not known. Ranks that were not there before do not count:
 * what they did before they were seen is their start. */
void ranks_look(struct ranks *ranks, double seconds, const uint64_t *quiet_ns);

#endif
