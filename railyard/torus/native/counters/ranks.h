/* The time for which ranks of a torus were runnable but had no processor (schedstat). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The name of a rank's process while it takes timed samples (benchmarks/lib/measure/sampling.c). */
#define TIMED_NAME "railyard-timed"

struct ranks;

/* The activity of all ranks between two sweeps. The times are sums over the ranks, except for the largest of
 * one rank. */
struct look {
    size_t ranks;
    size_t timed; /* ranks that took timed samples at both looks */
    uint64_t run_ns;
    uint64_t wait_ns;
    uint64_t most_wait_ns;
};

/* Return an empty set of ranks for the network namespaces with these inode numbers (the nodes'). */
struct ranks *ranks_open(const ino_t *namespaces, size_t count);

/* Find ranks that started since the last call. A rank's activity before it was found is never counted. */
void ranks_find(struct ranks *ranks);

/* Look at every rank that was found and has not ended. */
struct look ranks_look(struct ranks *ranks);
