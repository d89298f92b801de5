/*
 * Adds the time of copies in simulated runs, where computation takes no simulated time.
 *
 * Models: bytes that cross the memory bus (a cell that stands alone in its cache line costs the line) over
 * what one core moves, RAILYARD_CORE_GBYTE_S of the environment, which `railyard sim` sets from its
 * calibration: of ranks that share a memory bank, each has its part. Leaves out caches, address translation,
 * and ranks of one bank that pack at different times. In every other build these functions do nothing.
 */
#ifndef RAILYARD_HALO_COPYTIME_H
#define RAILYARD_HALO_COPYTIME_H

#include "halo/face.h"

/* Waits for the time that packing or unpacking the face takes: one pass over its cache lines and one over its
 * cells. */
void copytime_pass(const struct face_shape *shape);

#endif
