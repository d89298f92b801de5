/* What the ranks of a torus wait for: the time that they could have run and no processor was free
 * (schedstat). */
#ifndef COUNTERS_RANKS_H
#define COUNTERS_RANKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The name of a rank's process while it takes timed samples (benchmarks/lib/measure/timed.c). */
#define TIMED_NAME "railyard-timed"

struct ranks;

/* What all ranks did between two looks. The times are sums over the ranks, but for the largest of one rank.
 */
struct look {
    size_t ranks;
    size_t timed; /* ranks that took timed samples at both looks */
    uint64_t run_ns;
    uint64_t wait_ns;
    uint64_t most_wait_ns;
};

/* Return an empty set of ranks for the network namespaces with these inode numbers (the nodes'). */
struct ranks *ranks_open(const ino_t *namespaces, size_t count);

/* Look for ranks that started since the last time. What a rank did before it was found never counts. */
void ranks_find(struct ranks *ranks);

/* Look at every rank that was found and has not ended. */
struct look ranks_look(struct ranks *ranks);

#endif
