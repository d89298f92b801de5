/*
 * halo: nearest-neighbour exchange of one field of doubles on a periodic process grid, 2D (4 faces) or 3D (6
 * faces).
 *
 * Models section 4.3 of Peña et al., "Analysis of Topology-Dependent MPI Performance on Gemini Networks"
 * (EuroMPI 2013): non-blocking messages, faces packed from and unpacked to strided memory in between, both
 * inside the time. All receives are posted, each face is packed and sent at once, each message is unpacked as
 * it arrives. Messages carry the direction of their face as tag, for in a dimension of 2 both neighbours are
 * one rank, and in one of 1 they are the rank itself.
 *
 * Leaves out: computation, edge and corner neighbours (the paper's 216 MB are 6 faces), and the memory
 * between the faces (lib/face.h).
 */
#include "halo_config.h"
#include "lib/check.h"
#include "lib/evidence.h"
#include "lib/face.h"
#include "lib/grid.h"
#include "lib/output.h"
#include "lib/parse.h"
#include "lib/payload.h"
#include "lib/problem.h"
#include "lib/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char program[] = "halo";

enum { FACES_MAX = 2 * PARSE_DIMENSIONS_MAX };

/* Payload rounds: the data differ before and after the timed repeats. */
enum { ROUND_BEFORE, ROUND_AFTER };

/* One face of this rank: what is sent through it, and what comes in through it. */
struct face {
    struct face_shape shape;
    int cells;
    int neighbour;
    double *boundary; /* strided: packed from here */
    double *ghost;    /* strided: unpacked to here */
    double *outgoing;
    double *incoming;
};

struct halo {
    struct halo_config config;
    struct grid grid;
    int face_count;
    struct face faces[FACES_MAX]; /* face 2d is the minus side of dimension d, 2d + 1 the plus side */
};

/* Times of one iteration on one rank. */
struct times {
    double iteration_s;
    double pack_s;
    double unpack_s;
};

/* ---- faces ---- */

static int opposite(int face) {
    return face ^ 1;
}

static struct face make_face(const struct halo *halo, int index) {
    struct face face = {.shape = face_shape(&halo->config.cells, index / 2, halo->config.face_memory)};
    face.cells = (int)face_cells(&face.shape);
    face.neighbour = grid_neighbour(&halo->grid, index / 2, index % 2 ? 1 : -1);
    face.boundary = check_alloc(face_extent(&face.shape), sizeof(double));
    face.ghost = check_alloc(face_extent(&face.shape), sizeof(double));
    face.outgoing = check_alloc_pages((size_t)face.cells * sizeof(double));
    face.incoming = check_alloc_pages((size_t)face.cells * sizeof(double));
    return face;
}

static void make_faces(struct halo *halo) {
    halo->face_count = 2 * halo->config.dimensions;
    for (int f = 0; f < halo->face_count; f++)
        halo->faces[f] = make_face(halo, f);
}

static void free_faces(struct halo *halo) {
    for (int f = 0; f < halo->face_count; f++) {
        free(halo->faces[f].boundary);
        free(halo->faces[f].ghost);
        free(halo->faces[f].outgoing);
        free(halo->faces[f].incoming);
    }
}

/* Bytes of one face across a dimension. */
static size_t face_bytes(const struct halo *halo, int dimension) {
    return (size_t)halo->faces[2 * dimension].cells * sizeof(double);
}

/* Sent and received by one rank in one iteration. */
static size_t exchanged_bytes(const struct halo *halo) {
    size_t bytes = 0;
    for (int d = 0; d < halo->config.dimensions; d++)
        bytes += 2 * 2 * face_bytes(halo, d);
    return bytes;
}

/* ---- one iteration ---- */

static void post_receives(struct halo *halo, MPI_Request *requests) {
    for (int f = 0; f < halo->face_count; f++) {
        struct face *face = &halo->faces[f];
        MPI_CHECK(MPI_Irecv(face->incoming, face->cells, MPI_DOUBLE, face->neighbour, opposite(f),
                            MPI_COMM_WORLD, &requests[f]));
    }
}

static void pack_and_send(struct halo *halo, MPI_Request *requests, struct times *times) {
    for (int f = 0; f < halo->face_count; f++) {
        struct face *face = &halo->faces[f];
        double start_s = MPI_Wtime();
        face_pack(&face->shape, face->boundary, face->outgoing);
        times->pack_s += MPI_Wtime() - start_s;
        MPI_CHECK(MPI_Isend(face->outgoing, face->cells, MPI_DOUBLE, face->neighbour, f, MPI_COMM_WORLD,
                            &requests[f]));
    }
}

static void receive_and_unpack(struct halo *halo, MPI_Request *requests, struct times *times) {
    for (int arrived = 0; arrived < halo->face_count; arrived++) {
        int f = 0;
        MPI_CHECK(MPI_Waitany(halo->face_count, requests, &f, MPI_STATUS_IGNORE));
        double start_s = MPI_Wtime();
        face_unpack(&halo->faces[f].shape, halo->faces[f].incoming, halo->faces[f].ghost);
        times->unpack_s += MPI_Wtime() - start_s;
    }
}

static struct times exchange(struct halo *halo) {
    struct times times = {0};
    MPI_Request receives[FACES_MAX];
    MPI_Request sends[FACES_MAX];
    double start_s = MPI_Wtime();
    post_receives(halo, receives);
    pack_and_send(halo, sends, &times);
    receive_and_unpack(halo, receives, &times);
    MPI_CHECK(MPI_Waitall(halo->face_count, sends, MPI_STATUSES_IGNORE));
    times.iteration_s = MPI_Wtime() - start_s;
    return times;
}

/* ---- are the data right? ---- */

static void face_name(int face, char *name) {
    (void)snprintf(name, 4, "%c%c", 'X' + face / 2, face % 2 ? '+' : '-');
}

/* What rank sends through its face in that round. */
static uint64_t face_key(const struct halo *halo, int round, int rank, int face) {
    return payload_key(halo->config.seed, (uint64_t)round, (uint64_t)rank, (uint64_t)face);
}

/* New boundary cells; ghosts and received buffers get what no payload holds. */
static void prepare_face(const struct halo *halo, int round, int f) {
    const struct face *face = &halo->faces[f];
    uint64_t key = face_key(halo, round, check_rank(), f);
    for (size_t i = 0; i < (size_t)face->cells; i++) {
        face->boundary[face_offset(&face->shape, i)] = payload_double(key, i);
        face->ghost[face_offset(&face->shape, i)] = NAN;
        face->incoming[i] = NAN;
    }
}

static void check_face(const struct halo *halo, int round, int f, struct problem *problem) {
    char name[4];
    const struct face *face = &halo->faces[f];
    uint64_t key = face_key(halo, round, face->neighbour, opposite(f));
    face_name(f, name);
    for (size_t i = 0; i < (size_t)face->cells && !problem_is_set(problem); i++) {
        uint64_t expected = payload_bits(payload_double(key, i));
        uint64_t found = payload_bits(face->ghost[face_offset(&face->shape, i)]);
        if (expected != found)
            problem_set(problem,
                        "data are wrong, no rate is printed: rank %d, face %s, cell %zu: expected %016llx, "
                        "found %016llx",
                        check_rank(), name, i, (unsigned long long)expected, (unsigned long long)found);
    }
}

/* In test builds: flips a bit of the last ghost cell of the first face, as a corrupting link would have. */
static void corrupt_if_asked(struct halo *halo) {
    struct face *face = &halo->faces[0];
    size_t last = face_offset(&face->shape, (size_t)face->cells - 1);
    payload_test_fault(&face->ghost[last], sizeof(double), check_rank());
}

/* Collective. One untimed exchange of new data, every ghost cell checked; false on all ranks when any is
 * wrong. */
static bool verify(struct halo *halo, int round) {
    struct problem problem = {0};
    for (int f = 0; f < halo->face_count; f++)
        prepare_face(halo, round, f);
    (void)exchange(halo);
    corrupt_if_asked(halo);
    for (int f = 0; f < halo->face_count; f++)
        check_face(halo, round, f, &problem);
    return !problem_agree(&problem, program);
}

/* ---- measure ---- */

enum { FOM_ITERATION, FOM_PACK, FOM_UNPACK, FOM_EXCHANGE, TIMES };

static const char *const time_foms[TIMES] = {"iteration_us", "pack_us", "unpack_us", "exchange_us"};

/* One repeat of this rank, in microseconds. */
static void keep_times(const struct times *times, double *const *samples, int repeat) {
    samples[FOM_ITERATION][repeat] = 1e6 * times->iteration_s;
    samples[FOM_PACK][repeat] = 1e6 * times->pack_s;
    samples[FOM_UNPACK][repeat] = 1e6 * times->unpack_s;
    samples[FOM_EXCHANGE][repeat] = 1e6 * (times->iteration_s - times->pack_s - times->unpack_s);
}

static void measure(struct halo *halo, double *const *samples) {
    for (int i = -halo->config.warmups; i < halo->config.repeats; i++) {
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        struct times times = exchange(halo);
        if (i >= 0)
            keep_times(&times, samples, i);
    }
}

/* The maximum over ranks of each repeat, on rank 0. */
static void reduce_times(double *samples, int repeats) {
    double *largest = check_alloc((size_t)repeats, sizeof *largest);
    MPI_CHECK(MPI_Reduce(samples, largest, repeats, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
    memcpy(samples, largest, (size_t)repeats * sizeof *samples);
    free(largest);
}

static double *bandwidths(const double *iteration_us, int repeats, size_t bytes) {
    double *gbyte_s = check_alloc((size_t)repeats, sizeof *gbyte_s);
    for (int i = 0; i < repeats; i++)
        gbyte_s[i] = (double)bytes / (iteration_us[i] * 1e3);
    return gbyte_s;
}

/* Collective. The measured series; the samples of rank 0 are the ones that count. */
static void measure_series(struct halo *halo, struct series_list *list) {
    int repeats = halo->config.repeats;
    double *samples[TIMES];
    for (int t = 0; t < TIMES; t++)
        samples[t] = check_alloc((size_t)repeats, sizeof(double));
    measure(halo, samples);
    for (int t = 0; t < TIMES; t++) {
        reduce_times(samples[t], repeats);
        series_add(list, (struct series){.fom = time_foms[t], .count = repeats, .samples = samples[t]});
    }
    double *gbyte_s = bandwidths(samples[FOM_ITERATION], repeats, exchanged_bytes(halo));
    series_add(list, (struct series){.fom = "bandwidth_gbyte_s", .count = repeats, .samples = gbyte_s});
}

/* ---- print and write ---- */

static void write_extents(struct json *json, const char *key, const struct extents *extents) {
    json_key(json, key);
    json_array(json);
    for (int d = 0; d < extents->count; d++)
        json_integer(json, (int64_t)extents->length[d]);
    json_array_end(json);
}

static void write_rank_map(struct json *json, const struct halo *halo) {
    json_key(json, "rank_map");
    json_array(json);
    for (size_t i = 0; i < grid_size(&halo->grid.extents); i++)
        json_integer(json, halo->grid.rank_at[i]);
    json_array_end(json);
}

static void write_faces(struct json *json, const struct halo *halo) {
    json_key(json, "face_bytes");
    json_array(json);
    for (int d = 0; d < halo->config.dimensions; d++)
        json_integer(json, (int64_t)face_bytes(halo, d));
    json_array_end(json);
    json_key(json, "face_folded");
    json_array(json);
    for (int d = 0; d < halo->config.dimensions; d++)
        json_bool(json, halo->faces[2 * d].shape.rows < halo->faces[2 * d].shape.blocks);
    json_array_end(json);
}

static void write_parameters(struct json *json, const void *context) {
    const struct halo *halo = context;
    const struct halo_config *config = &halo->config;
    write_extents(json, "grid", &config->grid);
    json_key_integer(json, "dimensions", config->dimensions);
    json_key_text(json, "order", grid_order_name(config->order));
    write_rank_map(json, halo);
    write_extents(json, "cells", &config->cells);
    json_key_text(json, "preset", config->preset ? config->preset->name : NULL);
    write_faces(json, halo);
    json_key_integer(json, "face_memory_bytes", (int64_t)config->face_memory);
    json_key_integer(json, "exchanged_bytes", (int64_t)exchanged_bytes(halo));
    json_key_integer(json, "repeats", config->repeats);
    json_key_integer(json, "warmups", config->warmups);
    json_key(json, "seed");
    json_unsigned(json, config->seed);
}

static void print_faces(const struct halo *halo) {
    char size[SIZE_TEXT_BYTES];
    for (int d = 0; d < halo->config.dimensions; d++) {
        const struct face_shape *shape = &halo->faces[2 * d].shape;
        table_size(face_bytes(halo, d), size);
        (void)printf("%s%c %s%s", d ? ", " : "", 'X' + d, size,
                     shape->rows < shape->blocks ? " (strides folded)" : "");
    }
    table_size(exchanged_bytes(halo), size);
    (void)printf("; sent + received per rank and iteration %s\n", size);
}

static void print_heading(const struct halo *halo, const struct evidence_list *evidence) {
    char text[EXTENTS_TEXT_BYTES];
    int hosts = evidence_hosts(evidence);
    extents_text(&halo->config.grid, text);
    (void)printf("%s %s: %d rank%s on %d host%s, grid %s, %s\n", program, RAILYARD_VERSION, evidence->ranks,
                 evidence->ranks > 1 ? "s" : "", hosts, hosts > 1 ? "s" : "", text,
                 grid_order_name(halo->config.order));
    extents_text(&halo->config.cells, text);
    (void)printf("cells %s of 8 B per rank; faces ", text);
    print_faces(halo);
    (void)printf("every ghost cell verified; times are the maximum over ranks\n\n");
}

/* Collective. Rank 0 prints and writes; the exit status of all ranks. */
static int report(const struct halo *halo, const struct series_list *list) {
    struct problem problem = {0};
    struct evidence_list evidence;
    evidence_gather(&evidence);
    if (check_rank() == 0) {
        struct document document = {program, write_parameters, halo, &evidence, list};
        print_heading(halo, &evidence);
        table_print(list);
        if (halo->config.json)
            output_write(halo->config.json, &document, &problem);
    }
    evidence_free(&evidence);
    return problem_agree(&problem, program) ? EXIT_NOT_WRITTEN : EXIT_SUCCESS;
}

static int run_halo(struct halo *halo) {
    struct series_list list = {0};
    int status = EXIT_DATA_WRONG;
    make_faces(halo);
    if (verify(halo, ROUND_BEFORE)) {
        measure_series(halo, &list);
        if (verify(halo, ROUND_AFTER))
            status = report(halo, &list);
    }
    series_free(&list);
    free_faces(halo);
    return status;
}

/* Collective. Places the ranks on the grid. */
static void place(struct halo *halo, struct problem *problem) {
    if (halo->config.rank_map) {
        halo->config.order = GRID_RANK_MAP;
        grid_read(&halo->config.grid, halo->config.rank_map, &halo->grid, problem);
    } else {
        grid_fill(&halo->config.grid, halo->config.order, &halo->grid);
    }
}

static int run(int argc, char **argv) {
    struct halo halo = {0};
    struct problem problem = {0};
    enum options_outcome outcome = halo_config_read(argc, argv, &halo.config);
    if (outcome != OPTIONS_RUN)
        return outcome == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    place(&halo, &problem);
    int status = problem_agree(&problem, program) ? EXIT_USAGE : run_halo(&halo);
    grid_free(&halo.grid);
    return status;
}

int main(int argc, char **argv) {
    check_mpi_init(&argc, &argv);
    int status = run(argc, argv);
    MPI_CHECK(MPI_Finalize());
    return status;
}
