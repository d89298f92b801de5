/* Layout, packing, neighbours and payloads of the faces; see faces.h. */
#include "halo/faces.h"

#include "lib/measure/idle.h"
#include "lib/measure/payload.h"
#include "lib/run/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_CELLS = 8 }; /* doubles of a 64-byte cache line */

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* The cells of the face. */
static size_t face_cells(const struct face_shape *shape) {
    return shape->blocks * shape->length;
}

/* Returns the shape of the doubles sent to the neighbour at `step` (-1, 0 or 1 along each dimension), for an
 * array of these cells with `values` doubles each, folded to about limit_bytes if longer. A block spans the
 * dimensions before the first one with a step, and repeats over the dimensions after it. */
static struct face_shape shape_of(const struct extents *cells, size_t values, const int *step,
                                  size_t limit_bytes) {
    struct face_shape shape = {.blocks = 1, .length = values, .stride = values};
    int d = 0;
    for (; d < cells->count && step[d] == 0; d++)
        shape.length *= cells->length[d];
    for (int e = 0; e < d; e++)
        shape.stride *= cells->length[e];
    for (; d < cells->count; d++)
        if (step[d] == 0)
            shape.blocks *= cells->length[d];
        else if (shape.blocks == 1)
            shape.stride *= cells->length[d];
    size_t limit = larger(limit_bytes / sizeof(double), LINE_CELLS * face_cells(&shape));
    shape.rows = smaller(shape.blocks, larger(1, limit / shape.stride));
    size_t passes = (shape.blocks + shape.rows - 1) / shape.rows;
    shape.pitch = passes > 1 ? shape.stride / passes : 0;
    return shape;
}

/* The cells of the memory that the face lies in. */
static size_t face_extent(const struct face_shape *shape) {
    if (shape->rows == shape->blocks)
        return (shape->blocks - 1) * shape->stride + shape->length;
    return shape->rows * shape->stride;
}

/* Returns the position of cell i of the face in that memory; without the packing code, to verify it. */
static size_t face_offset(const struct face_shape *shape, size_t i) {
    size_t block = i / shape->length;
    return block % shape->rows * shape->stride + block / shape->rows * shape->pitch + i % shape->length;
}

/* Copies rows of `length` cells; source and target have separate strides. */
static void copy_rows(const struct memory *memory, size_t rows, size_t length, const double *from,
                      size_t from_stride, double *to, size_t to_stride) {
    if (memory->kind != MEMORY_HOST)
        memory_copy_rows(memory, to, to_stride * sizeof *to, from, from_stride * sizeof *from,
                         length * sizeof *to, rows);
    else if (length == 1)
        for (size_t row = 0; row < rows; row++)
            to[row * to_stride] = from[row * from_stride];
    else
        for (size_t row = 0; row < rows; row++)
            memcpy(to + row * to_stride, from + row * from_stride, length * sizeof *to);
}

#ifdef RAILYARD_HOST_FROM_MPI
/* Waits for the time that packing or unpacking the face takes: one pass over its cache lines and one over its
 * cells. */
static void pass_copytime(const struct face_shape *shape) {
    size_t lines = shape->blocks * ((shape->length + LINE_CELLS - 1) / LINE_CELLS);
    double bytes = (double)((lines * LINE_CELLS + shape->blocks * shape->length) * sizeof(double));
    const char *text = getenv("RAILYARD_CORE_GBYTE_S");
    double rate_byte_s = text ? 1e9 * strtod(text, NULL) : 0;
    if (!(rate_byte_s > 0))
        return;
    idle_sleep(bytes / rate_byte_s); /* smpicc makes it pass in simulated time */
}
#else
static void pass_copytime(const struct face_shape *shape) {
    (void)shape;
}
#endif

void face_pack(const struct memory *memory, const struct face_shape *shape, const double *field,
               double *buffer) {
    for (size_t block = 0; block < shape->blocks; block += shape->rows, field += shape->pitch)
        copy_rows(memory, smaller(shape->rows, shape->blocks - block), shape->length, field, shape->stride,
                  buffer + block * shape->length, shape->length);
    pass_copytime(shape);
}

void face_unpack(const struct memory *memory, const struct face_shape *shape, const double *buffer,
                 double *field) {
    for (size_t block = 0; block < shape->blocks; block += shape->rows, field += shape->pitch)
        copy_rows(memory, smaller(shape->rows, shape->blocks - block), shape->length,
                  buffer + block * shape->length, shape->length, field, shape->stride);
    pass_copytime(shape);
}

/* ---- all faces ---- */

int faces_opposite(int face) {
    return face ^ 1;
}

/* Strided memory may be large and sparsely used; untouched pages of host memory cost nothing. */
static double *allocate_strided(const struct memory *memory, size_t cells) {
    return memory->kind == MEMORY_HOST ? check_alloc(cells, sizeof(double))
                                       : memory_alloc(memory, cells * sizeof(double));
}

static void add_face(const struct halo_config *config, const struct grid *grid, const int *step, int sign,
                     struct faces *faces) {
    struct face *face = &faces->face[faces->count++];
    face->own = true;
    for (int d = 0; d < config->dimensions; d++) {
        face->step[d] = sign * step[d];
        face->own = face->own && (step[d] == 0 || grid->extents.length[d] == 1);
    }
    face->shape = shape_of(&config->cells, (size_t)config->values, step, config->face_memory);
    face->cells = (int)face_cells(&face->shape);
    face->neighbour = grid_neighbour(grid, face->step);
    face->boundary = allocate_strided(faces->memory, face_extent(&face->shape));
    face->ghost = allocate_strided(faces->memory, face_extent(&face->shape));
    face->outgoing = memory_alloc(faces->memory, (size_t)face->cells * sizeof(double));
    face->incoming = memory_alloc(faces->memory, (size_t)face->cells * sizeof(double));
}

/* Edges and corners: steps along two dimensions or more, of which the first is -1, and their opposites. */
static void add_edges(const struct halo_config *config, const struct grid *grid, struct faces *faces) {
    int steps = config->dimensions == 3 ? 27 : 9;
    for (int number = 0; number < steps; number++) {
        int step[PARSE_DIMENSIONS_MAX] = {number % 3 - 1, number / 3 % 3 - 1, number / 9 - 1};
        int moves = 0;
        int first = 0;
        if (config->dimensions == 2)
            step[2] = 0;
        for (int d = config->dimensions - 1; d >= 0; d--)
            if (step[d] != 0) {
                moves++;
                first = step[d];
            }
        if (moves < 2 || first > 0)
            continue;
        add_face(config, grid, step, 1, faces);
        add_face(config, grid, step, -1, faces);
    }
}

void faces_make(const struct halo_config *config, const struct grid *grid, struct faces *faces) {
    *faces = (struct faces){.memory = &config->memory};
    for (int d = 0; d < config->dimensions; d++) {
        int step[PARSE_DIMENSIONS_MAX] = {0};
        step[d] = 1;
        add_face(config, grid, step, -1, faces);
        add_face(config, grid, step, 1, faces);
    }
    if (config->full_stencil)
        add_edges(config, grid, faces);
}

void faces_free(struct faces *faces) {
    for (int f = 0; f < faces->count; f++) {
        memory_free(faces->memory, faces->face[f].boundary);
        memory_free(faces->memory, faces->face[f].ghost);
        memory_free(faces->memory, faces->face[f].outgoing);
        memory_free(faces->memory, faces->face[f].incoming);
    }
}

size_t faces_bytes(const struct faces *faces, int dimension) {
    return (size_t)faces->face[2 * dimension].cells * sizeof(double);
}

size_t faces_exchanged_bytes(const struct faces *faces) {
    size_t bytes = 0;
    for (int f = 0; f < faces->count; f++)
        bytes += 2 * (size_t)faces->face[f].cells * sizeof(double);
    return bytes;
}

size_t faces_own_bytes(const struct faces *faces) {
    size_t bytes = 0;
    for (int f = 0; f < faces->count; f++)
        bytes += faces->face[f].own ? 2 * (size_t)faces->face[f].cells * sizeof(double) : 0;
    return bytes;
}

/* Returns the payload key of a rank's face in a round. */
static uint64_t face_key(uint64_t seed, int round, int rank, int face) {
    return payload_key(seed, (uint64_t)round, (uint64_t)rank, (uint64_t)face);
}

/* Fills the face's cells of strided memory, or all of a buffer, with a payload; without a key with NaN. */
static void fill(const struct memory *memory, const struct face *face, double *place, bool strided,
                 const uint64_t *key) {
    size_t bytes = (strided ? face_extent(&face->shape) : (size_t)face->cells) * sizeof(double);
    double *cells = memory_get(memory, place, bytes);
    for (size_t i = 0; i < (size_t)face->cells; i++)
        cells[strided ? face_offset(&face->shape, i) : i] = key ? payload_double(*key, i) : (double)NAN;
    memory_put(memory, place, cells, bytes);
}

void faces_prepare(struct faces *faces, uint64_t seed, int round) {
    for (int f = 0; f < faces->count; f++) {
        const struct face *face = &faces->face[f];
        uint64_t key = face_key(seed, round, check_rank(), f);
        fill(faces->memory, face, face->boundary, true, &key);
        fill(faces->memory, face, face->ghost, true, NULL);
        fill(faces->memory, face, face->outgoing, false, NULL);
        fill(faces->memory, face, face->incoming, false, NULL);
    }
}

/* "X-", or for an edge "X-Y+". */
static void face_name(const struct face *face, char *name) {
    for (int d = 0; d < PARSE_DIMENSIONS_MAX; d++)
        if (face->step[d] != 0) {
            *name++ = (char)('X' + d);
            *name++ = face->step[d] > 0 ? '+' : '-';
        }
    *name = '\0';
}

void faces_check(struct faces *faces, uint64_t seed, int round, bool own, struct problem *problem) {
    for (int f = 0; f < faces->count; f++) {
        struct face *face = &faces->face[f];
        uint64_t key = own ? face_key(seed, round, check_rank(), f)
                           : face_key(seed, round, face->neighbour, faces_opposite(f));
        double *ghost = memory_get(faces->memory, face->ghost, face_extent(&face->shape) * sizeof(double));
        /* In test builds: flips a bit of the last ghost cell of the first face, like a corrupting link. */
        if (f == 0)
            payload_test_fault(&ghost[face_offset(&face->shape, (size_t)face->cells - 1)], sizeof(double),
                               check_rank());
        char name[2 * PARSE_DIMENSIONS_MAX + 1];
        face_name(face, name);
        for (size_t i = 0; i < (size_t)face->cells && !problem_is_set(problem); i++) {
            uint64_t expected = payload_bits(payload_double(key, i));
            uint64_t found = payload_bits(ghost[face_offset(&face->shape, i)]);
            if (expected != found)
                problem_set(
                    problem,
                    "data are wrong, no rate is printed: rank %d, face %s, cell %zu: expected %016llx, "
                    "found %016llx",
                    check_rank(), name, i, (unsigned long long)expected, (unsigned long long)found);
        }
        memory_drop(faces->memory, face->ghost, ghost);
    }
}
