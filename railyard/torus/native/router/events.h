/* A queue of events by time: a binary heap whose entries are small enough to be moved. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum event_kind { EVENT_LINK_FREE, EVENT_CELL_HERE, EVENT_CELL_READY, EVENT_CREDIT, EVENT_DELIVERY };

/* `subject` is the cell of EVENT_CELL_HERE and EVENT_CELL_READY, and the chunk of EVENT_DELIVERY. A credit
 * returns `bytes` of the buffer of `link` for its virtual channel `channel` and its next port `queue`. */
struct event {
    uint64_t at_ns;
    void *subject;
    uint32_t link;
    uint32_t queue;
    uint32_t bytes;
    uint8_t kind;
    uint8_t channel;
};

struct events {
    struct event *heap;
    size_t count;
    size_t capacity;
};

/* The time of an empty queue's next event. */
#define NEVER UINT64_MAX

void events_add(struct events *events, struct event event);
struct event events_take(struct events *events);
void events_free(struct events *events);

static inline uint64_t events_next_ns(const struct events *events) {
    return events->count ? events->heap[0].at_ns : NEVER;
}
