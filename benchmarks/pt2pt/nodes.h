/*
 * Groups ranks by node, using host names. Nodes are numbered in the order of their lowest ranks.
 *
 * Leaves out: node positions (lib/ranks/coordinates.h), and two hosts whose names have the same 64-bit hash.
 */
#pragma once

#include <stdbool.h>

struct nodes {
    int count;
    int *first; /* index of each node's first rank in `ranks`, then the number of ranks */
    int *ranks; /* sorted by node, then ascending */
};

/* Collective. Finds the nodes of the ranks; or counts each rank as a node. */
void nodes_find(struct nodes *nodes, bool every_rank);

/* Return the number of ranks of a node, and its rank at an index. */
int nodes_size(const struct nodes *nodes, int node);
int nodes_rank(const struct nodes *nodes, int node, int index);

void nodes_free(struct nodes *nodes);
