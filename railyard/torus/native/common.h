/* What the programs of a virtual torus share: the end with one line, memory, namespaces, open files, and the
 * router's random numbers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The exit status of `fail`. Each program defines it. */
extern const int failure_status;

/* Print one line, `PROGRAM: cannot WHAT NAME: REASON`, and exit. The reason is the text of `errno`, or "not
 * as expected" where that is 0. */
void fail(const char *what, const char *name) __attribute__((noreturn));

/* Return memory for `count` entries of `size` bytes, with what was there before; `old` may be NULL. The
 * program ends where there is no memory, because none of them can continue without it. */
void *grown(void *old, size_t count, size_t size);

/* Return zeroed memory for `count` entries, which may be 0, or end the program. */
void *zeroed(size_t count, size_t size);

/* Move this process into the network namespace at a path, or end the program; `name` is in its line. */
void enter_network(const char *path, const char *name);

/* Raise the soft limit of open files to the hard one. A process of a torus has a descriptor for each NIC or
 * each host, and the usual soft limit of 1024 would end at some 1000 of them. */
void allow_descriptors(void);

/* The finaliser of SplitMix64 (G. Steele et al., OOPSLA'14). */
static inline uint64_t mixed(uint64_t value) {
    value += 0x9e3779b97f4a7c15ULL;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
    return value ^ value >> 31;
}

static inline uint64_t random_next(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15ULL;
    return mixed(*state);
}

/* Return a number from 0 to below `end`. */
static inline uint32_t random_below(uint64_t *state, uint32_t end) {
    return (uint32_t)((random_next(state) >> 32) * end >> 32);
}

/* Return a number from 0 to below 1. */
static inline double random_share(uint64_t *state) {
    return (double)(random_next(state) >> 11) * 0x1p-53;
}
