/* Allocate memory, or print one line and exit: the router cannot continue without it. And random numbers. */
#ifndef ROUTER_MEMORY_H
#define ROUTER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Print one line and exit with status 1. `errno` is added where it is not 0. */
void fail(const char *what, const char *name) __attribute__((noreturn));

/* Return memory for `count` entries, with what was there before; `old` may be NULL. */
void *grown(void *old, size_t count, size_t size);

/* Return zeroed memory for `count` entries. */
void *zeroed(size_t count, size_t size);

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

#endif
