/*
 * Replaces the collectives of any MPI by algorithms of railyard's, in any program.
 *
 * A library to preload (railyard-witness does it where RAILYARD_COLLECTIVES is set, which names files of
 * `railyard matrix make --schedule` with colons between). A communicator with as many ranks as a schedule
 * runs it over messages of its own. At MPI_Finalize rank 0 prints for each schedule how many calls it
 * executed, and how many it left to the library.
 *
 * Left to the library are other numbers of ranks, operations that do not commute, types with gaps, 2 GiB and
 * more, and communicators between two groups; all ranks must pass types of the same kind.
 */
#include "collectives/schedule.h"

#include "lib/input/textfile.h"
#include "lib/run/check.h"
#include "lib/run/preload.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "railyard-collectives"

enum { SCHEDULES = 16 };

static struct {
    struct schedule schedule;
    long executed, left;
} known[SCHEDULES];
static int known_count;

/* ---- start and end ---- */

/* Collective. Reads the files that the variable lists. */
static void read_all(void) {
    const char *files = getenv("RAILYARD_COLLECTIVES");
    struct problem problem = {{0}};
    if (!files || !*files || known_count)
        return;
    char *copy = strdup(files), *rest = copy;
    int count = 0; /* none is known, and executed, until all are read */
    preload_own_calls(1);
    for (char *path; copy && (path = strsep(&rest, ":")) && count < SCHEDULES;) {
        char *text = *path ? textfile_share(MPI_COMM_WORLD, path, "RAILYARD_COLLECTIVES", &problem) : NULL;
        if (text)
            known[count++].schedule = schedule_parse(text, path, &problem);
        free(text);
    }
    if (problem_tell(MPI_COMM_WORLD, &problem, LIBRARY ": every collective is the library's"))
        while (count)
            schedule_free(&known[--count].schedule);
    known_count = count;
    preload_own_calls(0);
    free(copy);
}

static void report(void) {
    for (int i = 0; i < known_count; i++)
        if (check_rank() == 0)
            (void)fprintf(stderr, LIBRARY ": %s of %d ranks: executed %ld, left to the library %ld\n",
                          known[i].schedule.collective, known[i].schedule.ranks, known[i].executed,
                          known[i].left);
    while (known_count)
        schedule_free(&known[--known_count].schedule);
}

/* ---- a communicator's twin, in which no message of the program can be taken for one of a schedule ---- */

static int free_twin(MPI_Comm comm, int key, void *twin, void *extra) {
    (void)comm, (void)key, (void)extra;
    int code = PMPI_Comm_free(twin);
    free(twin);
    return code;
}

/* Collective the first time. */
static MPI_Comm twin_of(MPI_Comm comm) {
    static int key = MPI_KEYVAL_INVALID;
    MPI_Comm *twin = NULL;
    int there = 0;
    if (key == MPI_KEYVAL_INVALID)
        MPI_CHECK(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_twin, &key, NULL));
    MPI_CHECK(PMPI_Comm_get_attr(comm, key, &twin, &there));
    if (there)
        return *twin;
    twin = check_alloc(1, sizeof *twin);
    preload_own_calls(1);
    MPI_CHECK(PMPI_Comm_dup(comm, twin));
    preload_own_calls(0);
    MPI_CHECK(PMPI_Comm_set_attr(comm, key, twin));
    return *twin;
}

/* ---- calls ---- */

static bool is_dense(MPI_Datatype type, size_t *bytes) {
    MPI_Aint low = 0, extent = 0;
    int size = 0;
    if (PMPI_Type_get_extent(type, &low, &extent) != MPI_SUCCESS ||
        PMPI_Type_size(type, &size) != MPI_SUCCESS)
        return false;
    *bytes = (size_t)size;
    return low == 0 && extent == size;
}

/* Fills a call with what the communicator determines. Returns the schedule of that name for it, or NULL. */
static const struct schedule *schedule_for(const char *collective, MPI_Comm comm, int count,
                                           MPI_Datatype type, MPI_Op op, struct call *call) {
    int ranks = 0, between = 0, commutes = 1;
    size_t bytes = 1;
    if (known_count == 0 || PMPI_Comm_test_inter(comm, &between) != MPI_SUCCESS || between ||
        PMPI_Comm_size(comm, &ranks) != MPI_SUCCESS || PMPI_Comm_rank(comm, &call->rank) != MPI_SUCCESS)
        return NULL;
    for (int i = 0; i < known_count; i++) {
        const struct schedule *schedule = &known[i].schedule;
        if (strcmp(schedule->collective, collective) != 0)
            continue;
        bool sums = op != MPI_OP_NULL;
        if (schedule->ranks != ranks || count < 0 || !is_dense(type, &bytes) ||
            (sums && (PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS || !commutes)) ||
            (double)bytes * count * 2 * (strcmp(collective, "allreduce") == 0 ? 1 : ranks) > INT_MAX) {
            known[i].left++;
            continue;
        }
        known[i].executed++;
        call->comm = twin_of(comm);
        call->op = op;
        call->type = sums ? type : MPI_BYTE;
        call->element = sums ? bytes : 1;
        call->each = (size_t)count * (sums ? 1 : bytes);
        return schedule;
    }
    return NULL;
}

static void divide(const struct schedule *schedule, struct call *call) {
    size_t elements = call->each, blocks = (size_t)schedule->blocks;
    call->each = elements / blocks;
    call->more = elements % blocks;
}

static int allreduce(const struct schedule *schedule, struct call *call, const void *input, void *output) {
    size_t bytes = call->each * call->element;
    if (input != MPI_IN_PLACE && bytes)
        memcpy(output, input, bytes);
    call->data = output;
    divide(schedule, call);
    return schedule_run(schedule, call);
}

static int bcast(const struct schedule *schedule, struct call *call, void *data, int root) {
    call->data = data;
    call->root = root;
    divide(schedule, call);
    return schedule_run(schedule, call);
}

static int allgather(const struct schedule *schedule, struct call *call, const void *input, char *output) {
    if (input != MPI_IN_PLACE && call->each)
        memcpy(output + (size_t)call->rank * call->each, input, call->each);
    call->data = output;
    return schedule_run(schedule, call);
}

/* Works in memory of its own; what this rank gets begins at block `first` of it. */
static int elsewhere(const struct schedule *schedule, struct call *call, const void *input, void *output,
                     size_t first, size_t blocks) {
    size_t bytes = call->each * call->element, ranks = (size_t)schedule->ranks;
    call->data = check_alloc((size_t)schedule->blocks * bytes + 1, 1);
    if (bytes)
        memcpy(call->data, input == MPI_IN_PLACE ? output : input, ranks * bytes);
    int code = schedule_run(schedule, call);
    if (bytes)
        memcpy(output, call->data + first * bytes, blocks * bytes);
    free(call->data);
    return code;
}

/* A wrapper of MPI's function: what `execute` makes of a schedule, or the library's. */
#define COLLECTIVE(name, collective, P, A, count, type, op, execute)                                         \
    PRELOAD_EXPORTED int name P;                                                                             \
    int name P {                                                                                             \
        PRELOAD_NEXT(LIBRARY, name, P);                                                                      \
        struct call call = {.data = NULL};                                                                   \
        bool outermost = preload_enter();                                                                    \
        const struct schedule *schedule =                                                                    \
            outermost ? schedule_for(collective, comm, count, type, op, &call) : NULL;                       \
        int code = schedule ? (execute) : next A;                                                            \
        preload_leave();                                                                                     \
        return code;                                                                                         \
    }
#define BOTH(name, ...)                                                                                      \
    COLLECTIVE(MPI_##name, __VA_ARGS__)                                                                      \
    COLLECTIVE(PMPI_##name, __VA_ARGS__)

BOTH(Allreduce, "allreduce",
     (const void *input, void *output, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (input, output, count, type, op, comm), count, type, op, allreduce(schedule, &call, input, output))
BOTH(Bcast, "bcast", (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm),
     (data, count, type, root, comm), count, type, MPI_OP_NULL, bcast(schedule, &call, data, root))
BOTH(Allgather, "allgather",
     (const void *input, int count, MPI_Datatype type, void *output, int taken, MPI_Datatype into,
      MPI_Comm comm),
     (input, count, type, output, taken, into, comm), taken, into, MPI_OP_NULL,
     allgather(schedule, &call, input, output))
BOTH(Alltoall, "alltoall",
     (const void *input, int count, MPI_Datatype type, void *output, int taken, MPI_Datatype into,
      MPI_Comm comm),
     (input, count, type, output, taken, into, comm), taken, into, MPI_OP_NULL,
     elsewhere(schedule, &call, input, output, (size_t)schedule->ranks, (size_t)schedule->ranks))
BOTH(Reduce_scatter_block, "reduce-scatter",
     (const void *input, void *output, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (input, output, count, type, op, comm), count, type, op,
     elsewhere(schedule, &call, input, output, (size_t)call.rank, 1))
BOTH(Barrier, "barrier", (MPI_Comm comm), (comm), 0, MPI_BYTE, MPI_OP_NULL, schedule_run(schedule, &call))

#define STARTED(name, P, A)                                                                                  \
    PRELOAD_WRAP(LIBRARY, MPI_##name, P, A, read_all())                                                      \
    PRELOAD_WRAP(LIBRARY, PMPI_##name, P, A, read_all())

STARTED(Init, (int *argc, char ***argv), (argc, argv))
STARTED(Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))

#define ENDED(name)                                                                                          \
    PRELOAD_EXPORTED int name(void) {                                                                        \
        PRELOAD_NEXT(LIBRARY, name, (void));                                                                 \
        report();                                                                                            \
        return next();                                                                                       \
    }
PRELOAD_EXPORTED int MPI_Finalize(void);
PRELOAD_EXPORTED int PMPI_Finalize(void);
ENDED(MPI_Finalize)
ENDED(PMPI_Finalize)
