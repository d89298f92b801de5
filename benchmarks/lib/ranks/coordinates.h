/*
 * The coordinates file: the torus router that each node is attached to (docs/formats.md, "Coordinates file"),
 * and the node of each rank.
 *
 * Leaves out: links, rates and rails; a benchmark needs only the position of its nodes.
 */
#ifndef RAILYARD_LIB_RANKS_COORDINATES_H
#define RAILYARD_LIB_RANKS_COORDINATES_H

#include "lib/run/problem.h"

/* Dimensions that programs know, and those that a file may have: the third and the rest count as one. */
enum { TORUS_DIMENSIONS = 3, FILE_DIMENSIONS_MAX = 8 };

struct torus_node {
    const char *host;
    int line; /* line of the file that names this node */
    int coordinate[TORUS_DIMENSIONS];
};

/* A host and its index into the nodes. */
struct host_entry {
    const char *host;
    int node;
};

struct coordinates {
    int extents[TORUS_DIMENSIONS];
    int file_extents[FILE_DIMENSIONS_MAX]; /* extents of all dimensions in the file */
    int file_dimensions;
    int node_count;
    struct torus_node *nodes;   /* in the order of the file */
    struct host_entry *by_host; /* sorted by name */
    int *node_of_rank;          /* index into nodes */
    char *text;
};

/* Parser for option tables: letters of "XYZ", each once, into char[TORUS_DIMENSIONS + 1]. */
bool parse_dimension_letters(const char *text, void *field);

/* Collective. Reads the file and finds the node of every rank by its host name; all ranks know the whole. */
void coordinates_read(const char *path, const char *host, struct coordinates *coordinates,
                      struct problem *problem);

/*
 * Collective. The same on rank 0 only, so that only its memory grows with the number of nodes; other ranks
 * get an empty structure.
 */
void coordinates_gather(const char *path, const char *host, struct coordinates *coordinates,
                        struct problem *problem);

void coordinates_free(struct coordinates *coordinates);

#endif
