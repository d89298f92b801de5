/* Open addressing with linear probing, at most half full; see requests.h. */
#include "lib/run/requests.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_PLACES = 64 };
/* 2^64 over the golden ratio: neighbouring handles are spread over the table. */
static const uint64_t spread = UINT64_C(0x9e3779b97f4a7c15);

_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "a handle fits into a key");

/* A pointer (Open MPI) or a number (MPICH). */
static uint64_t key_of(MPI_Request handle) {
    uint64_t key = 0;
    memcpy(&key, &handle, sizeof handle);
    return key;
}

/* The place of a key, or the free one where it belongs; the table has a free place. */
static struct request *find_place(const struct requests *requests, uint64_t key) {
    size_t last = requests->slots - 1;
    size_t at = (size_t)((key * spread) >> 32) & last;
    while (requests->slot[at].taken && requests->slot[at].key != key)
        at = (at + 1) & last;
    return &requests->slot[at];
}

static bool grow(struct requests *requests) {
    struct requests larger = {.slots = requests->slots ? 2 * requests->slots : FIRST_PLACES,
                              .count = requests->count};
    larger.slot = calloc(larger.slots, sizeof *larger.slot);
    if (!larger.slot)
        return false;
    for (size_t i = 0; i < requests->slots; i++)
        if (requests->slot[i].taken)
            *find_place(&larger, requests->slot[i].key) = requests->slot[i];
    free(requests->slot);
    *requests = larger;
    return true;
}

bool requests_add(struct requests *requests, MPI_Request handle, uint64_t bytes) {
    uint64_t key = key_of(handle);
    if (2 * requests->count >= requests->slots && !grow(requests))
        return false;
    struct request *slot = find_place(requests, key);
    requests->count += !slot->taken;
    *slot = (struct request){.key = key, .bytes = bytes, .taken = true, .sends = true};
    return true;
}

void requests_remove(struct requests *requests, MPI_Request handle) {
    if (requests->slots > 0)
        find_place(requests, key_of(handle))->sends = false;
}

bool requests_find(const struct requests *requests, MPI_Request handle, uint64_t *bytes) {
    if (requests->slots == 0)
        return false;
    const struct request *slot = find_place(requests, key_of(handle));
    if (slot->sends)
        *bytes = slot->bytes;
    return slot->sends;
}
