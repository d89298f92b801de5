/* Memory, neighbours and payloads of the faces; see faces.h. */
#include "halo/faces.h"

#include "lib/check.h"
#include "lib/payload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int faces_opposite(int face) {
    return face ^ 1;
}

static struct face make_face(const struct halo_config *config, const struct grid *grid, int index) {
    struct face face = {.shape = face_shape(&config->cells, index / 2, config->face_memory)};
    face.cells = (int)face_cells(&face.shape);
    face.neighbour = grid_neighbour(grid, index / 2, index % 2 ? 1 : -1);
    face.boundary = check_alloc(face_extent(&face.shape), sizeof(double));
    face.ghost = check_alloc(face_extent(&face.shape), sizeof(double));
    face.outgoing = check_alloc_pages((size_t)face.cells * sizeof(double));
    face.incoming = check_alloc_pages((size_t)face.cells * sizeof(double));
    return face;
}

void faces_make(const struct halo_config *config, const struct grid *grid, struct faces *faces) {
    faces->count = 2 * config->dimensions;
    for (int f = 0; f < faces->count; f++)
        faces->face[f] = make_face(config, grid, f);
}

void faces_free(struct faces *faces) {
    for (int f = 0; f < faces->count; f++) {
        free(faces->face[f].boundary);
        free(faces->face[f].ghost);
        free(faces->face[f].outgoing);
        free(faces->face[f].incoming);
    }
}

size_t faces_bytes(const struct faces *faces, int dimension) {
    return (size_t)faces->face[2 * dimension].cells * sizeof(double);
}

size_t faces_exchanged_bytes(const struct faces *faces) {
    size_t bytes = 0;
    for (int d = 0; d < faces->count / 2; d++)
        bytes += 2 * 2 * faces_bytes(faces, d);
    return bytes;
}

/* What rank sends through its face in that round. */
static uint64_t face_key(uint64_t seed, int round, int rank, int face) {
    return payload_key(seed, (uint64_t)round, (uint64_t)rank, (uint64_t)face);
}

void faces_prepare(struct faces *faces, uint64_t seed, int round) {
    for (int f = 0; f < faces->count; f++) {
        struct face *face = &faces->face[f];
        uint64_t key = face_key(seed, round, check_rank(), f);
        for (size_t i = 0; i < (size_t)face->cells; i++) {
            face->boundary[face_offset(&face->shape, i)] = payload_double(key, i);
            face->ghost[face_offset(&face->shape, i)] = NAN;
            face->outgoing[i] = NAN;
            face->incoming[i] = NAN;
        }
    }
}

static void check_face(const struct face *face, int f, uint64_t key, struct problem *problem) {
    char name[4];
    (void)snprintf(name, sizeof name, "%c%c", 'X' + f / 2, f % 2 ? '+' : '-');
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

void faces_check(const struct faces *faces, uint64_t seed, int round, bool own, struct problem *problem) {
    for (int f = 0; f < faces->count; f++) {
        const struct face *face = &faces->face[f];
        uint64_t key = own ? face_key(seed, round, check_rank(), f)
                           : face_key(seed, round, face->neighbour, faces_opposite(f));
        check_face(face, f, key, problem);
    }
}
