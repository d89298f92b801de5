/*
 * Counts the bytes that a program sends by persistent requests, which profilers do not count.
 *
 * A library to preload before a profiler (railyard-witness does it where RAILYARD_PERSISTENT is set):
 * MPI_Send_init and its variants give a request its bytes, MPI_Start and MPI_Startall count them, and at
 * MPI_Finalize rank 0 writes the totals of all ranks to the file that RAILYARD_PERSISTENT names
 * (docs/formats.md, "Persistent sends"). Each function is wrapped under two names. C programs call MPI_X. The
 * Fortran functions of Open MPI and MPICH, of all three bindings, call MPI_X or PMPI_X of C, and so does a
 * profiler, which gets its call before. The outermost wrapper alone counts.
 *
 * A request to MPI_PROC_NULL sends nothing and is not counted. Leaves out: persistent collectives,
 * partitioned sends, and programs that start MPI by a session.
 */
#include "lib/output/json.h"
#include "lib/output/whole.h"
#include "lib/run/preload.h"
#include "lib/run/requests.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY "railyard-persistent"

/* ---- totals by size class (powers of two): class k counts messages of 2^(k-1) to 2^k - 1 bytes, class 0
 * those without data ---- */

enum { CLASSES = 65 };

/* Zeroed at first. */
struct totals {
    uint64_t messages[CLASSES];
    uint64_t bytes[CLASSES];
};

/* Of one rank. */
struct sum {
    uint64_t messages;
    uint64_t bytes;
};

/* Of all ranks, on rank 0. */
struct document {
    int ranks;
    struct sum *of_rank;
    struct totals all;
};

static int class_of(uint64_t bytes) {
    int class = 0;
    for (; bytes > 0; bytes /= 2)
        class ++;
    return class;
}

static void write_row(struct json *json, const char *name, uint64_t value, uint64_t messages,
                      uint64_t bytes) {
    json_object(json);
    json_key_unsigned(json, name, value);
    json_key_unsigned(json, "messages", messages);
    json_key_unsigned(json, "bytes", bytes);
    json_object_end(json);
}

static void write_document(FILE *file, const void *written) {
    const struct document *document = written;
    struct json json = json_start(file);
    json_object(&json);
    json_key_text(&json, "format", "railyard-persistent/1");
    json_key_array(&json, "ranks");
    for (int rank = 0; rank < document->ranks; rank++)
        write_row(&json, "rank", (uint64_t)rank, document->of_rank[rank].messages,
                  document->of_rank[rank].bytes);
    json_array_end(&json);
    json_key_array(&json, "sizes");
    for (int class = 0; class < CLASSES; class ++)
        if (document->all.messages[class] > 0)
            write_row(&json, "size_bytes", class == 0 ? 0 : UINT64_MAX >> (CLASSES - 1 - class),
                      document->all.messages[class], document->all.bytes[class]);
    json_array_end(&json);
    json_object_end(&json);
}

/* Collective. MPI is called by the names that a profiler does not count. */
static void totals_write(const struct totals *totals) {
    const char *path = getenv("RAILYARD_PERSISTENT");
    struct document document = {0};
    int rank = -1;
    if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
        PMPI_Comm_size(MPI_COMM_WORLD, &document.ranks) != MPI_SUCCESS)
        return;
    if (rank == 0 && !(document.of_rank = calloc((size_t)document.ranks, sizeof *document.of_rank))) {
        (void)fprintf(stderr, LIBRARY ": no memory for the totals of %d ranks\n", document.ranks);
        abort();
    }
    const int of_sum = sizeof(struct sum) / sizeof(uint64_t);
    const int of_totals = sizeof *totals / sizeof(uint64_t);
    struct sum own = {0};
    for (int class = 0; class < CLASSES; class ++) {
        own.messages += totals->messages[class];
        own.bytes += totals->bytes[class];
    }
    if (PMPI_Gather(&own, of_sum, MPI_UINT64_T, document.of_rank, of_sum, MPI_UINT64_T, 0, MPI_COMM_WORLD) ==
            MPI_SUCCESS &&
        PMPI_Reduce(totals, &document.all, of_totals, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD) ==
            MPI_SUCCESS &&
        rank == 0 && path && *path)
        whole_write_or_tell(LIBRARY, path, write_document, &document);
    free(document.of_rank);
}

/* ---- requests ---- */

/* State of this process, because the program passes no context. */
static struct {
    pthread_mutex_t lock;
    struct requests requests;
    struct totals totals;
    bool written;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

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
        if (requests_find(&state.requests, requests[i], &bytes)) {
            int class = class_of(bytes);
            state.totals.messages[class]++;
            state.totals.bytes[class] += bytes;
        }
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

#define WRAP_INIT(name, count_type)                                                                          \
    PRELOAD_WRAP(LIBRARY, name,                                                                              \
                 (const void *buffer, count_type count, MPI_Datatype type, int destination, int tag,         \
                  MPI_Comm comm, MPI_Request *request),                                                      \
                 (buffer, count, type, destination, tag, comm, request),                                     \
                 note_request(*request, count, type, destination))

/* The functions of MPI 4, which end in _c, are not in every mpi.h. */
#define WRAP_INITS(name)                                                                                     \
    WRAP_INIT(MPI_##name, int)                                                                               \
    WRAP_INIT(PMPI_##name, int)                                                                              \
    WRAP_INIT(MPI_##name##_c, MPI_Count)                                                                     \
    WRAP_INIT(PMPI_##name##_c, MPI_Count)

WRAP_INITS(Send_init)
WRAP_INITS(Bsend_init)
WRAP_INITS(Ssend_init)
WRAP_INITS(Rsend_init)
PRELOAD_WRAP(LIBRARY, MPI_Start, (MPI_Request * request), (request), count_starts(1, request))
PRELOAD_WRAP(LIBRARY, PMPI_Start, (MPI_Request * request), (request), count_starts(1, request))
PRELOAD_WRAP(LIBRARY, MPI_Startall, (int count, MPI_Request requests[]), (count, requests),
             count_starts(count, requests))
PRELOAD_WRAP(LIBRARY, PMPI_Startall, (int count, MPI_Request requests[]), (count, requests),
             count_starts(count, requests))

/* A wrapper that evaluates `note` before the call: another thread may get the handle once it is free. */
#define WRAP_BEFORE(name, parameters, arguments, note)                                                       \
    PRELOAD_EXPORTED int name parameters {                                                                   \
        PRELOAD_NEXT(LIBRARY, name, parameters);                                                             \
        note;                                                                                                \
        return next arguments;                                                                               \
    }

WRAP_BEFORE(MPI_Request_free, (MPI_Request * request), (request), forget_request(*request))
WRAP_BEFORE(PMPI_Request_free, (MPI_Request * request), (request), forget_request(*request))
WRAP_BEFORE(MPI_Finalize, (void), (), write_totals())
WRAP_BEFORE(PMPI_Finalize, (void), (), write_totals())
