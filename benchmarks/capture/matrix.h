/* Writes the matrix of all ranks to the file that RAILYARD_MATRIX names (docs/formats.md, "Matrix"). */
#ifndef RAILYARD_CAPTURE_MATRIX_H
#define RAILYARD_CAPTURE_MATRIX_H

#include "capture/pairs.h"

/* Collective. Rank 0 takes one rank's pairs at a time, so its memory does not grow with the ranks. */
void matrix_write(const struct pairs *pairs, uint64_t left_out);

#endif
