/* Implements the queue of events. */
#include "events.h"
#include "memory.h"

#include <stdlib.h>

void events_add(struct events *events, struct event event) {
    if (events->count == events->capacity) {
        events->capacity = events->capacity ? 2 * events->capacity : 1024;
        events->heap = grown(events->heap, events->capacity, sizeof *events->heap);
    }
    size_t place = events->count++;
    while (place > 0) {
        size_t parent = (place - 1) / 2;
        if (events->heap[parent].at_ns <= event.at_ns)
            break;
        events->heap[place] = events->heap[parent];
        place = parent;
    }
    events->heap[place] = event;
}

/* The queue must not be empty. */
struct event events_take(struct events *events) {
    struct event *heap = events->heap;
    struct event first = heap[0], last = heap[--events->count];
    size_t place = 0;
    for (size_t child = 1; child < events->count; child = 2 * place + 1) {
        if (child + 1 < events->count && heap[child + 1].at_ns < heap[child].at_ns)
            child++;
        if (heap[child].at_ns >= last.at_ns)
            break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = last;
    return first;
}

void events_free(struct events *events) {
    free(events->heap);
    *events = (struct events){0};
}
