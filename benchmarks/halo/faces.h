/*
 * The faces of one rank's local array, with edges and corners if requested: their memory layout and packing,
 * their neighbours, and the bytes exchanged.
 *
 * The modelled array has its first dimension (X) contiguous and one double per cell, or `values` consecutive
 * doubles: ghost layers times variables. Below, a cell is one double. A face is a set of blocks of
 * consecutive cells at one stride, and so are edges and corners:
 *
 *     NxM     X: M blocks of 1, stride N      Y: 1 block of N
 *     NxMxK   X: MK blocks of 1, stride N     Y: K blocks of N, stride NM     Z: 1 block of NM
 *             edge along X: 1 block of N      along Y: M of 1, stride N       along Z: K of 1, stride NM
 *
 * Only faces have memory, not the array: the arrays of Peña et al. take 27 and 32 GiB a rank. A face whose
 * true extent is within the limit lies exactly as in the array. A longer one is folded: after `rows` blocks
 * at the true stride the next ones start again at the beginning, `pitch` cells further on, in the gaps that
 * the stride leaves. Every block keeps its own cells and cache lines and the stride to the one before; a face
 * takes at most the larger of the limit and 8 times its own bytes (one 64-byte line per single cell).
 *
 * Leaves out: how the faces are exchanged (variants.h), the address translation of the full extent (a folded
 * face comes back to the same pages sooner), and boundary and ghost cells sharing a cache line (they are
 * separate here).
 */
#pragma once

#include "halo/grid.h"
#include "lib/measure/memory.h"
#include "lib/measure/sampling.h"
#include "lib/measure/start.h"

enum { HALO_VARIANTS = 5 };

/* Dimensions and cells of a paper. */
struct halo_preset {
    const char *name;
    int dimensions;
    size_t cells;
};

struct halo_config {
    struct extents grid;
    int dimensions;
    enum grid_order order;
    const char *rank_map;
    struct extents cells;
    int values; /* doubles of each cell of a face: ghost layers times variables */
    const struct halo_preset *preset;
    size_t face_memory;
    bool full_stencil; /* edges and corners, too */
    struct memory memory;
    bool variants[HALO_VARIANTS];
    enum start start;
    struct sampling sampling;
};

/* The memory of a face. */
struct face_shape {
    size_t blocks;
    size_t length; /* cells of one block */
    size_t stride; /* cells from one block to the next */
    size_t rows;   /* blocks before the fold; equal to blocks: not folded */
    size_t pitch;  /* cells by which each further pass is shifted */
};

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

/* Both also pass the time of a copy in simulated runs, where computation takes no simulated time. Models:
 * bytes that cross the memory bus (a cell that stands alone in its cache line costs the line) over what one
 * core moves, RAILYARD_CORE_GBYTE_S of the environment, which `railyard sim` sets from its calibration: of
 * ranks that share a memory bank, each has its part. Leaves out caches, address translation, and ranks of one
 * bank that pack at different times. */
void face_pack(const struct memory *memory, const struct face_shape *shape, const double *field,
               double *buffer);
void face_unpack(const struct memory *memory, const struct face_shape *shape, const double *buffer,
                 double *field);

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
