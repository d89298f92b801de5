/*
 * Finds the position of one host on a torus in a coordinates file (docs/formats.md) without storing the file.
 *
 * Leaves out: all other hosts (lib/ranks/coordinates.h).
 */
#ifndef RAILYARD_COUNTERS_TORUS_H
#define RAILYARD_COUNTERS_TORUS_H

#include "counters/source.h"

/* Fills the coordinate, the extents, key and label of a host; changes the text. */
void counter_torus_site(const char *path, char *text, const char *host, struct counter_site *site,
                        struct problem *problem);

#endif
