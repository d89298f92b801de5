/*
 * What this process sent to each other rank: messages and bytes by phase and kind; and the matrix of all
 * ranks.
 *
 * Leaves out: threads (the caller holds a lock).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What moved the bytes; the order of the columns of the file (docs/formats.md, "Matrix"). */
enum kind { KIND_MESSAGE, KIND_COLLECTIVE, KIND_ONE_SIDED, KINDS };

struct amount {
    uint64_t messages;
    uint64_t bytes;
};

/* A row of the file. */
struct pair {
    uint32_t phase;
    int32_t peer;     /* rank of MPI_COMM_WORLD */
    uint32_t fetched; /* 1 where the peer's memory is the source: MPI_Get */
    uint32_t taken;   /* whether this slot has a pair */
    struct amount amounts[KINDS];
};

/* Zeroed at first. */
struct pairs {
    struct pair *slot;
    size_t slots; /* 0, or a power of two */
    size_t count;
};

/* Adds to a pair; false if there is no memory. */
bool pairs_add(struct pairs *pairs, uint32_t phase, int32_t peer, bool fetched, enum kind kind,
               struct amount amount);

/* Collective. Writes the file that RAILYARD_MATRIX names (docs/formats.md, "Matrix"). Rank 0 takes one rank's
 * pairs at a time, so its memory does not grow with the ranks. */
void matrix_write(const struct pairs *pairs, uint64_t left_out);

/* Not collective. Appends one rank's pairs to that file, with a line on the screen if it is the first. */
void matrix_write_own(const struct pairs *pairs, int rank, int ranks, uint64_t left_out);

/* Removes the file of an earlier launch. */
void matrix_remove(void);
