/* Strided faces, folded to bounded memory; see face.h. */
#include "halo/face.h"

#include <string.h>

enum { SPREAD = 8 }; /* doubles of a 64-byte cache line */

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static void fold(struct face_shape *shape, size_t limit_bytes) {
    size_t limit = larger(limit_bytes / sizeof(double), SPREAD * face_cells(shape));
    shape->rows = smaller(shape->blocks, larger(1, limit / shape->stride));
    size_t passes = (shape->blocks + shape->rows - 1) / shape->rows;
    shape->pitch = passes > 1 ? shape->stride / passes : 0;
}

/* A block spans the dimensions before the first one with a step, and repeats over the dimensions after it. */
struct face_shape face_shape(const struct extents *cells, size_t values, const int *step,
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

void face_pack(const struct memory *memory, const struct face_shape *shape, const double *field,
               double *buffer) {
    for (size_t block = 0; block < shape->blocks; block += shape->rows, field += shape->pitch)
        copy_rows(memory, smaller(shape->rows, shape->blocks - block), shape->length, field, shape->stride,
                  buffer + block * shape->length, shape->length);
}

void face_unpack(const struct memory *memory, const struct face_shape *shape, const double *buffer,
                 double *field) {
    for (size_t block = 0; block < shape->blocks; block += shape->rows, field += shape->pitch)
        copy_rows(memory, smaller(shape->rows, shape->blocks - block), shape->length,
                  buffer + block * shape->length, shape->length, field, shape->stride);
}
