/*
 * A runtime library for GPUs that are not there: the calls that lib/measure/memory.c takes from libcudart or
 * libamdhip64, under both names. "Device" memory is the host's, so that any MPI can send it; it is shifted by
 * a page inside its allocation, and a call that is not the library's own (free, for example) on it ends the
 * program.
 *
 * With STUB_GPU_REPORT=FILE a line for each process counts its calls, which shows that device memory was
 * used, and that the GPU was chosen before MPI began.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHIFT = 4096, GPUS = 2 };

static int allocated;
static int managed;
static int copies;
static int rows_copied;
static int before_init;
static int set_calls;

static void report(void) {
    const char *path = getenv("STUB_GPU_REPORT");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    (void)fprintf(file, "%d %d %d %d %d\n", allocated, managed, copies, rows_copied, before_init);
    (void)fclose(file);
}

static int get_count(int *count) {
    const char *text = getenv("STUB_GPU_COUNT");
    *count = text ? atoi(text) : GPUS;
    return 0;
}

static int set_device(int device) {
    int (*mpi_runs)(int *flag) = NULL;
    void *function = dlsym(RTLD_DEFAULT, "MPI_Initialized");
    int runs = 0;
    if (set_calls++ == 0)
        (void)atexit(report);
    memcpy(&mpi_runs, &function, sizeof function);
    if (mpi_runs)
        (void)mpi_runs(&runs);
    before_init += !runs;
    return device < GPUS ? 0 : 1;
}

static int allocate(void **place, size_t bytes) {
    char *whole = aligned_alloc(SHIFT, SHIFT + (bytes / SHIFT + 1) * SHIFT);
    if (!whole)
        return 2;
    memset(whole, 0x5a, SHIFT + bytes);
    *place = whole + SHIFT;
    allocated++;
    // cppcheck-suppress memleak; release() frees it
    return 0;
}

static int allocate_managed(void **place, size_t bytes, unsigned flags) {
    managed++;
    return flags == 1 ? allocate(place, bytes) : 1;
}

static int release(void *place) {
    free((char *)place - SHIFT);
    return 0;
}

static int copy(void *to, const void *from, size_t bytes, int direction) {
    copies++;
    memcpy(to, from, bytes);
    return direction == 4 ? 0 : 1;
}

static int copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
                   int direction) {
    if (width > to_pitch || (rows > 1 && width > from_pitch))
        return 3;
    rows_copied++;
    for (size_t row = 0; row < rows; row++)
        memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    return direction == 4 ? 0 : 1;
}

#define RUNTIME(prefix)                                                                                      \
    int prefix##GetDeviceCount(int *count) {                                                                 \
        return get_count(count);                                                                             \
    }                                                                                                        \
    int prefix##SetDevice(int device) {                                                                      \
        return set_device(device);                                                                           \
    }                                                                                                        \
    int prefix##Malloc(void **place, size_t bytes) {                                                         \
        return allocate(place, bytes);                                                                       \
    }                                                                                                        \
    int prefix##MallocManaged(void **place, size_t bytes, unsigned flags) {                                  \
        return allocate_managed(place, bytes, flags);                                                        \
    }                                                                                                        \
    int prefix##Free(void *place) {                                                                          \
        return release(place);                                                                               \
    }                                                                                                        \
    int prefix##Memcpy(void *to, const void *from, size_t bytes, int direction) {                            \
        return copy(to, from, bytes, direction);                                                             \
    }                                                                                                        \
    int prefix##Memcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,       \
                         size_t rows, int direction) {                                                       \
        return copy_2d(to, to_pitch, from, from_pitch, width, rows, direction);                              \
    }                                                                                                        \
    int prefix##DeviceSynchronize(void) {                                                                    \
        return 0;                                                                                            \
    }

RUNTIME(cuda)
RUNTIME(hip)
