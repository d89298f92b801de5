/*
 * The options of halo, and their values for this number of ranks.
 *
 * Leaves out: the rank map's contents (grid.h).
 */
#ifndef RAILYARD_HALO_CONFIG_H
#define RAILYARD_HALO_CONFIG_H

#include "halo/grid.h"
#include "lib/input/options.h"
#include "lib/input/parse.h"
#include "lib/measure/memory.h"
#include "lib/measure/sampling.h"

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
    struct sampling sampling;
};

/* Its options; once settled, every extent is filled in and the grid holds the ranks of the run. */
extern const struct option_table halo_options;

#endif
