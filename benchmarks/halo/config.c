/* Options of halo, their defaults and their conflicts; see config.h. */
#include "halo/config.h"

#include "halo/variants.h"
#include "lib/input/rows.h"
#include "lib/output/output.h"
#include "lib/run/check.h"
#include "lib/run/problem.h"

#include <limits.h>
#include <string.h>

static const struct halo_preset presets[] = {{"pena2013-2d", 2, 65536}, {"pena2013-3d", 3, 1536}};

static bool parse_preset(const char *text, void *field) {
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
        if (strcmp(text, presets[i].name) == 0) {
            *(const struct halo_preset **)field = &presets[i];
            return true;
        }
    return false;
}

static bool parse_stencil(const char *text, void *field) {
    static const char *const names[] = {"faces", "full"};
    return options_either(text, names, field);
}

static bool parse_dimensions(const char *text, void *field) {
    if (strcmp(text, "2") != 0 && strcmp(text, "3") != 0)
        return false;
    return parse_count(text, field);
}

#define FIELD(name) offsetof(struct halo_config, name)

static const struct option_row rows[] = {
    {"grid", "AxB[xC]", NULL, "MPI_Dims_create", "2 or 3 lengths, product = ranks", "process grid, X x Y x Z",
     parse_extents, FIELD(grid)},
    {"dimensions", "COUNT", "3", NULL, "2, 3", "dimensions of the default grid", parse_dimensions,
     FIELD(dimensions)},
    {"order", "NAME", "row-major", NULL,
     "row-major (last dimension fastest), column-major (first fastest), mpi-cart (MPI_Cart_create with "
     "reorder), "
     "mpi-dist-graph (MPI_Dist_graph_create_adjacent with reorder)",
     "how ranks fill the grid", parse_grid_order, FIELD(order)},
    {"rank-map", "FILE", NULL, "none",
     "a file with one rank per line, in row-major order of grid positions, each rank once",
     "ranks of the grid positions, instead of --order", parse_text, FIELD(rank_map)},
    {"cells", "N[xM[xK]]", "128", NULL, "one length for all dimensions, or one for each; 1 to 1000000",
     "local cells (doubles) per rank and dimension", parse_extents, FIELD(cells)},
    {"values", "COUNT", "1", NULL, "at least 1", "doubles per cell of a face: ghost layers x variables",
     parse_count, FIELD(values)},
    {"preset", "NAME", NULL, "none", "pena2013-2d (65536 cells per dimension), pena2013-3d (1536)",
     "dimensions and cells as in a paper", parse_preset, FIELD(preset)},
    {"stencil", "NAME", "faces", NULL, "faces (4 or 6 neighbours), full (8 or 26: edges and corners, too)",
     "which neighbours exchange", parse_stencil, FIELD(full_stencil)},
    {"face-memory", "SIZE", "16MiB", NULL, "bytes, with B, KiB, MiB or GiB; at most 1024GiB",
     "limit of a face's memory, above which its strides are folded; at least 8 x the face", parse_memory_size,
     FIELD(face_memory)},
    ROW_MEMORY(FIELD(memory)),
    {"variants", "LIST", "manual", NULL,
     "manual, persistent, datatypes, neighbours, copy (packing alone, to compare)",
     "ways to exchange the faces, all in every repeat", parse_halo_variants, FIELD(variants)},
    ROW_REPEATS("20", "minimum number of timed iterations of each variant", FIELD(sampling.repeats)),
    ROW_WARMUPS("2", "minimum number of untimed iterations before", FIELD(sampling.warmups)),
    {"warmup-time", "SECONDS", "0", NULL, "0 to 1000000", "minimum time of untimed iterations", parse_seconds,
     FIELD(sampling.warmup_s)},
    {"min-time-per-point", "SECONDS", "0", NULL, "0 to 1000000",
     "minimum time of the iterations of a variant, at most 10000 of them", parse_seconds,
     FIELD(sampling.min_time_s)},
    {"max-time-per-point", "SECONDS", "0", NULL, "0 (no limit) to 1000000",
     "maximum time of the iterations of a variant, at least 3 of them", parse_seconds,
     FIELD(sampling.point_time_s)},
    ROW_SEED(FIELD(sampling.seed)),
    ROW_JSON(FIELD(sampling.json)),
};

static bool given(unsigned mask, const char *name) {
    return options_given(&halo_options, mask, name);
}

static void check_conflicts(const struct halo_config *config, unsigned mask, struct problem *problem) {
    if (given(mask, "rank-map") && given(mask, "order"))
        problem_set(problem, "--rank-map %s: excludes --order; expected one of them", config->rank_map);
    if (config->preset && given(mask, "cells"))
        problem_set(problem, "--preset %s: excludes --cells; expected one of them", config->preset->name);
    if (config->preset && given(mask, "dimensions") && config->dimensions != config->preset->dimensions)
        problem_set(problem, "--dimensions %d: --preset %s has %d", config->dimensions, config->preset->name,
                    config->preset->dimensions);
}

static void settle_preset(struct halo_config *config) {
    if (!config->preset)
        return;
    config->dimensions = config->preset->dimensions;
    config->cells = (struct extents){.count = 1, .length = {config->preset->cells}};
}

static void settle_grid(struct halo_config *config, bool dimensions_fixed, struct problem *problem) {
    char text[EXTENTS_TEXT_BYTES];
    int ranks = check_ranks();
    if (config->grid.count == 0)
        config->grid = grid_default(ranks, config->dimensions);
    extents_text(&config->grid, text);
    if (config->grid.count < 2)
        problem_set(problem, "--grid %s: 1 dimension; expected 2 or 3", text);
    else if (dimensions_fixed && config->grid.count != config->dimensions)
        problem_set(problem, "--grid %s: %d dimensions; expected %d", text, config->grid.count,
                    config->dimensions);
    else if (grid_size(&config->grid) != (size_t)ranks)
        problem_set(problem, "--grid %s: %zu positions for %d ranks; expected lengths whose product is %d",
                    text, grid_size(&config->grid), ranks, ranks);
    config->dimensions = config->grid.count;
}

static size_t cells_of_face(const struct extents *cells, int dimension) {
    size_t product = 1;
    for (int d = 0; d < cells->count; d++)
        product *= d == dimension ? 1 : cells->length[d];
    return product;
}

static void settle_cells(struct halo_config *config, struct problem *problem) {
    char text[EXTENTS_TEXT_BYTES];
    extents_text(&config->cells, text);
    if (config->cells.count != 1 && config->cells.count != config->dimensions)
        problem_set(problem, "--cells %s: %d lengths for %d dimensions; expected 1 or %d", text,
                    config->cells.count, config->dimensions, config->dimensions);
    for (int d = 1; config->cells.count == 1 && d < config->dimensions; d++)
        config->cells.length[d] = config->cells.length[0];
    config->cells.count = config->dimensions;
    for (int d = 0; d < config->dimensions; d++)
        if (cells_of_face(&config->cells, d) * (size_t)config->values > INT_MAX)
            problem_set(problem, "--cells %s: a face has more than %d doubles", text, INT_MAX);
}

static void settle(void *configuration, unsigned mask, struct problem *problem) {
    struct halo_config *config = configuration;
    check_conflicts(config, mask, problem);
    settle_preset(config);
    settle_grid(config, given(mask, "dimensions") || config->preset, problem);
    settle_cells(config, problem);
    memory_open(&config->memory, problem);
}

const struct option_table halo_options = {
    .program = "halo",
    .purpose = "nearest-neighbour exchange on a periodic process grid",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .settle = settle,
};
