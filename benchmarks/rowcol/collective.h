/*
 * Collective operations as a table: how much memory each needs, how its data are prepared, run and checked.
 *
 * alltoall    every rank has a block of `size` for every rank
 * allgather   every rank contributes `size`
 * allreduce   the sum of vectors of `size` (64-bit unsigned integers, so that the sum is exact)
 * bcast       `size` from the first rank
 * barrier     no data
 *
 * Leaves out: vector variants, non-blocking and neighbourhood collectives, MPI_IN_PLACE.
 */
#ifndef RAILYARD_ROWCOL_COLLECTIVE_H
#define RAILYARD_ROWCOL_COLLECTIVE_H

#include "lib/problem.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COLLECTIVES = 5 };

/* The ranks that take part, and this rank's memory. */
struct group {
    MPI_Comm comm;
    int rank;
    int ranks;
    uint64_t seed;
    char *outgoing;
    char *incoming;
};

struct collective {
    const char *name;
    bool has_data;
    size_t multiple_bytes; /* sizes must be multiples of it */
    size_t out_blocks;     /* outgoing memory in units of size; 0: one for each rank */
    size_t in_blocks;
    void (*fill)(const struct group *group, size_t bytes);
    void (*run)(const struct group *group, size_t bytes);
    size_t (*first_wrong)(const struct group *group, size_t bytes); /* index of a byte; SIZE_MAX: none */
};

/* In the order above. */
const struct collective *collectives(void);

/* Parser for option tables: names of collectives into bool[COLLECTIVES]. */
bool parse_collectives(const char *text, void *field);

/* The larger of a rank's two buffers. */
size_t collective_bytes(const struct collective *collective, size_t bytes, int ranks);

/* Collective over the group. Runs once on fresh payloads and checks what came; a problem when it is wrong. */
void collective_verify(const struct collective *collective, const struct group *group, size_t bytes,
                       struct problem *problem);

#endif
