/* Strided faces, folded to bounded memory; see face.h. */
#include "halo/face.h"

#include <string.h>

enum {
    SPREAD = 8, /* doubles of a 64-byte cache line */
    AHEAD = 24  /* rows: single cells lie on pages of their own, which no hardware prefetcher foresees */
};

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t product(const struct extents *cells, int from, int to) {
    size_t result = 1;
    for (int d = from; d < to; d++)
        result *= cells->length[d];
    return result;
}

static void fold(struct face_shape *shape, size_t limit_bytes) {
    size_t limit = larger(limit_bytes / sizeof(double), SPREAD * face_cells(shape));
    shape->rows = smaller(shape->blocks, larger(1, limit / shape->stride));
    size_t passes = (shape->blocks + shape->rows - 1) / shape->rows;
    shape->pitch = passes > 1 ? shape->stride / passes : 0;
}

struct face_shape face_shape(const struct extents *cells, int dimension, size_t limit_bytes) {
    struct face_shape shape = {
        .blocks = product(cells, dimension + 1, cells->count),
        .length = product(cells, 0, dimension),
        .stride = product(cells, 0, dimension + 1),
    };
    fold(&shape, limit_bytes);
    return shape;
}

size_t face_cells(const struct face_shape *shape) {
    return shape->blocks * shape->length;
}

size_t face_extent(const struct face_shape *shape) {
    if (shape->rows == shape->blocks)
        return (shape->blocks - 1) * shape->stride + shape->length;
    return shape->rows * shape->stride;
}

size_t face_offset(const struct face_shape *shape, size_t i) {
    size_t block = i / shape->length;
    return block % shape->rows * shape->stride + block / shape->rows * shape->pitch + i % shape->length;
}

static void pack_cells(const double *field, size_t rows, size_t stride, double *buffer) {
    for (size_t row = 0; row < rows; row++) {
        __builtin_prefetch(&field[smaller(row + AHEAD, rows - 1) * stride], 0, 1);
        buffer[row] = field[row * stride];
    }
}

static void unpack_cells(const double *buffer, size_t rows, size_t stride, double *field) {
    for (size_t row = 0; row < rows; row++) {
        __builtin_prefetch(&field[smaller(row + AHEAD, rows - 1) * stride], 1, 1);
        field[row * stride] = buffer[row];
    }
}

static void pack_blocks(const double *field, size_t rows, const struct face_shape *shape, double *buffer) {
    for (size_t row = 0; row < rows; row++)
        memcpy(buffer + row * shape->length, field + row * shape->stride, shape->length * sizeof(double));
}

static void unpack_blocks(const double *buffer, size_t rows, const struct face_shape *shape, double *field) {
    for (size_t row = 0; row < rows; row++)
        memcpy(field + row * shape->stride, buffer + row * shape->length, shape->length * sizeof(double));
}

void face_pack(const struct face_shape *shape, const double *field, double *buffer) {
    for (size_t block = 0; block < shape->blocks; block += shape->rows, field += shape->pitch) {
        size_t rows = smaller(shape->rows, shape->blocks - block);
        if (shape->length == 1)
            pack_cells(field, rows, shape->stride, buffer + block);
        else
            pack_blocks(field, rows, shape, buffer + block * shape->length);
    }
}

void face_unpack(const struct face_shape *shape, const double *buffer, double *field) {
    for (size_t block = 0; block < shape->blocks; block += shape->rows, field += shape->pitch) {
        size_t rows = smaller(shape->rows, shape->blocks - block);
        if (shape->length == 1)
            unpack_cells(buffer + block, rows, shape->stride, field);
        else
            unpack_blocks(buffer + block * shape->length, rows, shape, field);
    }
}
