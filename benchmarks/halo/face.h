/*
 * The memory layout of one face, edge or corner of a local array, and packing it.
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
 * Leaves out: the address translation of the full extent (a folded face comes back to the same pages sooner),
 * and boundary and ghost cells sharing a cache line (they are separate here).
 */
#ifndef RAILYARD_HALO_FACE_H
#define RAILYARD_HALO_FACE_H

#include "lib/input/parse.h"
#include "lib/measure/memory.h"

struct face_shape {
    size_t blocks;
    size_t length; /* cells of one block */
    size_t stride; /* cells from one block to the next */
    size_t rows;   /* blocks before the fold; equal to blocks: not folded */
    size_t pitch;  /* cells by which each further pass is shifted */
};

/* Returns the shape of the doubles sent to the neighbour at `step` (-1, 0 or 1 along each dimension), for an
 * array of these cells with `values` doubles each, folded to about limit_bytes if longer. */
struct face_shape face_shape(const struct extents *cells, size_t values, const int *step, size_t limit_bytes);

/* The cells of the face. */
size_t face_cells(const struct face_shape *shape);

/* The cells of the memory that the face lies in. */
size_t face_extent(const struct face_shape *shape);

/* Returns the position of cell i of the face in that memory; independent of the packing code, to verify it.
 */
size_t face_offset(const struct face_shape *shape, size_t i);

void face_pack(const struct memory *memory, const struct face_shape *shape, const double *field,
               double *buffer);
void face_unpack(const struct memory *memory, const struct face_shape *shape, const double *buffer,
                 double *field);

#endif
