/* Implements what the programs of a virtual torus share. */
#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void fail(const char *what, const char *name) {
    const char *reason = errno ? strerror(errno) : "not as expected";
    fprintf(stderr, "%s: cannot %s %s: %s\n", program_invocation_short_name, what, name, reason);
    exit(failure_status);
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

void enter_network(const char *path, const char *name) {
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, CLONE_NEWNET) != 0)
        fail("enter", name);
    close(namespace);
}

void allow_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}
