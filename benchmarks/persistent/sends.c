/*
 * Counts the bytes that a program sends by persistent requests, which profilers do not count.
 *
 * A library to preload before a profiler (railyard-witness does it where RAILYARD_PERSISTENT is set):
 * MPI_Send_init and its variants give a request its bytes, MPI_Start and MPI_Startall count them, and at
 * MPI_Finalize rank 0 writes the totals of all ranks (totals.h). Each function is wrapped under two names. C
 * programs call MPI_X. The Fortran functions of Open MPI and MPICH, of all three bindings, call MPI_X or
 * PMPI_X of C, and so does a profiler, which gets its call before. The outermost wrapper alone counts.
 *
 * A request to MPI_PROC_NULL sends nothing and is not counted. Leaves out: persistent collectives,
 * partitioned sends, and programs that start MPI by a session.
 */
#include "lib/run/preload.h"
#include "lib/run/requests.h"
#include "persistent/totals.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY "railyard-persistent"

/* State of this process, because the program passes no context. */
static struct {
    pthread_mutex_t lock;
    struct requests requests;
    struct totals totals;
    bool written;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The depth of wrappers that this thread is in. */
static _Thread_local int depth;

static void note_request(MPI_Request request, MPI_Count count, MPI_Datatype type, int destination) {
    MPI_Count item_bytes = 0;
    bool good = true;
    if (destination != MPI_PROC_NULL && PMPI_Type_size_x(type, &item_bytes) != MPI_SUCCESS)
        item_bytes = MPI_UNDEFINED;
    (void)pthread_mutex_lock(&state.lock);
    if (destination == MPI_PROC_NULL)
        requests_remove(&state.requests, request);
    else
        good =
            item_bytes >= 0 && requests_add(&state.requests, request, (uint64_t)count * (uint64_t)item_bytes);
    (void)pthread_mutex_unlock(&state.lock);
    if (!good) {
        (void)fprintf(stderr,
                      LIBRARY ": a persistent send cannot be counted: no memory, or no size of its type\n");
        abort();
    }
}

static void forget_request(MPI_Request request) {
    (void)pthread_mutex_lock(&state.lock);
    requests_remove(&state.requests, request);
    (void)pthread_mutex_unlock(&state.lock);
}

static void count_starts(int count, const MPI_Request *requests) {
    (void)pthread_mutex_lock(&state.lock);
    for (int i = 0; i < count; i++) {
        uint64_t bytes = 0;
        if (requests_find(&state.requests, requests[i], &bytes))
            totals_add(&state.totals, bytes);
    }
    (void)pthread_mutex_unlock(&state.lock);
}

/* Collective; once, whether MPI_Finalize or PMPI_Finalize comes first. */
static void write_totals(void) {
    if (!state.written) {
        state.written = true;
        totals_write(&state.totals);
    }
}

typedef int init_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int large_init_function(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int start_function(MPI_Request *);
typedef int startall_function(int, MPI_Request *);
typedef int finalize_function(void);

/* The next function of a name, found once; threads that find it at the same time write the same address. */
#define NEXT(type, name)                                                                                     \
    static type *next;                                                                                       \
    if (!next)                                                                                               \
    preload_next(LIBRARY, #name, &next, sizeof next)

#define WRAP_INIT(name, type, count_type)                                                                    \
    PRELOAD_EXPORTED int name(const void *, count_type, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);    \
    int name(const void *buffer, count_type count, MPI_Datatype datatype, int destination, int tag,          \
             MPI_Comm comm, MPI_Request *request) {                                                          \
        NEXT(type, name);                                                                                    \
        depth++;                                                                                             \
        int code = next(buffer, count, datatype, destination, tag, comm, request);                           \
        if (--depth == 0 && code == MPI_SUCCESS)                                                             \
            note_request(*request, count, datatype, destination);                                            \
        return code;                                                                                         \
    }

#define WRAP_START(name)                                                                                     \
    PRELOAD_EXPORTED int name(MPI_Request *request) {                                                        \
        NEXT(start_function, name);                                                                          \
        depth++;                                                                                             \
        int code = next(request);                                                                            \
        if (--depth == 0 && code == MPI_SUCCESS)                                                             \
            count_starts(1, request);                                                                        \
        return code;                                                                                         \
    }

#define WRAP_STARTALL(name)                                                                                  \
    PRELOAD_EXPORTED int name(int count, MPI_Request requests[]) {                                           \
        NEXT(startall_function, name);                                                                       \
        depth++;                                                                                             \
        int code = next(count, requests);                                                                    \
        if (--depth == 0 && code == MPI_SUCCESS)                                                             \
            count_starts(count, requests);                                                                   \
        return code;                                                                                         \
    }

/* Before the call: another thread may get the handle as soon as it is free. */
#define WRAP_FREE(name)                                                                                      \
    PRELOAD_EXPORTED int name(MPI_Request *request) {                                                        \
        NEXT(start_function, name);                                                                          \
        forget_request(*request);                                                                            \
        return next(request);                                                                                \
    }

#define WRAP_FINALIZE(name)                                                                                  \
    PRELOAD_EXPORTED int name(void) {                                                                        \
        NEXT(finalize_function, name);                                                                       \
        write_totals();                                                                                      \
        return next();                                                                                       \
    }

WRAP_INIT(MPI_Send_init, init_function, int)
WRAP_INIT(MPI_Bsend_init, init_function, int)
WRAP_INIT(MPI_Ssend_init, init_function, int)
WRAP_INIT(MPI_Rsend_init, init_function, int)
WRAP_INIT(PMPI_Send_init, init_function, int)
WRAP_INIT(PMPI_Bsend_init, init_function, int)
WRAP_INIT(PMPI_Ssend_init, init_function, int)
WRAP_INIT(PMPI_Rsend_init, init_function, int)
/* Functions of MPI 4, which not every mpi.h declares. */
WRAP_INIT(MPI_Send_init_c, large_init_function, MPI_Count)
WRAP_INIT(MPI_Bsend_init_c, large_init_function, MPI_Count)
WRAP_INIT(MPI_Ssend_init_c, large_init_function, MPI_Count)
WRAP_INIT(MPI_Rsend_init_c, large_init_function, MPI_Count)
WRAP_INIT(PMPI_Send_init_c, large_init_function, MPI_Count)
WRAP_INIT(PMPI_Bsend_init_c, large_init_function, MPI_Count)
WRAP_INIT(PMPI_Ssend_init_c, large_init_function, MPI_Count)
WRAP_INIT(PMPI_Rsend_init_c, large_init_function, MPI_Count)
WRAP_START(MPI_Start)
WRAP_START(PMPI_Start)
WRAP_STARTALL(MPI_Startall)
WRAP_STARTALL(PMPI_Startall)
WRAP_FREE(MPI_Request_free)
WRAP_FREE(PMPI_Request_free)
WRAP_FINALIZE(MPI_Finalize)
WRAP_FINALIZE(PMPI_Finalize)
