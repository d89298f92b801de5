/* Wraps collectives, which a stated model turns into messages; see wrap.h. */
#include "capture/wrap.h"

/*
 * ---- the stated model: what a rank sends to which others, whatever algorithm the MPI uses ----
 *
 * docs/matrix.md has the algorithms and their sources: binomial trees, recursive doubling and rings. `bytes`
 * are of the whole message for broadcast, reduce, allreduce and scan, and of one rank's block for the others.
 * A barrier is an allreduce without bytes. Leaves out: pipelined trees.
 */

/* Below: recursive doubling; from here on: a ring. Limits of Open MPI's own decision (coll/tuned), bytes. */
enum { RING_ALLREDUCE_BYTES = 10000, RING_ALLGATHER_BYTES = 81920 };

static int from_root(const struct peers *peers, int root) {
    return (peers->rank - root + peers->size) % peers->size;
}

static void send_to(const struct peers *peers, int root, int place, uint64_t bytes) {
    capture_collective(peers, (place + root) % peers->size, 1, bytes);
}

/* The lowest bit of a place in a binomial tree; of the root a bit above all places. */
static int lowest_bit(const struct peers *peers, int place) {
    int bit = 1;
    while (place ? !(place & bit) : bit < peers->size)
        bit *= 2;
    return bit;
}

/* The places at and below a place. */
static uint64_t subtree(const struct peers *peers, int place) {
    int bit = lowest_bit(peers, place);
    return (uint64_t)(bit < peers->size - place ? bit : peers->size - place);
}

/* Sends each child `bytes`, or so many for each place below it. */
static void send_down(const struct peers *peers, int root, uint64_t bytes, int blocks) {
    int own = from_root(peers, root);
    for (int bit = lowest_bit(peers, own) / 2; bit > 0; bit /= 2)
        if (own + bit < peers->size)
            send_to(peers, root, own + bit, blocks ? bytes * subtree(peers, own + bit) : bytes);
}

static void send_up(const struct peers *peers, int root, uint64_t bytes, int blocks) {
    int own = from_root(peers, root);
    if (own > 0)
        send_to(peers, root, own - lowest_bit(peers, own), blocks ? bytes * subtree(peers, own) : bytes);
}

/* Pairs first fold the ranks above a power of two into it, and get the result at the end. */
static void doubling(const struct peers *peers, uint64_t bytes) {
    int power = 1;
    while (2 * power <= peers->size)
        power *= 2;
    int rest = peers->size - power;
    if (peers->rank < 2 * rest && peers->rank % 2 == 0) {
        capture_collective(peers, peers->rank + 1, 1, bytes);
        return;
    }
    int own = peers->rank < 2 * rest ? peers->rank / 2 : peers->rank - rest;
    for (int bit = 1; bit < power; bit *= 2) {
        int other = own ^ bit;
        capture_collective(peers, other < rest ? 2 * other + 1 : other + rest, 1, bytes);
    }
    if (peers->rank < 2 * rest)
        capture_collective(peers, peers->rank - 1, 1, bytes);
}

static void model_allreduce(const struct peers *peers, uint64_t bytes) {
    uint64_t others = (uint64_t)peers->size - 1;
    if (bytes < RING_ALLREDUCE_BYTES)
        doubling(peers, bytes);
    else if (others > 0)
        capture_collective(peers, (peers->rank + 1) % peers->size, 2 * others,
                           2 * bytes * others / (uint64_t)peers->size);
}

static void model_allgather(const struct peers *peers, uint64_t bytes) {
    int size = peers->size;
    if (bytes * (uint64_t)size >= RING_ALLGATHER_BYTES && size > 1) {
        uint64_t others = (uint64_t)size - 1;
        capture_collective(peers, (peers->rank + 1) % size, others, others * bytes);
        return;
    }
    for (int step = 1; step < size; step *= 2) {
        int blocks = step < size - step ? step : size - step;
        capture_collective(peers, (peers->rank - step + size) % size, 1, (uint64_t)blocks * bytes);
    }
}

static void model_scan(const struct peers *peers, uint64_t bytes) {
    for (int step = 1; peers->rank + step < peers->size; step *= 2)
        capture_collective(peers, peers->rank + step, 1, bytes);
}

/* ---- what a call counts ---- */

typedef void model_rooted(const struct peers *, int root, uint64_t bytes, int blocks);
typedef void model_unrooted(const struct peers *, uint64_t bytes);

static void note_rooted(MPI_Comm comm, model_rooted *expand, int root, uint64_t bytes, int blocks) {
    const struct peers *peers = capture_peers(comm);
    if (peers)
        expand(peers, root, bytes, blocks);
}

static void note_unrooted(MPI_Comm comm, model_unrooted *expand, uint64_t bytes) {
    const struct peers *peers = capture_peers(comm);
    if (peers)
        expand(peers, bytes);
}

/* Counts are of int, or of MPI_Count in the functions of MPI 4. */
static MPI_Count count_at(const void *counts, size_t size, int i) {
    return size == sizeof(int) ? ((const int *)counts)[i] : ((const MPI_Count *)counts)[i];
}

/* A block to each other rank, directly; `types` null: all are of `type`. */
static void send_to_all(const struct peers *peers, const void *counts, size_t size, MPI_Datatype type,
                        const MPI_Datatype *types) {
    for (int i = 0; i < peers->size; i++)
        if (i != peers->rank)
            capture_collective(peers, i, 1,
                               capture_bytes(count_at(counts, size, i), types ? types[i] : type));
}

static void note_to_all(MPI_Comm comm, const void *counts, size_t size, MPI_Datatype type,
                        const MPI_Datatype *types) {
    const struct peers *peers = capture_peers(comm);
    if (peers)
        send_to_all(peers, counts, size, type, types);
}

static void note_alltoall(MPI_Comm comm, uint64_t bytes) {
    const struct peers *peers = capture_peers(comm);
    for (int i = 0; peers && i < peers->size; i++)
        if (i != peers->rank)
            capture_collective(peers, i, 1, bytes);
}

/* A ring: each rank passes on every block but that of the next rank. */
static void note_allgatherv(MPI_Comm comm, const void *counts, size_t size, MPI_Datatype type) {
    const struct peers *peers = capture_peers(comm);
    uint64_t bytes = 0;
    if (!peers || peers->size < 2)
        return;
    int next = (peers->rank + 1) % peers->size;
    for (int i = 0; i < peers->size; i++)
        bytes += i == next ? 0 : capture_bytes(count_at(counts, size, i), type);
    capture_collective(peers, next, (uint64_t)peers->size - 1, bytes);
}

static void note_to_root(MPI_Comm comm, int root, uint64_t bytes) {
    const struct peers *peers = capture_peers(comm);
    if (peers && root != peers->rank)
        capture_collective(peers, root, 1, bytes);
}

static void note_from_root(MPI_Comm comm, int root, const void *counts, size_t size, MPI_Datatype type) {
    const struct peers *peers = capture_peers(comm);
    if (peers && root == peers->rank)
        send_to_all(peers, counts, size, type, NULL);
}

/* `counts` null: `bytes` to each. */
static void note_neighbours(MPI_Comm comm, uint64_t bytes, const void *counts, size_t size, MPI_Datatype type,
                            const MPI_Datatype *types) {
    const struct peers *peers = capture_peers(comm);
    for (int i = 0; peers && i < peers->neighbours; i++)
        if (peers->neighbour[i] != MPI_PROC_NULL)
            capture_collective(peers, peers->neighbour[i], 1,
                               counts ? capture_bytes(count_at(counts, size, i), types ? types[i] : type)
                                      : bytes);
}

/* What a rank gives to a collective; in place, that is where it gets its result. */
static uint64_t given(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Count result_count,
                      MPI_Datatype result_type) {
    return buffer == MPI_IN_PLACE ? capture_bytes(result_count, result_type) : capture_bytes(count, type);
}

#define INFO_E() , MPI_Info info
#define INFO_F() , info
/* Blocking, non-blocking and persistent. */
#define COLLECTIVE(name, starts, P, A, note)                                                                 \
    NAMES(WRAP, name, P, A, note)                                                                            \
    NAMES(WRAP_STARTED, starts, P, A, note)                                                                  \
    MPI_4(NAMES_PLANNED(name##_init, P, INFO_E, A, INFO_F, note))

/* What blocks until all ranks are there is a step of its own, and what follows is the next one. */
#define SYNCHRONISING(name, starts, P, A, note)                                                              \
    NAMES(WRAP, name, P, A, (capture_step(comm, __builtin_return_address(0)), note, capture_step_end(comm))) \
    NAMES(WRAP_STARTED, starts, P, A, note)                                                                  \
    MPI_4(NAMES_PLANNED(name##_init, P, INFO_E, A, INFO_F, note))

/* No payload, but messages. */
#define BARRIER_NOTE                                                                                         \
    (capture_step(comm, __builtin_return_address(0)), note_unrooted(comm, doubling, 0),                      \
     capture_step_end(comm))
WRAP_NAMES(Barrier, (MPI_Comm comm), (comm), BARRIER_NOTE)
WRAP_NAMES(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request), note_unrooted(comm, doubling, 0))

#define BROADCAST_P(C, D) void *buffer, C count, MPI_Datatype type, int root, MPI_Comm comm
#define BROADCAST_A()     buffer, count, type, root, comm
COLLECTIVE(Bcast, Ibcast, BROADCAST_P, BROADCAST_A,
           note_rooted(comm, send_down, root, capture_bytes(count, type), 0))

#define REDUCE_P(C, D)                                                                                       \
    const void *buffer, void *result, C count, MPI_Datatype type, MPI_Op operation, int root, MPI_Comm comm
#define REDUCE_A() buffer, result, count, type, operation, root, comm
COLLECTIVE(Reduce, Ireduce, REDUCE_P, REDUCE_A,
           note_rooted(comm, send_up, root, capture_bytes(count, type), 0))

#define ALLREDUCE_P(C, D)                                                                                    \
    const void *buffer, void *result, C count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm
#define ALLREDUCE_A() buffer, result, count, type, operation, comm
SYNCHRONISING(Allreduce, Iallreduce, ALLREDUCE_P, ALLREDUCE_A,
              note_unrooted(comm, model_allreduce, capture_bytes(count, type)))
COLLECTIVE(Scan, Iscan, ALLREDUCE_P, ALLREDUCE_A, note_unrooted(comm, model_scan, capture_bytes(count, type)))
COLLECTIVE(Exscan, Iexscan, ALLREDUCE_P, ALLREDUCE_A,
           note_unrooted(comm, model_scan, capture_bytes(count, type)))
SYNCHRONISING(Reduce_scatter_block, Ireduce_scatter_block, ALLREDUCE_P, ALLREDUCE_A,
              note_alltoall(comm, capture_bytes(count, type)))

#define REDUCE_SCATTER_P(C, D)                                                                               \
    const void *buffer, void *result, const C counts[], MPI_Datatype type, MPI_Op operation, MPI_Comm comm
#define REDUCE_SCATTER_A() buffer, result, counts, type, operation, comm
SYNCHRONISING(Reduce_scatter, Ireduce_scatter, REDUCE_SCATTER_P, REDUCE_SCATTER_A,
              note_to_all(comm, counts, sizeof *counts, type, NULL))

#define BLOCKS_P(C, D)                                                                                       \
    const void *buffer, C count, MPI_Datatype type, void *result, C result_count, MPI_Datatype result_type,  \
        MPI_Comm comm
#define BLOCKS_A() buffer, count, type, result, result_count, result_type, comm
#define BLOCK      given(buffer, count, type, result_count, result_type)
SYNCHRONISING(Allgather, Iallgather, BLOCKS_P, BLOCKS_A, note_unrooted(comm, model_allgather, BLOCK))
SYNCHRONISING(Alltoall, Ialltoall, BLOCKS_P, BLOCKS_A, note_alltoall(comm, BLOCK))
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, BLOCKS_P, BLOCKS_A,
           note_neighbours(comm, capture_bytes(count, type), NULL, 0, type, NULL))
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, BLOCKS_P, BLOCKS_A,
           note_neighbours(comm, capture_bytes(count, type), NULL, 0, type, NULL))

/* The size is that of the root's result, or buffer; a root that calls with MPI_IN_PLACE has it on the other
 * side. */
#define ROOTED_P(C, D)                                                                                       \
    const void *buffer, C count, MPI_Datatype type, void *result, C result_count, MPI_Datatype result_type,  \
        int root, MPI_Comm comm
#define ROOTED_A() buffer, count, type, result, result_count, result_type, root, comm
COLLECTIVE(Gather, Igather, ROOTED_P, ROOTED_A,
           note_rooted(comm, send_up, root, capture_bytes(count, type), 1))

/* The root knows the bytes that it sends, and each other rank those that it receives, which are equal. */
static void note_scatter(MPI_Comm comm, int root, MPI_Count count, MPI_Datatype type, MPI_Count result_count,
                         MPI_Datatype result_type) {
    const struct peers *peers = capture_peers(comm);
    if (peers)
        send_down(peers, root,
                  peers->rank == root ? capture_bytes(count, type) : capture_bytes(result_count, result_type),
                  1);
}

COLLECTIVE(Scatter, Iscatter, ROOTED_P, ROOTED_A,
           note_scatter(comm, root, count, type, result_count, result_type))

#define ALLGATHERV_P(C, D)                                                                                   \
    const void *buffer, C count, MPI_Datatype type, void *result, const C counts[], const D places[],        \
        MPI_Datatype result_type, MPI_Comm comm
#define ALLGATHERV_A() buffer, count, type, result, counts, places, result_type, comm
SYNCHRONISING(Allgatherv, Iallgatherv, ALLGATHERV_P, ALLGATHERV_A,
              note_allgatherv(comm, counts, sizeof *counts, result_type))
COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, ALLGATHERV_P, ALLGATHERV_A,
           note_neighbours(comm, capture_bytes(count, type), NULL, 0, type, NULL))

#define GATHERV_P(C, D)                                                                                      \
    const void *buffer, C count, MPI_Datatype type, void *result, const C counts[], const D places[],        \
        MPI_Datatype result_type, int root, MPI_Comm comm
#define GATHERV_A() buffer, count, type, result, counts, places, result_type, root, comm
COLLECTIVE(Gatherv, Igatherv, GATHERV_P, GATHERV_A, note_to_root(comm, root, capture_bytes(count, type)))

#define SCATTERV_P(C, D)                                                                                     \
    const void *buffer, const C counts[], const D places[], MPI_Datatype type, void *result, C count,        \
        MPI_Datatype result_type, int root, MPI_Comm comm
#define SCATTERV_A() buffer, counts, places, type, result, count, result_type, root, comm
COLLECTIVE(Scatterv, Iscatterv, SCATTERV_P, SCATTERV_A,
           note_from_root(comm, root, counts, sizeof *counts, type))

#define ALLTOALLV_P(C, D)                                                                                    \
    const void *buffer, const C counts[], const D places[], MPI_Datatype type, void *result,                 \
        const C result_counts[], const D result_places[], MPI_Datatype result_type, MPI_Comm comm
#define ALLTOALLV_A() buffer, counts, places, type, result, result_counts, result_places, result_type, comm
SYNCHRONISING(Alltoallv, Ialltoallv, ALLTOALLV_P, ALLTOALLV_A,
              buffer == MPI_IN_PLACE
                  ? note_to_all(comm, result_counts, sizeof *result_counts, result_type, NULL)
                  : note_to_all(comm, counts, sizeof *counts, type, NULL))
COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, ALLTOALLV_P, ALLTOALLV_A,
           note_neighbours(comm, 0, counts, sizeof *counts, type, NULL))

#define ALLTOALLW_P(C, D)                                                                                    \
    const void *buffer, const C counts[], const D places[], const MPI_Datatype types[], void *result,        \
        const C result_counts[], const D result_places[], const MPI_Datatype result_types[], MPI_Comm comm
#define ALLTOALLW_A() buffer, counts, places, types, result, result_counts, result_places, result_types, comm
SYNCHRONISING(Alltoallw, Ialltoallw, ALLTOALLW_P, ALLTOALLW_A,
              buffer == MPI_IN_PLACE
                  ? note_to_all(comm, result_counts, sizeof *result_counts, MPI_BYTE, result_types)
                  : note_to_all(comm, counts, sizeof *counts, MPI_BYTE, types))

/* Displacements are of MPI_Aint in both forms. */
#define NEIGHBOUR_ALLTOALLW_P(C, D) ALLTOALLW_P(C, MPI_Aint)
COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, NEIGHBOUR_ALLTOALLW_P, ALLTOALLW_A,
           note_neighbours(comm, 0, counts, sizeof *counts, MPI_BYTE, types))
