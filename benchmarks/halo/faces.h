/*
 * The faces of one rank's local array, with edges and corners if requested: their memory, their neighbours,
 * and the bytes exchanged.
 *
 * Leaves out: how the faces are exchanged (variants.h).
 */
#ifndef RAILYARD_HALO_FACES_H
#define RAILYARD_HALO_FACES_H

#include "halo/config.h"
#include "halo/face.h"
#include "lib/run/problem.h"

enum { FACES_MAX = 26 };

/* One face of this rank: what is sent through it, and what comes in through it. */
struct face {
    struct face_shape shape;
    int cells;
    int step[PARSE_DIMENSIONS_MAX]; /* step to the neighbour: -1, 0 or 1 along each dimension */
    int neighbour;
    bool own;         /* the neighbour is this rank: the grid has one rank along each dimension of the step */
    double *boundary; /* strided: sent from here */
    double *ghost;    /* strided: received to here */
    double *outgoing; /* packed */
    double *incoming;
};

struct faces {
    const struct memory *memory;
    int count;
    /* Face 2d is the minus side of dimension d, 2d + 1 the plus side; then edges and corners, each followed
     * by its opposite. */
    struct face face[FACES_MAX];
};

/* The face of the neighbour that this rank's face meets. */
int faces_opposite(int face);

void faces_make(const struct halo_config *config, const struct grid *grid, struct faces *faces);
void faces_free(struct faces *faces);

/* Bytes of one face across a dimension. */
size_t faces_bytes(const struct faces *faces, int dimension);

/* Sent and received by one rank in one iteration. */
size_t faces_exchanged_bytes(const struct faces *faces);

/* Of these, what a rank exchanges with itself. */
size_t faces_own_bytes(const struct faces *faces);

/* Boundaries with the payload of that round; ghosts and buffers with what no payload holds. */
void faces_prepare(struct faces *faces, uint64_t seed, int round);

/*
 * A problem for the first ghost cell that does not hold what the neighbour sent in that round; with `own`,
 * what this rank's own boundary of the same face holds. A test build may corrupt the first face before.
 */
void faces_check(struct faces *faces, uint64_t seed, int round, bool own, struct problem *problem);

#endif
