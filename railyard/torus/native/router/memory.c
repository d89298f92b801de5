/* Implements memory or the end. */
#include "memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail(const char *what, const char *name) {
    const char *reason = errno ? strerror(errno) : "not as expected";
    fprintf(stderr, "railyard-router: cannot %s %s: %s\n", what, name, reason);
    exit(EXIT_FAILURE);
}

void *grown(void *old, size_t count, size_t size) {
    void *memory = size == 0 || count > SIZE_MAX / size ? NULL : realloc(old, count * size);
    if (memory == NULL)
        fail("allocate", "memory");
    return memory;
}

void *zeroed(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (memory == NULL)
        fail("allocate", "memory");
    return memory;
}
