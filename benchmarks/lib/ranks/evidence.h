/*
 * Where each rank really ran, as seen from inside: host, CPU, allowed CPUs, NUMA node.
 *
 * Taken once, after the measurement. Leaves out: migrations during the run (an unbound rank may move), GPUs
 * and NICs.
 */
#ifndef RAILYARD_LIB_RANKS_EVIDENCE_H
#define RAILYARD_LIB_RANKS_EVIDENCE_H

#include <stddef.h>

enum { EVIDENCE_HOST_BYTES = 256 };

struct evidence {
    char host[EVIDENCE_HOST_BYTES];
    int cpu;            /* -1: unknown */
    int numa_node;      /* -1: unknown */
    int allowed_count;  /* 0: unknown */
    int allowed_offset; /* of the rank's first CPU in evidence_list.allowed_cpus */
};

struct evidence_list {
    int ranks;
    struct evidence *of_rank;
    int *allowed_cpus;
};

/* The name of this host, as the coordinates file must spell it. */
void evidence_host(char *host);

/* Collective. All ranks' evidence on rank 0; an empty list elsewhere. */
void evidence_gather(struct evidence_list *list);

/* The number of different hosts. */
int evidence_hosts(const struct evidence_list *list);

void evidence_free(struct evidence_list *list);

#endif
