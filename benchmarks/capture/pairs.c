/* Open addressing with linear probing, at most half full; see pairs.h. */
#include "capture/pairs.h"

#include <stdlib.h>

enum { FIRST_PLACES = 64 };
/* 2^64 over the golden ratio: neighbouring ranks are spread over the table. */
static const uint64_t spread = UINT64_C(0x9e3779b97f4a7c15);

static bool same(const struct pair *pair, const struct pair *other) {
    return pair->peer == other->peer && pair->phase == other->phase && pair->fetched == other->fetched;
}

/* The slot of a pair, or the free one where it belongs; the table has a free one. */
static struct pair *find_slot(const struct pairs *pairs, const struct pair *wanted) {
    size_t last = pairs->slots - 1;
    uint64_t key = (uint64_t)(uint32_t)wanted->peer << 32 | wanted->phase << 1 | wanted->fetched;
    size_t at = (size_t)((key * spread) >> 32) & last;
    while (pairs->slot[at].taken && !same(&pairs->slot[at], wanted))
        at = (at + 1) & last;
    return &pairs->slot[at];
}

static bool grow(struct pairs *pairs) {
    struct pairs larger = {.slots = pairs->slots ? 2 * pairs->slots : FIRST_PLACES, .count = pairs->count};
    larger.slot = calloc(larger.slots, sizeof *larger.slot);
    if (!larger.slot)
        return false;
    for (size_t i = 0; i < pairs->slots; i++)
        if (pairs->slot[i].taken)
            *find_slot(&larger, &pairs->slot[i]) = pairs->slot[i];
    free(pairs->slot);
    *pairs = larger;
    return true;
}

bool pairs_add(struct pairs *pairs, uint32_t phase, int32_t peer, bool fetched, enum kind kind,
               struct amount amount) {
    struct pair wanted = {.phase = phase, .peer = peer, .fetched = fetched, .taken = 1};
    if (2 * pairs->count >= pairs->slots && !grow(pairs))
        return false;
    struct pair *slot = find_slot(pairs, &wanted);
    if (!slot->taken) {
        *slot = wanted;
        pairs->count++;
    }
    slot->amounts[kind].messages += amount.messages;
    slot->amounts[kind].bytes += amount.bytes;
    return true;
}
