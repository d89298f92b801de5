/*
 * Collective operations as a table: how much memory each needs, how its data are prepared, run and checked.
 *
 * alltoall    every rank has a block of `size` for every rank
 * allgather   every rank contributes `size`
 * allreduce   the sum of vectors of `size` (64-bit unsigned integers, so that the sum is exact)
 * bcast       `size` from one rank, another each time
 * barrier     no data
 * alltoallv   blocks of half and of one and a half `size` take turns
 * reduce-scatter   the same sums, `size` of them on each rank
 * allreduce-float  sums of single-precision numbers (whole ones, so that the sum is exact)
 *
 * Leaves out: non-blocking and neighbourhood collectives, MPI_IN_PLACE.
 */
#pragma once

#include "lib/measure/memory.h"
#include "lib/run/problem.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COLLECTIVES = 8 };

/* The ranks that take part, and this rank's memory. */
struct group {
    MPI_Comm comm;
    int rank;
    int ranks;
    int root;   /* bcast only: the rank that sends next */
    long calls; /* how often a collective ran */
    uint64_t seed;
    const struct memory *memory; /* kind of memory of both buffers */
    char *outgoing;
    char *incoming;
    int *counts; /* alltoallv only: count per rank; `places`: displacements */
    int *places;
};

struct collective {
    const char *name;
    size_t multiple_bytes; /* sizes must be multiples of it; 0: no data */
    size_t out_blocks;     /* outgoing memory in units of the size; 0: one unit per rank */
    size_t in_blocks;
    bool uneven;                                           /* blocks are up to one and a half sizes */
    void (*fill)(const struct group *group, size_t bytes); /* NULL: no data, as the next but one */
    void (*run)(const struct group *group, size_t bytes);
    size_t (*first_wrong)(const struct group *group, size_t bytes); /* index of a byte; SIZE_MAX: none */
    double (*bus_share)(int ranks);                                 /* bus over algorithmic bandwidth */
};

/* In the order above. */
extern const struct collective collectives[COLLECTIVES];

/* The larger of a rank's two buffers. */
size_t collective_bytes(const struct collective *collective, size_t bytes, int ranks);

/* Algorithmic bandwidth: bytes of the larger of a rank's buffers over the time, as nccl-tests count it. */
double collective_gbyte_s(const struct collective *collective, size_t bytes, int ranks, double seconds);

/* A problem when what this rank received last is wrong. */
void collective_check(const struct collective *collective, const struct group *group, size_t bytes,
                      struct problem *problem);

/* Collective over the group. Runs once on fresh payloads and checks what came; a problem when it is wrong. */
void collective_verify(const struct collective *collective, struct group *group, size_t bytes,
                       struct problem *problem);
