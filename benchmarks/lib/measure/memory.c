/* The host's memory, and that of GPUs by dlopen; see memory.h. */
#include "lib/measure/memory.h"

#include "lib/ranks/evidence.h"
#include "lib/run/check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values that CUDA and HIP share: the copy direction Default, which the runtime infers from the pointers, and
 * the flag AttachGlobal, which lets any stream use managed memory. */
enum { COPY_DEFAULT = 4, ATTACH_GLOBAL = 1, SYMBOL_BYTES = 64 };

static const char *const names[] = {"host", "cuda", "cuda-managed", "hip", "hip-managed"};

/* A runtime library by its files' names, newest first, and the start of its functions' names. */
static const struct runtime {
    const char *prefix;
    const char *files[4];
} runtimes[] = {
    {"cuda", {"libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}},
    {"hip", {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}},
};

/* The number of a process on its node, in the launchers' words. Slurm's is last: job scripts have it too. */
static const char *const locals[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID",
                                     "FLUX_TASK_LOCAL_ID", "SLURM_LOCALID"};
enum { LOCALS = sizeof locals / sizeof *locals };

bool parse_memory(const char *text, void *field) {
    static const struct option_names kinds = NAMES_OF(names);
    return options_one(text, &kinds, &((struct memory *)field)->kind);
}

const char *memory_name(const struct memory *memory) {
    return names[memory->kind];
}

bool memory_is_remote(const struct memory *memory) {
    return memory->kind == MEMORY_CUDA || memory->kind == MEMORY_HIP;
}

/* ---- the library ---- */

static const char variable[] = "RAILYARD_GPU_RUNTIME";

static void *load(const struct runtime *runtime) {
    const char *named = getenv(variable);
    void *library = named ? dlopen(named, RTLD_NOW) : NULL;
    for (int i = 0; !named && !library && i < 4; i++)
        library = dlopen(runtime->files[i], RTLD_NOW);
    return library;
}

/* Sets a pointer to the function of that name; a problem when the library has none. */
static void find(void *library, const char *prefix, const char *name, void *function,
                 struct problem *problem) {
    char symbol[SYMBOL_BYTES];
    (void)snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    void *address = dlsym(library, symbol);
    if (!address)
        problem_set(problem, "--memory: the GPU's runtime library has no %s", symbol);
    memcpy(function, &address, sizeof address);
}

static const struct runtime *runtime_of(const struct memory *memory) {
    return &runtimes[memory->kind >= MEMORY_HIP];
}

/* The GPUs of a node go round its ranks. */
static void set_gpu(void *library, const char *prefix, int local, struct problem *problem) {
    int (*count)(int *gpus) = NULL;
    int (*set)(int gpu) = NULL;
    int gpus = 0;
    find(library, prefix, "GetDeviceCount", &count, problem);
    find(library, prefix, "SetDevice", &set, problem);
    if (problem_is_set(problem))
        return;
    if (count(&gpus) != 0 || gpus < 1 || set(local % gpus) != 0)
        problem_set(problem, "--memory: the %s runtime finds no usable GPU", prefix);
}

static int local_of_launcher(void) {
    for (int i = 0; i < LOCALS; i++) {
        const char *text = getenv(locals[i]);
        if (text)
            return (int)strtol(text, NULL, 10);
    }
    return -1;
}

/* Collective. The launcher's number where it has one: MPI may have bound to that GPU in MPI_Init. */
static int local_rank(void) {
    int local = 0;
    int of_launcher = local_of_launcher();
    MPI_CHECK(MPI_Comm_rank(evidence_node(), &local));
    return of_launcher < 0 ? local : of_launcher;
}

void memory_before_init(int argc, char **argv) {
    struct memory memory = {.kind = MEMORY_HOST};
    struct problem unsaid = {0}; /* memory_open prints it, once for all ranks */
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--memory=", strlen("--memory=")) == 0)
            (void)parse_memory(argv[i] + strlen("--memory="), &memory);
        else if (strcmp(argv[i], "--memory") == 0 && i + 1 < argc)
            (void)parse_memory(argv[i + 1], &memory);
    int local = local_of_launcher();
    if (memory.kind == MEMORY_HOST || local < 0)
        return;
    void *library = load(runtime_of(&memory));
    if (library)
        set_gpu(library, runtime_of(&memory)->prefix, local, &unsaid);
}

void memory_open(struct memory *memory, struct problem *problem) {
    const struct runtime *runtime = runtime_of(memory);
    if (memory->kind == MEMORY_HOST)
        return;
    void *library = load(runtime);
    if (!library)
        problem_set(problem, "--memory %s: no runtime library: %s; expected its path in %s",
                    memory_name(memory), getenv(variable) ? getenv(variable) : runtime->files[0], variable);
    int local = local_rank();
    if (!library)
        return;
    set_gpu(library, runtime->prefix, local, problem);
    if (problem_is_set(problem))
        return;
    find(library, runtime->prefix, "Malloc", &memory->allocate, problem);
    find(library, runtime->prefix, "MallocManaged", &memory->allocate_managed, problem);
    find(library, runtime->prefix, "Free", &memory->release, problem);
    find(library, runtime->prefix, "Memcpy", &memory->copy, problem);
    find(library, runtime->prefix, "Memcpy2D", &memory->copy_rows, problem);
    find(library, runtime->prefix, "DeviceSynchronize", &memory->wait, problem);
}

/* ---- use ---- */

static void expect_success(int status, const char *what) {
    if (status == 0)
        return;
    (void)fprintf(stderr, "rank %d: the GPU's runtime failed with %d: %s\n", check_rank(), status, what);
    (void)MPI_Abort(MPI_COMM_WORLD, EXIT_MPI_FAILED);
}

void *memory_alloc(const struct memory *memory, size_t bytes) {
    void *buffer = NULL;
    if (memory->kind == MEMORY_HOST)
        return check_alloc_pages(bytes);
    size_t most = bytes ? bytes : 1;
    expect_success(memory_is_remote(memory) ? memory->allocate(&buffer, most)
                                            : memory->allocate_managed(&buffer, most, ATTACH_GLOBAL),
                   "allocating");
    memory_put(memory, buffer, memset(memory_get(memory, buffer, bytes), 0, bytes), bytes);
    return buffer;
}

void memory_free(const struct memory *memory, void *buffer) {
    if (memory->kind == MEMORY_HOST)
        free(buffer);
    else
        expect_success(memory->release(buffer), "freeing");
}

void *memory_get(const struct memory *memory, void *buffer, size_t bytes) {
    if (!memory_is_remote(memory))
        return buffer;
    void *contents = check_alloc(bytes, 1);
    expect_success(memory->copy(contents, buffer, bytes, COPY_DEFAULT), "copying to the host");
    return contents;
}

void memory_put(const struct memory *memory, void *buffer, void *contents, size_t bytes) {
    if (memory_is_remote(memory))
        expect_success(memory->copy(buffer, contents, bytes, COPY_DEFAULT), "copying from the host");
    memory_drop(memory, buffer, contents);
}

void memory_drop(const struct memory *memory, void *buffer, void *contents) {
    (void)memory;
    if (contents != buffer)
        free(contents);
}

void memory_copy_rows(const struct memory *memory, void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t width, size_t rows) {
    expect_success(memory->copy_rows(to, to_pitch, from, from_pitch, width, rows, COPY_DEFAULT),
                   "copying rows");
    expect_success(memory->wait(), "waiting");
}
