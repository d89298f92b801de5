/* railyard-idle.so: a rank that finds nothing to do sleeps until a packet comes.
 *
 * MPI libraries wait by polling. That is right where a rank has a core; on the virtual torus dozens share
 * one, and the poll loops of idle ranks take the time in which the kernel should forward the packets of the
 * others. Preloaded (by `railyard torus mpirun`, into the ranks alone) this turns the poll() of a loop that
 * has found nothing SPINS times in a row into one that waits; a packet ends the wait at once.
 * With 64 ranks on two cores a halo exchange then takes 0.19 s instead of 0.27 (its links need 0.15), and the
 * machine stays usable.
 *
 * SPINS is small because a rank wakes for every packet, and most packets do not end a message: 64 ranks in a
 * halo exchange on two cores waited for a processor for 54 to 66 % of their time with 20 spins and for 26 %
 * with 3, at the same time an iteration. With 0 Open MPI misses what a packet began, and an exchange takes
 * three times as long.
 *
 * A rank that communicates by sockets alone may sleep for SOCKETS_MS, and twice as long each time that
 * nothing came, up to LONGEST_MS, because 64 idle ranks that wake every millisecond take a whole core. An
 * event without a socket (a flag that another thread sets) is then noticed after up to twice its time, at
 * most LONGEST_MS later. A rank communicates by sockets alone if it is the only one of its node, or if Open
 * MPI is configured to use no shared memory. Other ranks that share a node sleep for SHARED_MS at most,
 * because no poll() reports shared memory. The launcher's variables show the case: see ranks_of_node() and
 * has_sockets_alone().
 *
 * Open MPI also yields its processor after each poll that found nothing. Among 64 ranks each yield puts the
 * rank behind all others that can run, although it would sleep some microseconds later. So a yield returns at
 * once in a rank that communicates by sockets alone and has polled since its last yield.
 *
 * A loop that computes between its polls is left alone: consecutive means less than GAP_NS of CPU time apart.
 * A rank that tests for completion (MPI_Test, MPI_Iprobe and the like) has other work to do if the result is
 * negative, often less than GAP_NS of it. A cycle of Quicksilver took 166 s instead of less than 1 when each
 * of its tests could sleep. So a rank sleeps in such a call only after ASKED_POLLS of them with no other call
 * and no work between, and for SHARED_MS: others may wait for it in a collective, and then nothing wakes it.
 * A program that tests because it waits with a deadline calls railyard_only_waits(), and then sleeps as in a
 * blocking call: 64 ranks of topobw that woke every millisecond took three quarters of two cores.
 *
 * Open MPI polls with poll(), MPICH over UCX with epoll_wait(); others are untouched.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SPINS = 3,
    ASKED_POLLS = 100,
    SOCKETS_MS = 20,
    LONGEST_MS = 320,
    SHARED_MS = 1,
    GAP_NS = 100000,
    NS_PER_S = 1000000000
};

typedef int poll_function(struct pollfd *, nfds_t, int);
typedef int epoll_function(int, struct epoll_event *, int, int);

/* Return the number of ranks on this node according to Open MPI, Hydra or Slurm (`1(x8)`, `2,1`); 0 if none
 * reports it. */
static long ranks_of_node(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "SLURM_STEP_TASKS_PER_NODE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        char *end;
        if (text != NULL) {
            long ranks = strtol(text, &end, 10);
            return *end == ',' ? 0 : ranks;
        }
    }
    return 0;
}

/* A thread's polls in a row that found nothing, its CPU time at the last, and its last wait if that found
 * nothing. */
struct loop {
    int empty;
    long long last_ns;
    int waited_ms;
};

/* Return whether this thread has polled since it last yielded. */
static _Thread_local int polled;

/* Whether this thread is inside a call that tests for completion, and its consecutive polls in such calls. */
static _Thread_local int asking;
static _Thread_local int test_polls;

/* Whether this thread's program reported that it only waits. */
static _Thread_local int only_waits;

void railyard_only_waits(int yes);
void railyard_only_waits(int yes) {
    only_waits = yes;
}

/* Count a poll; return whether the limit is exceeded. An event resets the count, because a library may need
 * some more polls to finish what a packet started. */
static int spinning(struct loop *loop, int ready) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    long long now_ns = (long long)now.tv_sec * NS_PER_S + now.tv_nsec;
    int has_computed = now_ns - loop->last_ns >= GAP_NS;
    polled = 1;
    test_polls = asking && !has_computed ? test_polls + 1 : 0;
    loop->empty = ready == 0 && !has_computed ? loop->empty + 1 : 0;
    loop->last_ns = now_ns;
    loop->waited_ms = loop->empty > 0 ? loop->waited_ms : 0;
    return loop->empty > SPINS && (!asking || test_polls > ASKED_POLLS);
}

/* Return whether this is a rank of Open MPI that is configured to use TCP also within its node. */
static int has_sockets_alone(void) {
    const char *layer = getenv("OMPI_MCA_pml"), *transports = getenv("OMPI_MCA_btl");
    return getenv("OMPI_COMM_WORLD_LOCAL_SIZE") != NULL && layer != NULL && strcmp(layer, "ob1") == 0 &&
           transports != NULL && strcmp(transports, "self,tcp") == 0;
}

static int hears_by_sockets(void) {
    static int chosen = -1;
    if (chosen < 0)
        chosen = ranks_of_node() == 1 || has_sockets_alone();
    return chosen;
}

static int next_wait_ms(const struct loop *loop) {
    if (asking || !hears_by_sockets())
        return SHARED_MS;
    int twice = 2 * loop->waited_ms;
    return twice == 0 ? SOCKETS_MS : twice < LONGEST_MS ? twice : LONGEST_MS;
}

/* Notes what a wait found. */
static void end_wait(struct loop *loop, int ms, int ready) {
    loop->empty = ready == 0 && !asking ? SPINS : 0;
    loop->waited_ms = ready == 0 ? ms : 0;
}

/* POSIX idiom: stores the object pointer from dlsym as a function pointer. */
static void find_real(void *function, const char *name) {
    *(void **)function = dlsym(RTLD_NEXT, name);
}

int poll(struct pollfd *descriptors, nfds_t count, int timeout_ms) {
    static _Thread_local struct loop loop;
    static poll_function *real;
    if (real == NULL)
        find_real(&real, "poll");
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    int ready = real(descriptors, count, timeout_ms);
    if (timeout_ms == 0 && spinning(&loop, ready)) {
        int ms = next_wait_ms(&loop);
        ready = real(descriptors, count, ms);
        end_wait(&loop, ms, ready);
    }
    return ready;
}

/* The same for UCX (MPICH), which polls with epoll_wait(). A thread that polls several sets in turn is not
 * changed: it would wait for one set and miss packets of the others. */
int epoll_wait(int set, struct epoll_event *events, int count, int timeout_ms) {
    static _Thread_local struct loop loop;
    static _Thread_local int last_set = -1;
    static epoll_function *real;
    if (real == NULL)
        find_real(&real, "epoll_wait");
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    int ready = real(set, events, count, timeout_ms);
    loop.empty = set == last_set ? loop.empty : 0;
    last_set = set;
    if (timeout_ms == 0 && spinning(&loop, ready)) {
        int ms = next_wait_ms(&loop);
        ready = real(set, events, count, ms);
        end_wait(&loop, ms, ready);
    }
    return ready;
}

int sched_yield(void) {
    if (polled && hears_by_sockets()) {
        polled = 0;
        return 0;
    }
    return (int)syscall(SYS_sched_yield);
}

/* RTLD_NEXT does not find a library that was loaded only for the caller (as mpi4py may do), so search from
 * the caller. */
static void find_asked(void *function, const char *name, void *caller) {
    find_real(function, name);
    Dl_info library;
    if (*(void **)function == NULL && dladdr(caller, &library) != 0) {
        void *handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        *(void **)function = handle == NULL ? NULL : dlsym(handle, name);
    }
    if (*(void **)function == NULL) {
        fprintf(stderr, "railyard-idle.so: the MPI library of this program has no %s\n", name);
        exit(EXIT_FAILURE);
    }
}

/* NAME calls the MPI library's function of that name, and marks this thread as polling meanwhile. Handles are
 * integers in some MPIs and pointers in others; both pass through a pointer. */
#define ASKS(NAME, PARAMETERS, ARGUMENTS)                                                                    \
    int NAME PARAMETERS;                                                                                     \
    int NAME PARAMETERS {                                                                                    \
        static int(*real) PARAMETERS;                                                                        \
        if (real == NULL)                                                                                    \
            find_asked(&real, #NAME, __builtin_return_address(0));                                           \
        asking = !only_waits;                                                                                \
        int result = real ARGUMENTS;                                                                         \
        asking = 0;                                                                                          \
        return result;                                                                                       \
    }

ASKS(MPI_Test, (void *request, int *flag, void *status), (request, flag, status))
ASKS(MPI_Testall, (int count, void *requests, int *flag, void *statuses), (count, requests, flag, statuses))
ASKS(MPI_Testany, (int count, void *requests, int *index, int *flag, void *status),
     (count, requests, index, flag, status))
ASKS(MPI_Testsome, (int count, void *requests, int *done, int *indices, void *statuses),
     (count, requests, done, indices, statuses))
ASKS(MPI_Iprobe, (int source, int tag, void *communicator, int *flag, void *status),
     (source, tag, communicator, flag, status))

/* The same from Fortran, whose functions do not call those. */
ASKS(mpi_test_, (void *request, int *flag, void *status, int *error), (request, flag, status, error))
ASKS(mpi_testall_, (int *count, void *requests, int *flag, void *statuses, int *error),
     (count, requests, flag, statuses, error))
ASKS(mpi_testany_, (int *count, void *requests, int *index, int *flag, void *status, int *error),
     (count, requests, index, flag, status, error))
ASKS(mpi_testsome_, (int *count, void *requests, int *done, int *indices, void *statuses, int *error),
     (count, requests, done, indices, statuses, error))
ASKS(mpi_iprobe_, (int *source, int *tag, void *communicator, int *flag, void *status, int *error),
     (source, tag, communicator, flag, status, error))
