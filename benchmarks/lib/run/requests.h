/*
 * The persistent send requests of this process: the bytes that each handle sends when it is started.
 *
 * A hash table. MPI reuses the handle of a freed request, so an entry stays and is reused; the table has at
 * most as many entries as the program had persistent sends at one time. Leaves out: threads (the caller holds
 * a lock).
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request {
    uint64_t key; /* the handle's bits */
    uint64_t bytes;
    bool taken; /* whether this slot has a handle */
    bool sends; /* false once it is freed */
};

/* Zeroed at first. */
struct requests {
    struct request *slot;
    size_t slots; /* 0, or a power of two */
    size_t count;
};

/* Records the bytes that a handle sends; false if there is no memory. */
bool requests_add(struct requests *requests, MPI_Request handle, uint64_t bytes);

/* Forgets a handle; one that is not known is no error. */
void requests_remove(struct requests *requests, MPI_Request handle);

/* Returns true for a handle that sends, and writes its bytes. */
bool requests_find(const struct requests *requests, MPI_Request handle, uint64_t *bytes);
