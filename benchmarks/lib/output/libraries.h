/*
 * Which communication libraries this process has really loaded, by the kernel's map of it.
 *
 * Taken after MPI has started, so libraries that MPI loads by itself (UCX, libfabric, PSM2) are there. Leaves
 * out: libraries that are linked into others, and versions of those that have no function to ask.
 */
#ifndef RAILYARD_LIB_OUTPUT_LIBRARIES_H
#define RAILYARD_LIB_OUTPUT_LIBRARIES_H

#include "lib/output/json.h"

/* Writes the member `libraries`: path and version (empty where unknown) of each, in the order of the map. */
void libraries_write(struct json *json);

#endif
