/* Allocate memory, or print one line and exit: the router cannot continue without it. */
#ifndef ROUTER_MEMORY_H
#define ROUTER_MEMORY_H

#include <stddef.h>

/* Print one line and exit with status 1. `errno` is added where it is not 0. */
void fail(const char *what, const char *name) __attribute__((noreturn));

/* Return memory for `count` entries, with what was there before; `old` may be NULL. */
void *grown(void *old, size_t count, size_t size);

/* Return zeroed memory for `count` entries. */
void *zeroed(size_t count, size_t size);

#endif
