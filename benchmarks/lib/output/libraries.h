/*
 * Lists the communication libraries that this process has loaded, according to /proc/self/maps.
 *
 * Read after MPI_Init, so libraries that MPI loads itself (UCX, libfabric, PSM2) are included. Leaves out:
 * libraries that are linked into others, and versions of libraries without a version function.
 */
#ifndef RAILYARD_LIB_OUTPUT_LIBRARIES_H
#define RAILYARD_LIB_OUTPUT_LIBRARIES_H

#include "lib/output/json.h"

/* Writes the member `libraries`: path and version (empty where unknown) of each, in the order of the map. */
void libraries_write(struct json *json);

#endif
