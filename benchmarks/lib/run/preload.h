/*
 * Finds the function that a preloaded wrapper must call: that of the same name in the next library.
 *
 * That is a profiler's, or MPI's own. So every library that is preloaded sees each call.
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#define PRELOAD_EXPORTED __attribute__((visibility("default")))

/* Writes the address of the next function of that name to `function`, a function pointer of `bytes` bytes.
 * Ends the process with one line that names the library if there is no such function, or if the library was
 * built for another MPI than the program: the handles of two MPIs differ, so that one call would end in a
 * signal. */
void preload_next(const char *library, const char *name, void *function, size_t bytes);

/* Finds the next function of a name once, as `next`; threads that find it at the same time write the same
 * address. */
#define PRELOAD_NEXT(library, name, parameters)                                                              \
    static int(*next) parameters;                                                                            \
    if (!next)                                                                                               \
    preload_next(library, #name, &next, sizeof next)

/* A call of a wrapped function begins, or ends: true in the outermost wrapper of this thread. */
bool preload_enter(void);
void preload_leave(void);

/* A wrapper that evaluates `note` after the call, if it is the outermost and the call was good. */
#define PRELOAD_WRAP(library, name, parameters, arguments, note)                                             \
    PRELOAD_EXPORTED int name parameters;                                                                    \
    int name parameters {                                                                                    \
        PRELOAD_NEXT(library, name, parameters);                                                             \
        bool outermost = preload_enter();                                                                    \
        int code = next arguments;                                                                           \
        if (outermost && code == MPI_SUCCESS)                                                                \
            note;                                                                                            \
        preload_leave();                                                                                     \
        return code;                                                                                         \
    }

/* Between the calls with 1 and 0 this thread's messages are a library's own, which railyard's capture, if
 * preloaded, does not count. */
void preload_own_calls(int begin);
