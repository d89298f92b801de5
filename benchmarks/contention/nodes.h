/*
 * Which ranks share a node, by the hosts' names. Nodes are numbered in the order of their lowest ranks.
 *
 * Leaves out: where the nodes stand (lib/coordinates.h), and two hosts whose names have the same 64-bit hash.
 */
#ifndef RAILYARD_CONTENTION_NODES_H
#define RAILYARD_CONTENTION_NODES_H

struct nodes {
    int count;
    int *of_rank;    /* the node of each rank */
    int *local;      /* each rank's place among the ranks of its node, from 0 */
    int *rank_count; /* of each node */
};

/* Collective. */
void nodes_find(struct nodes *nodes);

/* Every rank a node of its own. */
void nodes_of_ranks(struct nodes *nodes);

/* The rank at a place of a node. */
int nodes_rank(const struct nodes *nodes, int node, int local);

void nodes_free(struct nodes *nodes);

#endif
