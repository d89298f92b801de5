/* Implements the queue of events. */
#include "events.h"
#include "../common.h"

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

/* The queue must not be empty. The hole that the first leaves sinks to the end of the heap, and the last
 * entry rises from there, which it seldom does. Which child is earlier is computed, because a processor
 * cannot guess it. */
struct event events_take(struct events *events) {
    struct event *heap = events->heap;
    size_t count = --events->count, index = 0, child = 1;
    struct event first = heap[0], last = heap[count];
    for (; child + 1 < count; child = 2 * index + 1) {
        child += heap[child + 1].at_ns < heap[child].at_ns;
        heap[index] = heap[child];
        index = child;
    }
    if (child < count) {
        heap[index] = heap[child];
        index = child;
    }
    for (; index > 0 && heap[(index - 1) / 2].at_ns >= last.at_ns; index = (index - 1) / 2)
        heap[index] = heap[(index - 1) / 2];
    heap[index] = last;
    return first;
}

void events_free(struct events *events) {
    free(events->heap);
    *events = (struct events){0};
}
