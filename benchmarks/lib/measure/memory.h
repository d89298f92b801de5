/*
 * Memory for messages: the host's, or a GPU's by its own runtime library.
 *
 * The CUDA or HIP runtime is loaded only if its memory is requested, so no build needs it:
 * RAILYARD_GPU_RUNTIME names the file, or the usual names are tried. Each rank of a node takes the next GPU.
 * Payloads are generated and checked on the host, and copied to and from the GPU.
 *
 * Leaves out: kernels, streams, and memory that the host registers.
 */
#pragma once

#include "lib/input/options.h"

enum memory_kind { MEMORY_HOST, MEMORY_CUDA, MEMORY_CUDA_MANAGED, MEMORY_HIP, MEMORY_HIP_MANAGED };

/* The calls of a runtime library; all NULL for the host's memory. Each returns 0 when it worked. */
struct memory {
    enum memory_kind kind;
    int (*allocate)(void **address, size_t bytes);
    int (*allocate_managed)(void **address, size_t bytes, unsigned flags);
    int (*release)(void *address);
    int (*copy)(void *to, const void *from, size_t bytes, int direction);
    int (*copy_rows)(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t rows, int direction);
    int (*wait)(void);
};

/* A row of option tables: it sets the kind of a field of type struct memory. */
#define MEMORY_NAMES "host, cuda, cuda-managed, hip, hip-managed"
#define ROW_MEMORY(offset)                                                                                   \
    ROW("memory", "NAME", "host", MEMORY_NAMES, "memory of the message buffers", parse_memory, offset)
bool parse_memory(const char *text, void *field);
const char *memory_name(const struct memory *memory);

/* Chooses this process's GPU where the options name a GPU's memory and the launcher numbers the processes of
 * a node: MPI libraries open the GPU that is current in MPI_Init. */
void memory_before_init(int argc, char **argv);

/* Collective. Loads the runtime, and chooses this rank's GPU if none is; sets a problem without a GPU. */
void memory_open(struct memory *memory, struct problem *problem);

/* Returns whether the host can neither read nor write it. */
bool memory_is_remote(const struct memory *memory);

/* Zeroed memory, aligned to a page; the run ends when there is none. */
void *memory_alloc(const struct memory *memory, size_t bytes);
void memory_free(const struct memory *memory, void *address);

/* The contents on the host: the memory itself where the host can use it, and otherwise a copy. What was
 * changed takes effect by memory_put, which frees the copy; memory_drop frees it without. */
void *memory_get(const struct memory *memory, void *address, size_t bytes);
void memory_put(const struct memory *memory, void *address, void *contents, size_t bytes);
void memory_drop(const struct memory *memory, void *address, void *contents);

/* Copies rows of `width` bytes between two buffers of this memory, with the given distance in bytes between
 * row starts, and returns when the copy is complete. */
void memory_copy_rows(const struct memory *memory, void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t width, size_t rows);
