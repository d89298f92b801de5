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
 * Leaves out: computation, and the memory between the faces (face.h).
 */
#include "counters/nics.h"
#include "halo/config.h"
#include "halo/faces.h"
#include "halo/variants.h"
#include "lib/engine/benchmark.h"
#include "lib/measure/timed.h"
#include "lib/output/parameters.h"
#include "lib/output/table.h"
#include "lib/run/check.h"

#include <stdlib.h>
#include <string.h>

static const char program[] = "halo";

struct halo {
    struct halo_config config;
    struct grid grid;
    struct faces faces;
    struct exchange exchanges[HALO_VARIANTS];
    MPI_Comm by_position; /* ranks by their positions: renumbering changes no barrier */
    int samples;          /* of each variant */
    int verifications;    /* each with different data */
    bool open;
};

static const struct halo_variant *variant_at(int index) {
    return &halo_variants()[index];
}

static int chosen_count(const struct halo *halo) {
    int count = 0;
    for (int v = 0; v < HALO_VARIANTS; v++)
        count += halo->config.variants[v];
    return count;
}

/* Collective. Places the ranks on the grid and opens the variants. */
static bool prepare(void *state) {
    struct halo *halo = state;
    struct problem problem = {0};
    if (halo->config.rank_map) {
        halo->config.order = GRID_RANK_MAP;
        grid_read(&halo->config.grid, halo->config.rank_map, &halo->grid, &problem);
    } else {
        grid_fill(&halo->config.grid, halo->config.order, &halo->grid);
    }
    if (problem_agree(&problem, program))
        return false;
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, 0, halo->grid.position, &halo->by_position));
    faces_make(&halo->config, &halo->grid, &halo->faces);
    for (int v = 0; v < HALO_VARIANTS; v++) {
        halo->exchanges[v] = (struct exchange){.faces = &halo->faces, .neighbours = MPI_COMM_NULL};
        if (halo->config.variants[v])
            variant_at(v)->open(&halo->exchanges[v]);
    }
    halo->open = true;
    return true;
}

static void release(void *state) {
    struct halo *halo = state;
    for (int v = 0; halo->open && v < HALO_VARIANTS; v++)
        if (halo->config.variants[v])
            variant_at(v)->close(&halo->exchanges[v]);
    if (halo->open) {
        faces_free(&halo->faces);
        MPI_CHECK(MPI_Comm_free(&halo->by_position));
    }
    grid_free(&halo->grid);
}

/* ---- are the data right? ---- */

/* Collective. Exchanges new data once, untimed, and checks every ghost cell; false on all ranks if any is
 * wrong. */
static bool verify_variant(struct halo *halo, int v, int round) {
    struct problem problem = {0};
    uint64_t seed = halo->config.sampling.seed;
    int part = round * HALO_VARIANTS + v;
    faces_prepare(&halo->faces, seed, part);
    (void)halo_iterate(variant_at(v), &halo->exchanges[v]);
    faces_check(&halo->faces, seed, part, !variant_at(v)->exchanges, &problem);
    return !problem_agree(&problem, program);
}

static bool verify(void *state) {
    struct halo *halo = state;
    int round = halo->verifications++;
    for (int v = 0; v < HALO_VARIANTS; v++)
        if (halo->config.variants[v] && !verify_variant(halo, v, round))
            return false;
    return true;
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

/* Stores one repeat of this rank, in microseconds. */
static void keep_times(const struct halo_times *times, const struct samples *samples, int repeat) {
    samples->of_fom[FOM_ITERATION][repeat] = 1e6 * times->iteration;
    samples->of_fom[FOM_PACK][repeat] = 1e6 * times->pack;
    samples->of_fom[FOM_UNPACK][repeat] = 1e6 * times->unpack;
    samples->of_fom[FOM_EXCHANGE][repeat] = 1e6 * (times->iteration - times->pack - times->unpack);
    samples->of_fom[FOM_WAIT][repeat] = 1e6 * times->wait;
}

/* Collective. Runs one iteration of each variant in turn; returns this rank's seconds for all of them. */
static double measure_repeat(struct halo *halo, struct samples *samples, int repeat) {
    double seconds = 0;
    for (int v = 0; v < HALO_VARIANTS; v++) {
        if (!halo->config.variants[v])
            continue;
        MPI_CHECK(MPI_Barrier(halo->by_position));
        struct halo_times times = halo_iterate(variant_at(v), &halo->exchanges[v]);
        if (repeat >= 0)
            keep_times(&times, &samples[v], repeat);
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

/* Replaces each repeat by its maximum over ranks, on rank 0. */
static void reduce_times(double *samples, int repeats) {
    double *largest = check_alloc((size_t)repeats, sizeof *largest);
    MPI_CHECK(MPI_Reduce(samples, largest, repeats, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
    memcpy(samples, largest, (size_t)repeats * sizeof *samples);
    free(largest);
}

static void fill_bandwidths(const struct samples *samples, int repeats, size_t bytes) {
    for (int i = 0; i < repeats; i++)
        samples->of_fom[FOM_BANDWIDTH][i] = (double)bytes / (samples->of_fom[FOM_ITERATION][i] * 1e3);
}

/* Labels the series with the variant if several are measured. */
static struct series variant_series(const struct halo *halo, int v, int fom, double *samples) {
    return (struct series){
        .fom = foms[fom],
        .label_count = chosen_count(halo) > 1,
        .labels = {{"variant", variant_at(v)->name, 0}},
        .count = halo->samples,
        .samples = samples,
    };
}

/* Collective. Adds the series of one variant; only those of rank 0 are used. */
static void add_series(const struct halo *halo, int v, struct samples *samples, struct series_list *list) {
    int repeats = halo->samples;
    for (int fom = 0; fom < FOM_BANDWIDTH; fom++)
        reduce_times(samples->of_fom[fom], repeats);
    fill_bandwidths(samples, repeats, faces_exchanged_bytes(&halo->faces));
    for (int fom = 0; fom < FOMS; fom++)
        if (has_fom(variant_at(v), fom))
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
    timed_begin();
    for (int repeat = 0; repeat < halo->samples; repeat++) {
        seconds += measure_repeat(halo, samples, repeat);
        if (repeat + 1 == first)
            halo->samples = sampling_total(sampling, first, sampling_longest(seconds) / chosen_count(halo));
    }
    timed_end();
    for (int v = 0; v < HALO_VARIANTS; v++)
        if (halo->config.variants[v])
            add_series(halo, v, &samples[v], list);
    (void)evidence;
    return EXIT_SUCCESS;
}

/* ---- print and write ---- */

static bool is_folded(const struct halo *halo, int dimension) {
    const struct face_shape *shape = &halo->faces.face[2 * dimension].shape;
    return shape->rows < shape->blocks;
}

static void write_faces(struct json *json, const struct halo *halo) {
    json_key_array(json, "face_bytes");
    for (int d = 0; d < halo->config.dimensions; d++)
        json_integer(json, (int64_t)faces_bytes(&halo->faces, d));
    json_array_end(json);
    json_key_array(json, "face_folded");
    for (int d = 0; d < halo->config.dimensions; d++)
        json_bool(json, is_folded(halo, d));
    json_array_end(json);
}

static void write_variants(struct json *json, const bool *chosen) {
    json_key_array(json, "variants");
    for (int v = 0; v < HALO_VARIANTS; v++)
        if (chosen[v])
            json_text(json, variant_at(v)->name);
    json_array_end(json);
}

static void write_parameters(struct json *json, const void *state) {
    const struct halo *halo = state;
    const struct halo_config *config = &halo->config;
    parameters_extents(json, "grid", &config->grid);
    json_key_integer(json, "dimensions", config->dimensions);
    json_key_text(json, "order", grid_order_name(config->order));
    parameters_integers(json, "rank_map", halo->grid.rank_at, (int)grid_size(&halo->grid.extents));
    parameters_extents(json, "cells", &config->cells);
    json_key_integer(json, "values", config->values);
    json_key_text(json, "preset", config->preset ? config->preset->name : NULL);
    write_faces(json, halo);
    json_key_integer(json, "face_memory_bytes", (int64_t)config->face_memory);
    json_key_integer(json, "exchanged_bytes", (int64_t)faces_exchanged_bytes(&halo->faces));
    json_key_integer(json, "own_bytes", (int64_t)faces_own_bytes(&halo->faces));
    write_variants(json, config->variants);
    json_key_text(json, "stencil", config->full_stencil ? "full" : "faces");
    json_key_integer(json, "neighbours", halo->faces.count);
    json_key_text(json, "memory", memory_name(&config->memory));
    parameters_sampling(json, &config->sampling);
    parameters_times(json, &config->sampling);
}

static void print_faces(const struct halo *halo) {
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
}

static void print_heading(const void *state) {
    const struct halo *halo = state;
    char text[EXTENTS_TEXT_BYTES];
    extents_text(&halo->config.grid, text);
    (void)printf(", grid %s, %s\n", text, grid_order_name(halo->config.order));
    extents_text(&halo->config.cells, text);
    (void)printf("cells %s of 8 B per rank; faces ", text);
    print_faces(halo);
    (void)printf("every ghost cell verified; times are the maximum over ranks\n\n");
}

int main(int argc, char **argv) {
    static const struct benchmark benchmark = {.options = &halo_options,
                                               .state_bytes = sizeof(struct halo),
                                               .prepare = prepare,
                                               .verify = verify,
                                               .measure = measure,
                                               .release = release,
                                               .hooks = &nics_hooks,
                                               .write_parameters = write_parameters,
                                               .print_heading = print_heading};
    return benchmark_main(argc, argv, &benchmark);
}
