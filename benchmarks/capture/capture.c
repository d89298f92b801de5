/*
 * Captures which rank of any MPI program sends how much to which other, for `railyard matrix` and `railyard
 * fit`.
 *
 * A library to preload (railyard-witness does it where RAILYARD_MATRIX is set). At MPI_Finalize rank 0 writes
 * the matrix (matrix.h). A phase is what the ranks send between two collectives that all of them wait for:
 * all ranks call these in one order, so that they number them alike without a message. MPI_Pcontrol(LEVEL)
 * begins the phase LEVEL and ends that numbering; with RAILYARD_MATRIX_SLICE_S a phase is a slice of time of
 * so many seconds instead. A program that ends without MPI_Finalize leaves a file of what was seen. Leaves
 * out: programs that start MPI by a session, collectives between two groups, and ranks outside
 * MPI_COMM_WORLD; the last two are counted in the file's first line.
 */
#include "capture/matrix.h"
#include "capture/wrap.h"
#include "lib/run/requests.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sites that number phases: the last one is that of all further ones. A phase of a step has a number from
 * FIRST_STEP on, because programs number their levels from 0. */
enum { STEP_SITES = 64, FIRST_STEP = 1000, WRITE_S = 5 };

/* What a persistent request sends whenever it is started. */
struct planned {
    int32_t peer;
    enum kind kind;
    struct amount amount;
};

struct plan {
    struct planned *item;
    size_t items;
    size_t room;
    bool open; /* this thread counts into it */
};

/* State of this process, because the program passes no context. A plan's number is its place in `plan`. */
static struct {
    pthread_mutex_t lock;
    struct pairs pairs;
    struct requests requests;
    struct plan *plan;
    size_t plans;
    uint32_t phase;
    const void *site[STEP_SITES]; /* of collectives, each in its place of memory */
    int sites;
    bool by_level; /* MPI_Pcontrol numbers the phases */
    double begin_s;
    double slice_s;
    uint64_t left_out;
    pid_t process; /* 0 before MPI_Init; not that of a fork */
    int rank;
    int ranks;
    bool written; /* or never to be */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The open plan of this thread. */
static _Thread_local struct plan plan;

static _Noreturn void no_memory(void) {
    (void)fprintf(stderr, CAPTURE ": no memory for the matrix of this rank\n");
    abort();
}

PRELOAD_EXPORTED void railyard_capture_pause(int begin);

/* For other libraries of railyard: between the calls with 1 and 0 this thread counts nothing. */
void railyard_capture_pause(int begin) {
    if (begin)
        (void)preload_enter();
    else
        preload_leave();
}

uint64_t capture_bytes(MPI_Count count, MPI_Datatype type) {
    MPI_Count size = 0;
    return PMPI_Type_size_x(type, &size) == MPI_SUCCESS && size > 0 ? (uint64_t)count * (uint64_t)size : 0;
}

static uint32_t phase_now(void) {
    return state.slice_s > 0 ? (uint32_t)((PMPI_Wtime() - state.begin_s) / state.slice_s) : state.phase;
}

/* The caller holds the lock. */
static void add(int peer, bool fetched, enum kind kind, struct amount amount) {
    if (peer == MPI_UNDEFINED) {
        state.left_out++;
    } else if (plan.open) {
        struct planned item = (struct planned){.peer = peer, .kind = kind, .amount = amount};
        if (plan.items == plan.room) {
            plan.room = plan.room ? 2 * plan.room : 4;
            plan.item = realloc(plan.item, plan.room * sizeof *plan.item);
            if (!plan.item)
                no_memory();
        }
        plan.item[plan.items++] = item;
    } else if (!pairs_add(&state.pairs, phase_now(), peer, fetched, kind, amount)) {
        no_memory();
    }
}

void capture_message(MPI_Comm comm, int to, uint64_t bytes) {
    if (to == MPI_PROC_NULL)
        return;
    (void)pthread_mutex_lock(&state.lock);
    const struct peers *peers = peers_of_communicator(comm);
    add(peers ? peers->world[to] : MPI_UNDEFINED, false, KIND_MESSAGE, (struct amount){1, bytes});
    (void)pthread_mutex_unlock(&state.lock);
}

void capture_access(MPI_Win window, int rank, uint64_t bytes, bool fetched) {
    if (rank == MPI_PROC_NULL)
        return;
    (void)pthread_mutex_lock(&state.lock);
    const struct peers *peers = peers_of_window(window);
    add(peers ? peers->world[rank] : MPI_UNDEFINED, fetched, KIND_ONE_SIDED, (struct amount){1, bytes});
    (void)pthread_mutex_unlock(&state.lock);
}

void capture_collective(const struct peers *peers, int to, uint64_t messages, uint64_t bytes) {
    (void)pthread_mutex_lock(&state.lock);
    add(peers->world[to], false, KIND_COLLECTIVE, (struct amount){messages, bytes});
    (void)pthread_mutex_unlock(&state.lock);
}

static bool is_step(MPI_Comm comm) {
    const struct peers *peers = peers_of_communicator(comm);
    int ranks = 0;
    return !state.by_level && peers && !peers->between &&
           PMPI_Comm_size(MPI_COMM_WORLD, &ranks) == MPI_SUCCESS && peers->size == ranks;
}

void capture_step(MPI_Comm comm, const void *site) {
    (void)pthread_mutex_lock(&state.lock);
    if (is_step(comm)) {
        /* The caller holds the lock. Ranks of one program find the same sites in one order, wherever it is in
         * memory. */
        int k = 0;
        while (k < state.sites && state.site[k] != site)
            k++;
        if (k == state.sites && k < STEP_SITES)
            state.site[state.sites++] = site;
        state.phase = FIRST_STEP + 2 * (uint32_t)(k < STEP_SITES ? k : STEP_SITES - 1);
    }
    (void)pthread_mutex_unlock(&state.lock);
}

void capture_step_end(MPI_Comm comm) {
    (void)pthread_mutex_lock(&state.lock);
    if (is_step(comm))
        state.phase++;
    (void)pthread_mutex_unlock(&state.lock);
}

const struct peers *capture_peers(MPI_Comm comm) {
    (void)pthread_mutex_lock(&state.lock);
    const struct peers *peers = peers_of_communicator(comm);
    if (!peers || peers->between) {
        state.left_out++;
        peers = NULL;
    }
    (void)pthread_mutex_unlock(&state.lock);
    return peers;
}

void capture_plan_begin(void) {
    plan = (struct plan){.open = true};
}

/* MPI reuses the handle of a freed request: its plan is replaced. */
void capture_plan_end(MPI_Request request) {
    uint64_t number = 0;
    plan.open = false;
    (void)pthread_mutex_lock(&state.lock);
    if (requests_find(&state.requests, request, &number)) {
        free(state.plan[number].item);
    } else {
        number = state.plans++;
        state.plan = realloc(state.plan, state.plans * sizeof *state.plan);
        if (!state.plan || !requests_add(&state.requests, request, number))
            no_memory();
    }
    state.plan[number] = plan;
    (void)pthread_mutex_unlock(&state.lock);
}

static void note_starts(int count, const MPI_Request *requests) {
    (void)pthread_mutex_lock(&state.lock);
    for (int i = 0; i < count; i++) {
        uint64_t number = 0;
        if (!requests_find(&state.requests, requests[i], &number))
            continue;
        const struct plan *started = &state.plan[number];
        for (size_t k = 0; k < started->items; k++)
            add(started->item[k].peer, false, started->item[k].kind, started->item[k].amount);
    }
    (void)pthread_mutex_unlock(&state.lock);
}

WRAP_NAMES(Start, (MPI_Request * request), (request), note_starts(1, request))
WRAP_NAMES(Startall, (int count, MPI_Request requests[]), (count, requests), note_starts(count, requests))

/* A receive, too, may get the handle of a persistent send that was freed. */
#define RECEIVE_P(C, D) void *buffer, C count, MPI_Datatype type, int from, int tag, MPI_Comm comm
#define RECEIVE_A()     buffer, count, type, from, tag, comm
NAMES_PLANNED(Recv_init, RECEIVE_P, NOTHING, RECEIVE_A, NOTHING, (void)0)

/* A process that ends without MPI_Finalize writes what it sent itself, since no rank may wait for another. */
__attribute__((destructor)) static void end_early(void) {
    if (state.written || state.process != getpid() || pthread_mutex_trylock(&state.lock) != 0)
        return; /* a call that is being counted now has the table */
    state.written = true;
    matrix_write_own(&state.pairs, state.rank, state.ranks, state.left_out);
    (void)pthread_mutex_unlock(&state.lock);
}

/* mpirun ends all ranks when one has ended so. The signal may have interrupted malloc or stdio, whose locks
 * the writing then waits for without an end: a rank that has not written after some seconds ends without a
 * file. */
static void end_by_signal(int number) {
    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(WRITE_S);
    end_early();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

PRELOAD_EXPORTED void _exit(int code);
void _exit(int code) {
    end_early();
    (void)syscall(SYS_exit_group, code);
    for (;;) {
    }
}

/* Once, whether or not an MPI's Fortran function calls that of C. What a program spawned is no rank of its
 * world. */
static void begin(void) {
    const char *slice = getenv("RAILYARD_MATRIX_SLICE_S");
    MPI_Comm parent = MPI_COMM_NULL;
    struct sigaction before;
    state.begin_s = PMPI_Wtime();
    state.slice_s = slice ? strtod(slice, NULL) : 0;
    state.written = PMPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &state.rank);
    (void)PMPI_Comm_size(MPI_COMM_WORLD, &state.ranks);
    state.process = getpid();
    if (state.rank == 0 && !state.written)
        matrix_remove();
    if (sigaction(SIGTERM, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        (void)signal(SIGTERM, end_by_signal);
}

#define ABORT(name)                                                                                          \
    PRELOAD_EXPORTED int name(MPI_Comm comm, int code);                                                      \
    int name(MPI_Comm comm, int code) {                                                                      \
        PRELOAD_NEXT(CAPTURE, name, (MPI_Comm, int));                                                        \
        end_early();                                                                                         \
        return next(comm, code);                                                                             \
    }

ABORT(MPI_Abort)
ABORT(PMPI_Abort)

/* Processes of another world: messages to them are counted as left out. */
static void note_spawned(MPI_Comm comm, int root) {
    int rank = -1;
    if (PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root)
        (void)fprintf(stderr,
                      CAPTURE ": the program spawns processes: what they send is not in the matrix\n");
}

WRAP_NAMES(Comm_spawn,
           (const char *command, char *arguments[], int most, MPI_Info info, int root, MPI_Comm comm,
            MPI_Comm *spawned, int codes[]),
           (command, arguments, most, info, root, comm, spawned, codes), note_spawned(comm, root))
WRAP_NAMES(Comm_spawn_multiple,
           (int count, char *commands[], char **arguments[], const int most[], const MPI_Info info[],
            int root, MPI_Comm comm, MPI_Comm *spawned, int codes[]),
           (count, commands, arguments, most, info, root, comm, spawned, codes), note_spawned(comm, root))

WRAP_NAMES(Init, (int *argc, char ***argv), (argc, argv), begin())
WRAP_NAMES(Init_thread, (int *argc, char ***argv, int required, int *provided),
           (argc, argv, required, provided), begin())

/* A profiler that reads arguments after the level does not get them. */
#define PCONTROL(name)                                                                                       \
    PRELOAD_EXPORTED int name(const int level, ...);                                                         \
    int name(const int level, ...) {                                                                         \
        PRELOAD_NEXT(CAPTURE, name, (const int, ...));                                                       \
        state.phase = (uint32_t)level;                                                                       \
        state.by_level = true;                                                                               \
        return next(level);                                                                                  \
    }

PCONTROL(MPI_Pcontrol)
PCONTROL(PMPI_Pcontrol)

/* Collective; once, whether MPI_Finalize or PMPI_Finalize comes first. The wrapper that is entered here is
 * never left, so that nothing is counted from here on. */
static void end(void) {
    if (state.written)
        return;
    state.written = true;
    (void)preload_enter();
    matrix_write(&state.pairs, state.left_out);
}

#define FINALIZE(name)                                                                                       \
    PRELOAD_EXPORTED int name(void) {                                                                        \
        PRELOAD_NEXT(CAPTURE, name, (void));                                                                 \
        end();                                                                                               \
        return next();                                                                                       \
    }

FINALIZE(MPI_Finalize)
FINALIZE(PMPI_Finalize)
