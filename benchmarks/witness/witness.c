/*
 * Records where each rank of MPI_COMM_WORLD runs, for programs that do not report it.
 *
 * A library to preload (railyard-witness does it). After MPI_Init, rank 0 writes the ranks' hosts and CPUs to
 * the file that RAILYARD_WITNESS names (docs/formats.md, "Witness"). Ranks then start together. From there to
 * MPI_Finalize it counts what the NICs send, if requested (counters/nics.h), and then writes how long it took
 * to RAILYARD_TIME: gathering hosts takes seconds on a slow virtual torus, and is not the program's.
 * Processes that should be ranks of one MPI_COMM_WORLD but are not each write a world of one rank. Rank 0
 * also reports its number of OpenMP threads. Other preloaded libraries are still called. A program whose main
 * is Fortran starts MPI by a symbol that ends in "_". Leaves out: compilers that name it otherwise, and
 * migrations after the start.
 */
#include "counters/nics.h"
#include "lib/output/output.h"
#include "lib/output/whole.h"
#include "lib/ranks/evidence.h"
#include "lib/run/check.h"
#include "lib/run/preload.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "railyard-witness"

typedef int openmp_function(void);

/* Threads of a parallel region in this process; 0 where no OpenMP is loaded, so the program has none. */
static int openmp_threads(void) {
    openmp_function *count = NULL;
    void *function = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    if (!function)
        return 0;
    memcpy(&count, &function, sizeof count);
    return count();
}

static void write_witness(FILE *file, const void *written) {
    const struct evidence_list *list = written;
    struct json json = json_start(file);
    json_object(&json);
    json_key_text(&json, "format", "railyard-witness/1");
    json_key_integer(&json, "openmp_threads", openmp_threads());
    output_mpi(&json, list->ranks);
    output_ranks(&json, list);
    json_object_end(&json);
}

/* State of this process from MPI_Init to MPI_Finalize, because the program passes no context. */
static struct nics *nics;
static double begin_s;

/* Collective. */
static void look(void) {
    preload_own_calls(1);
    /* Once, whether or not an MPI's Fortran function calls that of C. */
    static int looked;
    const char *path = getenv("RAILYARD_WITNESS");
    struct evidence_list list;
    if (!looked) {
        looked = 1;
        if (path && *path) {
            evidence_gather(&list);
            if (list.ranks > 0)
                whole_write_or_tell(LIBRARY, path, write_witness,
                                    &list); /* railyard reports a missing file */
            evidence_free(&list);
            MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        }
        if (check_ranks() > 1 || check_singletons() == 0)
            nics = nics_begin();
        begin_s = PMPI_Wtime();
    }
    preload_own_calls(0);
}

typedef int init_function(int *argc, char ***argv);
typedef int finalize_function(void);
typedef int init_thread_function(int *argc, char ***argv, int required, int *provided);
typedef void fortran_function(MPI_Fint *code);
typedef void fortran_thread_function(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *code);

PRELOAD_EXPORTED int MPI_Init(int *argc, char ***argv) {
    init_function *next = NULL;
    preload_next(LIBRARY, "MPI_Init", &next, sizeof next);
    int code = next(argc, argv);
    if (code == MPI_SUCCESS)
        look();
    return code;
}

PRELOAD_EXPORTED int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    init_thread_function *next = NULL;
    preload_next(LIBRARY, "MPI_Init_thread", &next, sizeof next);
    int code = next(argc, argv, required, provided);
    if (code == MPI_SUCCESS)
        look();
    return code;
}

static void write_time(FILE *file, const void *elapsed_s) {
    struct json json = json_start(file);
    json_object(&json);
    json_key_text(&json, "format", "railyard-time/1");
    json_key_double(&json, "elapsed_s", *(const double *)elapsed_s);
    json_object_end(&json);
}

static void stop_looking(void) {
    preload_own_calls(1);
    /* Collective, once: the seconds from MPI_Init to here of the rank that took longest. */
    static int reported;
    const char *path = getenv("RAILYARD_TIME");
    if (!reported) {
        reported = 1;
        double own_s = PMPI_Wtime() - begin_s, elapsed_s = 0;
        if (path && *path &&
            MPI_Reduce(&own_s, &elapsed_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD) == MPI_SUCCESS &&
            check_rank() == 0)
            whole_write_or_tell(LIBRARY, path, write_time, &elapsed_s);
    }
    nics_end(nics);
    nics = NULL;
    preload_own_calls(0);
}

PRELOAD_EXPORTED int MPI_Finalize(void) {
    finalize_function *next = NULL;
    preload_next(LIBRARY, "MPI_Finalize", &next, sizeof next);
    stop_looking();
    return next();
}

/* The same for Fortran: of `use mpi` and mpif.h, and of `use mpi_f08`, where the code may be left out. */
static void fortran_init(const char *name, MPI_Fint *code) {
    fortran_function *next = NULL;
    MPI_Fint own = MPI_SUCCESS;
    MPI_Fint *result = code ? code : &own;
    preload_next(LIBRARY, name, &next, sizeof next);
    next(result);
    if (*result == MPI_SUCCESS)
        look();
}

static void fortran_init_thread(const char *name, MPI_Fint *required, MPI_Fint *provided, MPI_Fint *code) {
    fortran_thread_function *next = NULL;
    MPI_Fint own = MPI_SUCCESS;
    MPI_Fint *result = code ? code : &own;
    preload_next(LIBRARY, name, &next, sizeof next);
    next(required, provided, result);
    if (*result == MPI_SUCCESS)
        look();
}

static void fortran_finalize(const char *name, MPI_Fint *code) {
    fortran_function *next = NULL;
    preload_next(LIBRARY, name, &next, sizeof next);
    stop_looking();
    next(code);
}

PRELOAD_EXPORTED void mpi_init_(MPI_Fint *code);
PRELOAD_EXPORTED void mpi_init_f08_(MPI_Fint *code);
PRELOAD_EXPORTED void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *code);
PRELOAD_EXPORTED void mpi_init_thread_f08_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *code);
PRELOAD_EXPORTED void mpi_finalize_(MPI_Fint *code);
PRELOAD_EXPORTED void mpi_finalize_f08_(MPI_Fint *code);

void mpi_init_(MPI_Fint *code) {
    fortran_init("mpi_init_", code);
}

void mpi_init_f08_(MPI_Fint *code) {
    fortran_init("mpi_init_f08_", code);
}

void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *code) {
    fortran_init_thread("mpi_init_thread_", required, provided, code);
}

void mpi_init_thread_f08_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *code) {
    fortran_init_thread("mpi_init_thread_f08_", required, provided, code);
}

void mpi_finalize_(MPI_Fint *code) {
    fortran_finalize("mpi_finalize_", code);
}

void mpi_finalize_f08_(MPI_Fint *code) {
    fortran_finalize("mpi_finalize_f08_", code);
}
