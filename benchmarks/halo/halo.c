/*
 * halo: nearest-neighbour exchange of one field of doubles on a periodic process grid, 2D (4 faces) or 3D (6
 * faces).
 *
 * Models section 4.3 of Peña et al., "Analysis of Topology-Dependent MPI Performance on Gemini Networks"
 * (EuroMPI 2013): non-blocking messages, faces packed from and unpacked to strided memory in between, both
 * inside the time. Other ways to exchange the same faces are variants (variants.h), run in turn, so that
 * drift affects all of them equally. Any number of ranks may share a node.
 *
 * With --stencil full edges and corners are exchanged, too (26 neighbours in 3D), as halo3d-26 of Ember does.
 *
 * Leaves out: computation, and the memory between the faces (faces.h).
 */
#include "engine/benchmark.h"
#include "halo/faces.h"
#include "halo/variants.h"
#include "lib/measure/start.h"
#include "lib/output/table.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static const struct halo_preset presets[] = {{"pena2013-2d", 2, 65536}, {"pena2013-3d", 3, 1536}};

static const char *const stencils[] = {"faces", "full"};

static bool parse_dimensions(const char *text, void *field) {
    if (strcmp(text, "2") != 0 && strcmp(text, "3") != 0)
        return false;
    return parse_count(text, field);
}

#define FIELD(name) offsetof(struct halo_config, name)

static const struct option_row rows[] = {
    ROW_ABSENT("grid", "AxB[xC]", "MPI_Dims_create", "2 or 3 lengths, product = ranks",
               "process grid, X x Y x Z", parse_extents, FIELD(grid)),
    ROW("dimensions", "COUNT", "3", "2, 3", "dimensions of the default grid", parse_dimensions,
        FIELD(dimensions)),
    ROW_NAMES(
        "order", "NAME", "row-major",
        "row-major (last dimension fastest), column-major (first fastest), mpi-cart (MPI_Cart_create with "
        "reorder), "
        "mpi-dist-graph (MPI_Dist_graph_create_adjacent with reorder)",
        "how ranks fill the grid", FIELD(order), options_one, grid_orders),
    ROW_ABSENT("rank-map", "FILE", "none",
               "a file with one rank per line, in row-major order of grid positions, each rank once",
               "ranks of the grid positions, instead of --order", parse_text, FIELD(rank_map)),
    ROW("cells", "N[xM[xK]]", "128", "one length for all dimensions, or one for each; 1 to 1000000",
        "local cells (doubles) per rank and dimension", parse_extents, FIELD(cells)),
    ROW("values", "COUNT", "1", "at least 1", "doubles per cell of a face: ghost layers x variables",
        parse_count, FIELD(values)),
    ROW_ABSENT_NAMES("preset", "NAME", "none", "pena2013-2d (65536 cells per dimension), pena2013-3d (1536)",
                     "dimensions and cells as in a paper", FIELD(preset), options_row, presets),
    ROW_NAMES("stencil", "NAME", "faces", "faces (4 or 6 neighbours), full (8 or 26: edges and corners, too)",
              "which neighbours exchange", FIELD(full_stencil), options_either, stencils),
    ROW("face-memory", "SIZE", "16MiB", "bytes, with B, KiB, MiB or GiB; at most 1024GiB",
        "limit of a face's memory, above which its strides are folded; at least 8 x the face",
        parse_memory_size, FIELD(face_memory)),
    ROW_MEMORY(FIELD(memory)),
    ROW_NAMES("variants", "LIST", "manual",
              "manual, persistent, datatypes, neighbours, copy (packing alone, to compare)",
              "ways to exchange the faces, all in every repeat", FIELD(variants), options_some,
              halo_variants),
    ROW_NAMES("start", "NAME", "auto", START_VALUES, "how all ranks start an iteration", FIELD(start),
              options_one, start_names),
    ROW_REPEATS("20", "minimum number of timed iterations of each variant", FIELD(sampling.repeats)),
    ROW_WARMUPS("2", "minimum number of untimed iterations before", FIELD(sampling.warmups)),
    ROW("warmup-time", "SECONDS", "0", "0 to 1000000", "minimum time of untimed iterations", parse_seconds,
        FIELD(sampling.warmup_s)),
    ROW("min-time-per-point", "SECONDS", "0", "0 to 1000000",
        "minimum time of the iterations of a variant, at most 10000 of them", parse_seconds,
        FIELD(sampling.min_time_s)),
    ROW("max-time-per-point", "SECONDS", "0", "0 (no limit) to 1000000",
        "maximum time of the iterations of a variant, at least 3 of them", parse_seconds,
        FIELD(sampling.point_time_s)),
    ROW_SEED(FIELD(sampling.seed)),
    ROW_JSON(FIELD(sampling.json)),
};

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

static void settle(void *configuration, const struct options_given *given, struct problem *problem) {
    struct halo_config *config = configuration;
    if (options_given(given, "rank-map") && options_given(given, "order"))
        problem_set(problem, "--rank-map %s: excludes --order; expected one of them", config->rank_map);
    if (config->preset && options_given(given, "cells"))
        problem_set(problem, "--preset %s: excludes --cells; expected one of them", config->preset->name);
    if (config->preset && options_given(given, "dimensions") &&
        config->dimensions != config->preset->dimensions)
        problem_set(problem, "--dimensions %d: --preset %s has %d", config->dimensions, config->preset->name,
                    config->preset->dimensions);
    if (config->preset) {
        config->dimensions = config->preset->dimensions;
        config->cells = (struct extents){.count = 1, .length = {config->preset->cells}};
    }
    settle_grid(config, options_given(given, "dimensions") || config->preset, problem);
    char text[EXTENTS_TEXT_BYTES];
    extents_text(&config->cells, text);
    if (config->cells.count != 1 && config->cells.count != config->dimensions)
        problem_set(problem, "--cells %s: %d lengths for %d dimensions; expected 1 or %d", text,
                    config->cells.count, config->dimensions, config->dimensions);
    for (int d = 1; config->cells.count == 1 && d < config->dimensions; d++)
        config->cells.length[d] = config->cells.length[0];
    config->cells.count = config->dimensions;
    for (int d = 0; d < config->dimensions; d++) {
        size_t product = 1;
        for (int k = 0; k < config->cells.count; k++)
            product *= k == d ? 1 : config->cells.length[k];
        if (product * (size_t)config->values > INT_MAX)
            problem_set(problem, "--cells %s: a face has more than %d doubles", text, INT_MAX);
    }
    memory_open(&config->memory, problem);
}

/* ---- set up ---- */

struct halo {
    struct halo_config config;
    struct grid grid;
    struct faces faces;
    struct exchange exchanges[HALO_VARIANTS];
    MPI_Comm by_position; /* ranks by their positions: renumbering changes no start */
    struct starter starter;
    double late_s;     /* how late this rank began the last iteration */
    double sample_s;   /* its time */
    int samples;       /* of each variant */
    int verifications; /* each with different data */
    bool open;
};

static int chosen_count(const struct halo *halo) {
    int count = 0;
    for (int v = 0; v < HALO_VARIANTS; v++)
        count += halo->config.variants[v];
    return count;
}

/* A rank may begin late by this share of an iteration, because it sleeps until then; its time runs from the
 * start. */
static const double late_share = 0.05;

/* Collective. Places the ranks on the grid and opens the variants. */
static bool prepare(void *state) {
    struct halo *halo = state;
    struct problem problem = {0};
    if (halo->config.rank_map)
        grid_read(&halo->config.grid, halo->config.rank_map, &halo->grid, &problem);
    else
        grid_fill(&halo->config.grid, halo->config.order, &halo->grid);
    if (problem_agree(&problem, benchmark.options.program))
        return false;
    halo->by_position = MPI_COMM_WORLD;
    if (halo->grid.is_renumbered)
        MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, 0, halo->grid.position, &halo->by_position));
    halo->starter = starter_open(halo->by_position, halo->config.start, false);
    faces_make(&halo->config, &halo->grid, &halo->faces);
    for (int v = 0; v < HALO_VARIANTS; v++) {
        halo->exchanges[v] = (struct exchange){.faces = &halo->faces, .neighbours = MPI_COMM_NULL};
        if (halo->config.variants[v])
            halo_variants[v].open(&halo->exchanges[v]);
    }
    halo->open = true;
    return true;
}

static void release(void *state) {
    struct halo *halo = state;
    for (int v = 0; halo->open && v < HALO_VARIANTS; v++)
        if (halo->config.variants[v])
            halo_variants[v].close(&halo->exchanges[v]);
    if (halo->open) {
        faces_free(&halo->faces);
        starter_close(&halo->starter);
        if (halo->grid.is_renumbered)
            MPI_CHECK(MPI_Comm_free(&halo->by_position));
    }
    grid_free(&halo->grid);
}

/* ---- are the data right? ---- */

/* Exchanges new data by each variant once, untimed, and checks every ghost cell. */
static void verify(void *state, struct problem *problem) {
    struct halo *halo = state;
    uint64_t seed = halo->config.sampling.seed;
    int round = halo->verifications++;
    for (int v = 0; v < HALO_VARIANTS; v++) {
        int part = round * HALO_VARIANTS + v;
        if (!halo->config.variants[v])
            continue;
        faces_prepare(&halo->faces, seed, part);
        (void)halo_iterate(&halo_variants[v], &halo->exchanges[v]);
        faces_check(&halo->faces, seed, part, !halo_variants[v].exchanges, problem);
    }
}

/* ---- measure ---- */

enum { FOM_ITERATION, FOM_PACK, FOM_UNPACK, FOM_EXCHANGE, FOM_WAIT, FOM_BANDWIDTH, FOMS };

static const struct fom foms[FOMS] = {
    {"iteration_us", "us", BETTER_LOWER}, {"pack_us", "us", BETTER_LOWER},
    {"unpack_us", "us", BETTER_LOWER},    {"exchange_us", "us", BETTER_LOWER},
    {"wait_us", "us", BETTER_LOWER},      {"bandwidth_gbyte_s", "GB/s", BETTER_HIGHER},
};

/* The samples of one variant; every rank measures all of them except the bandwidth. */
struct samples {
    double *of_fom[FOMS];
};

/* Packing by MPI is part of the exchange, and a copy sends no messages. */
static bool has_fom(const struct halo_variant *variant, int fom) {
    bool of_packing = fom == FOM_PACK || fom == FOM_UNPACK;
    return fom == FOM_ITERATION || (of_packing ? variant->packs : variant->exchanges);
}

/* Collective. Runs one iteration of each variant in turn; returns this rank's seconds for all of them. */
static double measure_repeat(struct halo *halo, struct samples *samples, int repeat) {
    double seconds = 0;
    for (int v = 0; v < HALO_VARIANTS; v++) {
        if (!halo->config.variants[v])
            continue;
        double most[] = {-halo->starter.margin_s, halo->sample_s};
        if (halo->starter.start == START_CLOCK) {
            MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, halo->by_position));
            starter_fit(&halo->starter, -most[0]);
        }
        (void)starter_begin(&halo->starter, late_share * most[1], &halo->late_s);
        struct halo_times times = halo_iterate(&halo_variants[v], &halo->exchanges[v]);
        times.iteration += fmax(0, halo->late_s);
        halo->sample_s = times.iteration;
        if (repeat >= 0) {
            /* Stores one repeat of this rank, in microseconds. */
            samples[v].of_fom[FOM_ITERATION][repeat] = 1e6 * times.iteration;
            samples[v].of_fom[FOM_PACK][repeat] = 1e6 * times.pack;
            samples[v].of_fom[FOM_UNPACK][repeat] = 1e6 * times.unpack;
            samples[v].of_fom[FOM_EXCHANGE][repeat] = 1e6 * (times.iteration - times.pack - times.unpack);
            samples[v].of_fom[FOM_WAIT][repeat] = 1e6 * times.wait;
        }
        seconds += times.iteration;
    }
    return seconds;
}

/* Collective. Untimed iterations. */
static void warm_up(struct halo *halo) {
    const struct sampling *sampling = &halo->config.sampling;
    double seconds = 0;
    for (int i = 0; i < sampling->warmups || (seconds < sampling->warmup_s && i < SAMPLES_MOST); i++)
        seconds = sampling_longest(seconds + measure_repeat(halo, NULL, -1));
}

/* Labels the series with the variant if several are measured. */
static struct series variant_series(const struct halo *halo, int v, int fom, double *samples) {
    return (struct series){
        .fom = foms[fom],
        .label_count = chosen_count(halo) > 1,
        .labels = {{"variant", halo_variants[v].name, 0}},
        .count = halo->samples,
        .samples = samples,
    };
}

/* Collective. Adds the series of one variant; only those of rank 0 are used. */
static void add_series(const struct halo *halo, int v, struct samples *samples, struct series_list *list) {
    int repeats = halo->samples;
    for (int fom = 0; fom < FOM_BANDWIDTH; fom++) {
        /* Replaces each repeat by its maximum over ranks, on rank 0. */
        double *largest = check_alloc((size_t)repeats, sizeof *largest);
        MPI_CHECK(MPI_Reduce(samples->of_fom[fom], largest, repeats, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
        memcpy(samples->of_fom[fom], largest, (size_t)repeats * sizeof *samples->of_fom[fom]);
        free(largest);
    }
    for (int i = 0; i < repeats; i++)
        samples->of_fom[FOM_BANDWIDTH][i] =
            (double)faces_exchanged_bytes(&halo->faces) / (samples->of_fom[FOM_ITERATION][i] * 1e3);
    for (int fom = 0; fom < FOMS; fom++)
        if (has_fom(&halo_variants[v], fom))
            series_add(list, variant_series(halo, v, fom, samples->of_fom[fom]));
        else
            free(samples->of_fom[fom]);
}

static int measure(void *state, const struct evidence_list *evidence, struct series_list *list) {
    struct halo *halo = state;
    struct samples samples[HALO_VARIANTS] = {0};
    const struct sampling *sampling = &halo->config.sampling;
    int first = sampling_first(sampling);
    int room = sampling->repeats > SAMPLES_MOST ? sampling->repeats : SAMPLES_MOST;
    double seconds = 0;
    for (int v = 0; v < HALO_VARIANTS; v++)
        for (int fom = 0; halo->config.variants[v] && fom < FOMS; fom++)
            samples[v].of_fom[fom] = check_alloc((size_t)room, sizeof(double));
    warm_up(halo);
    halo->samples = first;
    sampling_begin();
    for (int repeat = 0; repeat < halo->samples; repeat++) {
        series_begin_repeat(list, clock_date_s());
        seconds += measure_repeat(halo, samples, repeat);
        if (repeat + 1 == first)
            halo->samples = sampling_total(sampling, first, sampling_longest(seconds) / chosen_count(halo));
    }
    sampling_end();
    for (int v = 0; v < HALO_VARIANTS; v++)
        if (halo->config.variants[v])
            add_series(halo, v, &samples[v], list);
    (void)evidence;
    return EXIT_SUCCESS;
}

/* ---- print and write ---- */

static const char *order_name(const struct halo_config *config) {
    return config->rank_map ? "rank-map" : grid_orders[config->order];
}

static bool is_folded(const struct halo *halo, int dimension) {
    const struct face_shape *shape = &halo->faces.face[2 * dimension].shape;
    return shape->rows < shape->blocks;
}

static void write_parameters(struct json *json, const void *state) {
    const struct halo *halo = state;
    const struct halo_config *config = &halo->config;
    parameters_extents(json, "grid", &config->grid);
    json_key_integer(json, "dimensions", config->dimensions);
    json_key_text(json, "order", order_name(config));
    parameters_integers(json, "rank_map", halo->grid.rank_at, (int)grid_size(&halo->grid.extents));
    parameters_extents(json, "cells", &config->cells);
    json_key_integer(json, "values", config->values);
    json_key_text(json, "preset", config->preset ? config->preset->name : NULL);
    json_key_array(json, "face_bytes");
    for (int d = 0; d < halo->config.dimensions; d++)
        json_integer(json, (int64_t)faces_bytes(&halo->faces, d));
    json_array_end(json);
    json_key_array(json, "face_folded");
    for (int d = 0; d < halo->config.dimensions; d++)
        json_bool(json, is_folded(halo, d));
    json_array_end(json);
    json_key_integer(json, "face_memory_bytes", (int64_t)config->face_memory);
    json_key_integer(json, "exchanged_bytes", (int64_t)faces_exchanged_bytes(&halo->faces));
    json_key_integer(json, "own_bytes", (int64_t)faces_own_bytes(&halo->faces));
    json_key_array(json, "variants");
    for (int v = 0; v < HALO_VARIANTS; v++)
        if (config->variants[v])
            json_text(json, halo_variants[v].name);
    json_array_end(json);
    json_key_text(json, "stencil", stencils[config->full_stencil]);
    json_key_integer(json, "neighbours", halo->faces.count);
    json_key_text(json, "memory", memory_name(&config->memory));
    json_key_text(json, "start", start_names[halo->starter.start]);
    parameters_sampling(json, &config->sampling);
    parameters_times(json, &config->sampling);
}

static void print_heading(const void *state) {
    const struct halo *halo = state;
    char text[EXTENTS_TEXT_BYTES];
    extents_text(&halo->config.grid, text);
    (void)printf(", grid %s, %s\n", text, order_name(&halo->config));
    extents_text(&halo->config.cells, text);
    (void)printf("cells %s of 8 B per rank; faces ", text);
    char size[SIZE_TEXT_BYTES];
    for (int d = 0; d < halo->config.dimensions; d++) {
        table_size(faces_bytes(&halo->faces, d), size);
        (void)printf("%s%c %s%s", d ? ", " : "", 'X' + d, size,
                     is_folded(halo, d) ? " (strides folded)" : "");
    }
    table_size(faces_exchanged_bytes(&halo->faces), size);
    if (halo->config.full_stencil)
        (void)printf(", edges and corners");
    (void)printf("; sent + received per rank and iteration %s", size);
    if (faces_own_bytes(&halo->faces)) {
        table_size(faces_own_bytes(&halo->faces), size);
        (void)printf(", %s of it to itself", size);
    }
    (void)printf("\n");
    (void)printf("every ghost cell verified; start by %s; times are the maximum over ranks\n\n",
                 start_names[halo->starter.start]);
}

const struct benchmark benchmark = {
    .options = {.program = "halo",
                .purpose = "nearest-neighbour exchange on a periodic process grid",
                OPTION_ROWS(rows),
                .settle = settle},
    .state_bytes = sizeof(struct halo),
    .prepare = prepare,
    .verify = verify,
    .measure = measure,
    .release = release,
    .write_parameters = write_parameters,
    .print_heading = print_heading,
};
