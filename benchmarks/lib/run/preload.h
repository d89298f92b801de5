/*
 * Finds the function that a preloaded wrapper must call: that of the same name in the next library.
 *
 * That is a profiler's, or MPI's own. So every library that is preloaded sees each call.
 */
#ifndef RAILYARD_LIB_RUN_PRELOAD_H
#define RAILYARD_LIB_RUN_PRELOAD_H

#include <stddef.h>

#define PRELOAD_EXPORTED __attribute__((visibility("default")))

/* Writes the address of the next function of that name to `function`, a function pointer of `bytes` bytes.
 * Ends the process with one line that names the library if there is no such function, or if the library was
 * built for another MPI than the program: the handles of two MPIs differ, so that one call would end in a
 * signal. */
void preload_next(const char *library, const char *name, void *function, size_t bytes);

/* Between the calls with 1 and 0 this thread's messages are a library's own, which railyard's capture, if
 * preloaded, does not count. */
void preload_own_calls(int begin);

#endif
