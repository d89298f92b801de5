/*
 * The coordinates file: the torus router that each node is attached to (docs/formats.md, "Coordinates file"),
 * and the node of each rank.
 *
 * Leaves out: links, rates and rails; a benchmark needs only the position of its nodes.
 */
#pragma once

#include "lib/run/problem.h"

#include <stddef.h>

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

/* Returns the number of positions of a torus, and the row-major index of one. */
size_t coordinates_routers(const int *extents);
size_t coordinates_index(const int *extents, const int *position);

/*
 * The nodes as a grid of their own: X, Y and Z of the torus, with the nodes of a router one after the other
 * along Y, as Peña et al. count them (EuroMPI 2013, section 4.1). A node's slot on its router is its order in
 * the coordinates file.
 *
 * Leaves out: all but the lowest rank of each node (rowcol/splits.h counts them).
 */
struct lattice {
    int nodes_per_router;          /* the maximum over routers */
    int extents[TORUS_DIMENSIONS]; /* X, Y * nodes_per_router, Z */
    int *slot_of_node;             /* by index into the file's nodes */
    int *rank_at;                  /* the lowest rank at each position, row-major; -1: none */
};

void lattice_make(const struct coordinates *coordinates, int ranks, struct lattice *lattice);
void lattice_free(struct lattice *lattice);

/* Returns the position of a rank's node. */
void lattice_position(const struct lattice *lattice, const struct coordinates *coordinates, int rank,
                      int *position);

/* The lowest rank at a position, taken round the torus; -1: none. */
int lattice_rank(const struct lattice *lattice, const int *position);
