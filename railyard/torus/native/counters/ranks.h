/* What the ranks of a torus wait for: the time that they could have run and no processor was free
 * (schedstat). */
#ifndef COUNTERS_RANKS_H
#define COUNTERS_RANKS_H

#include <stddef.h>
#include <sys/types.h>

struct ranks;

/* Return an empty set of ranks for the network namespaces with these inode numbers (the nodes'). */
struct ranks *ranks_open(const ino_t *namespaces, size_t count);

/* Look at every rank and print one line of what changed since the last look:
 *
 *   w seconds ranks run_ns wait_ns most_wait_ns
 *
 * `run_ns` and `wait_ns` are sums over the ranks, `most_wait_ns` is the largest of one rank. Ranks that were
 * not there before do not count: what they did before they were seen is their start. */
void ranks_look(struct ranks *ranks, double seconds);

#endif
