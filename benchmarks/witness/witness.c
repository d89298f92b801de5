/*
 * Which rank of MPI_COMM_WORLD runs where, for a program that does not say.
 *
 * A library to preload (railyard-witness does it): it looks on once, when MPI has started, and
 * rank 0 writes what it saw to the file that RAILYARD_WITNESS names (docs/formats.md, "Witness"). Between
 * that and MPI_Finalize it counts what the NICs send, where it is asked to (counters/nics.h). Processes that
 * were meant to be ranks of one world and are not each write a world of one. Further preloaded libraries
 * still get their turn. Leaves out: programs whose main is Fortran, where MPI starts by another symbol, and
 * migrations after the start.
 */
#include "counters/nics.h"
#include "lib/output/output.h"
#include "lib/ranks/evidence.h"
#include "lib/run/check.h"
#include "lib/run/singleton.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

enum { PATH_BYTES = 4096 };

static void write_witness(FILE *file, const struct evidence_list *list) {
    struct json json = json_start(file);
    json_object(&json);
    json_key_text(&json, "format", "railyard-witness/1");
    output_mpi(&json, list->ranks);
    output_ranks(&json, list);
    json_object_end(&json);
}

/* Whole or not at all. A file that cannot be written stops nothing: who needs it will miss it. */
static void write_file(const char *path, const struct evidence_list *list) {
    char temporary[PATH_BYTES];
    (void)snprintf(temporary, sizeof temporary, "%s.%s.%ld.tmp", path, list->of_rank[0].host, (long)getpid());
    FILE *file = fopen(temporary, "w");
    if (file)
        write_witness(file, list);
    if (!file || fclose(file) != 0 || rename(temporary, path) != 0)
        (void)fprintf(stderr, "railyard-witness: %s: cannot be written: %s\n", path, strerror(errno));
}

/* Of this process, from MPI_Init to MPI_Finalize: the program passes nothing on. */
static struct nics *nics;

/* Collective. */
static void look(void) {
    const char *path = getenv("RAILYARD_WITNESS");
    struct evidence_list list;
    if (check_ranks() > 1 || singleton_of() == 0)
        nics = nics_begin();
    if (!path || !*path)
        return;
    evidence_gather(&list);
    if (list.ranks > 0)
        write_file(path, &list);
    evidence_free(&list);
}

typedef int init_function(int *argc, char ***argv);
typedef int finalize_function(void);
typedef int init_thread_function(int *argc, char ***argv, int required, int *provided);

/* The next library's function of that name: a profiler's, or MPI's own. */
static void next_function(const char *name, void *function, size_t bytes) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        (void)fprintf(stderr, "railyard-witness: no %s behind this library: the program has no MPI\n", name);
        abort();
    }
    memcpy(function, &found, bytes);
}

EXPORTED int MPI_Init(int *argc, char ***argv) {
    init_function *next = NULL;
    next_function("MPI_Init", &next, sizeof next);
    int code = next(argc, argv);
    if (code == MPI_SUCCESS)
        look();
    return code;
}

EXPORTED int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    init_thread_function *next = NULL;
    next_function("MPI_Init_thread", &next, sizeof next);
    int code = next(argc, argv, required, provided);
    if (code == MPI_SUCCESS)
        look();
    return code;
}

EXPORTED int MPI_Finalize(void) {
    finalize_function *next = NULL;
    next_function("MPI_Finalize", &next, sizeof next);
    nics_end(nics);
    nics = NULL;
    return next();
}
