/* Implements the queue of events. */
#include "events.h"
#include "memory.h"

#include <stdlib.h>

void events_add(struct events *events, struct event event) {
    if (events->count == events->capacity) {
        events->capacity = events->capacity ? 2 * events->capacity : 1024;
        events->heap = grown(events->heap, events->capacity, sizeof *events->heap);
    }
    size_t index = events->count++;
    while (index > 0) {
        size_t parent = (index - 1) / 2;
        if (events->heap[parent].at_ns <= event.at_ns)
            break;
        events->heap[index] = events->heap[parent];
        index = parent;
    }
    events->heap[index] = event;
}

/* The queue must not be empty. */
struct event events_take(struct events *events) {
    struct event *heap = events->heap;
    struct event first = heap[0], last = heap[--events->count];
    size_t index = 0;
    for (size_t child = 1; child < events->count; child = 2 * index + 1) {
        if (child + 1 < events->count && heap[child + 1].at_ns < heap[child].at_ns)
            child++;
        if (heap[child].at_ns >= last.at_ns)
            break;
        heap[index] = heap[child];
        index = child;
    }
    heap[index] = last;
    return first;
}

void events_free(struct events *events) {
    free(events->heap);
    *events = (struct events){0};
}
