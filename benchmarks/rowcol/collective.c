/* Collectives that check themselves; see collective.h. */
#include "rowcol/collective.h"

#include "lib/measure/payload.h"
#include "lib/run/check.h"

#include <string.h>

/* Returns the payload key of rank `from` of the group for rank `to`; `to` is 0 if all ranks get the same. */
static uint64_t key_of(const struct group *group, size_t bytes, int from, int to) {
    return payload_key(group->seed, bytes, (uint64_t)from, (uint64_t)to);
}

/* Blocks of alltoallv: of half and one and a half sizes take turns. */
static size_t slot_of(size_t bytes) {
    return bytes + bytes / 2;
}

static size_t bytes_between(size_t bytes, int from, int to) {
    return (from + to) % 2 ? slot_of(bytes) : bytes - bytes / 2;
}

/* Checks the block of each rank for rank `to`. */
static size_t check_blocks(const struct group *group, size_t bytes, bool uneven, int to) {
    for (int from = 0; from < group->ranks; from++) {
        size_t offset = (size_t)from * (uneven ? slot_of(bytes) : bytes);
        size_t length = uneven ? bytes_between(bytes, from, to) : bytes;
        size_t wrong =
            payload_first_difference(group->incoming + offset, length, key_of(group, bytes, from, to));
        if (wrong < length)
            return offset + wrong;
    }
    return SIZE_MAX;
}

/* ---- alltoall ---- */

static void fill_alltoall(const struct group *group, size_t bytes) {
    for (int to = 0; to < group->ranks; to++)
        payload_fill(group->outgoing + (size_t)to * bytes, bytes, key_of(group, bytes, group->rank, to));
}

static void run_alltoall(const struct group *group, size_t bytes) {
    MPI_CHECK(MPI_Alltoall(group->outgoing, (int)bytes, MPI_BYTE, group->incoming, (int)bytes, MPI_BYTE,
                           group->comm));
}

static size_t check_alltoall(const struct group *group, size_t bytes) {
    return check_blocks(group, bytes, false, group->rank);
}

/* ---- allgather ---- */

static void fill_own(const struct group *group, size_t bytes) {
    payload_fill(group->outgoing, bytes, key_of(group, bytes, group->rank, 0));
}

static void run_allgather(const struct group *group, size_t bytes) {
    MPI_CHECK(MPI_Allgather(group->outgoing, (int)bytes, MPI_BYTE, group->incoming, (int)bytes, MPI_BYTE,
                            group->comm));
}

static size_t check_allgather(const struct group *group, size_t bytes) {
    return check_blocks(group, bytes, false, 0);
}

/* ---- alltoallv ---- */

static void fill_alltoallv(const struct group *group, size_t bytes) {
    for (int to = 0; to < group->ranks; to++) {
        payload_fill(group->outgoing + (size_t)to * slot_of(bytes), bytes_between(bytes, group->rank, to),
                     key_of(group, bytes, group->rank, to));
        group->counts[to] = (int)bytes_between(bytes, group->rank, to);
        group->places[to] = (int)((size_t)to * slot_of(bytes));
    }
}

/* Counts and places are the same both ways: what a rank sends to another is as long as what it gets. */
static void run_alltoallv(const struct group *group, size_t bytes) {
    (void)bytes;
    MPI_CHECK(MPI_Alltoallv(group->outgoing, group->counts, group->places, MPI_BYTE, group->incoming,
                            group->counts, group->places, MPI_BYTE, group->comm));
}

static size_t check_alltoallv(const struct group *group, size_t bytes) {
    return check_blocks(group, bytes, true, group->rank);
}

/* ---- sums: word i of rank r is a_i + r * b_i, so that the sum over any number of ranks is known ---- */

static void fill_words(const struct group *group, size_t words, size_t bytes) {
    uint64_t a = key_of(group, bytes, 0, 1);
    uint64_t b = key_of(group, bytes, 0, 2);
    for (size_t i = 0; i < words; i++) {
        uint64_t word = payload_word(a, i) + (uint64_t)group->rank * payload_word(b, i);
        memcpy(group->outgoing + i * sizeof word, &word, sizeof word);
    }
}

/* Words from `first` of the sum. */
static size_t check_words(const struct group *group, size_t first, size_t words, size_t bytes) {
    uint64_t a = key_of(group, bytes, 0, 1);
    uint64_t b = key_of(group, bytes, 0, 2);
    for (size_t i = 0; i < words; i++) {
        uint64_t actual;
        uint64_t sum =
            (uint64_t)group->ranks * payload_word(a, first + i) +
            ((uint64_t)group->ranks * (uint64_t)(group->ranks - 1) / 2) * payload_word(b, first + i);
        memcpy(&actual, group->incoming + i * sizeof actual, sizeof actual);
        if (actual != sum)
            return i * sizeof actual;
    }
    return SIZE_MAX;
}

static void fill_allreduce(const struct group *group, size_t bytes) {
    fill_words(group, bytes / sizeof(uint64_t), bytes);
}

static void run_allreduce(const struct group *group, size_t bytes) {
    MPI_CHECK(MPI_Allreduce(group->outgoing, group->incoming, (int)(bytes / sizeof(uint64_t)), MPI_UINT64_T,
                            MPI_SUM, group->comm));
}

static size_t check_allreduce(const struct group *group, size_t bytes) {
    return check_words(group, 0, bytes / sizeof(uint64_t), bytes);
}

static void fill_reduce_scatter(const struct group *group, size_t bytes) {
    fill_words(group, bytes / sizeof(uint64_t) * (size_t)group->ranks, bytes);
}

static void run_reduce_scatter(const struct group *group, size_t bytes) {
    MPI_CHECK(MPI_Reduce_scatter_block(group->outgoing, group->incoming, (int)(bytes / sizeof(uint64_t)),
                                       MPI_UINT64_T, MPI_SUM, group->comm));
}

static size_t check_reduce_scatter(const struct group *group, size_t bytes) {
    size_t words = bytes / sizeof(uint64_t);
    return check_words(group, words * (size_t)group->rank, words, bytes);
}

/* Whole numbers below 512, and the rank modulo 8: the sum is exact up to 30,000 ranks. */
static void fill_floats(const struct group *group, size_t bytes) {
    uint64_t key = key_of(group, bytes, 0, 1);
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        float value = (float)(payload_word(key, i) % 512 + (uint64_t)(group->rank % 8));
        memcpy(group->outgoing + i * sizeof value, &value, sizeof value);
    }
}

static void run_floats(const struct group *group, size_t bytes) {
    MPI_CHECK(MPI_Allreduce(group->outgoing, group->incoming, (int)(bytes / sizeof(float)), MPI_FLOAT,
                            MPI_SUM, group->comm));
}

static size_t check_floats(const struct group *group, size_t bytes) {
    uint64_t key = key_of(group, bytes, 0, 1);
    uint64_t of_ranks = 0;
    for (int rank = 0; rank < group->ranks; rank++)
        of_ranks += (uint64_t)(rank % 8);
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        float actual;
        uint64_t sum = (uint64_t)group->ranks * (payload_word(key, i) % 512) + of_ranks;
        memcpy(&actual, group->incoming + i * sizeof actual, sizeof actual);
        if ((double)actual != (double)sum)
            return i * sizeof actual;
    }
    return SIZE_MAX;
}

/* ---- bcast ---- */

static void fill_root(const struct group *group, size_t bytes) {
    if (group->rank == 0)
        payload_fill(group->incoming, bytes, key_of(group, bytes, 0, 0));
}

/* Any root has the same data once the first has sent them: the first time it is the first rank. */
static void run_bcast(const struct group *group, size_t bytes) {
    MPI_CHECK(MPI_Bcast(group->incoming, (int)bytes, MPI_BYTE, group->root, group->comm));
}

static size_t check_bcast(const struct group *group, size_t bytes) {
    size_t wrong = payload_first_difference(group->incoming, bytes, key_of(group, bytes, 0, 0));
    return wrong < bytes ? wrong : SIZE_MAX;
}

/* ---- barrier ---- */

static void run_barrier(const struct group *group, size_t bytes) {
    (void)bytes;
    MPI_CHECK(MPI_Barrier(group->comm));
}

/* ---- the table ---- */

/* Busy bytes of a rank, as nccl-tests count them: what it must send at least, over the bytes of the call. */
static double of_others(int ranks) {
    return (double)(ranks - 1) / ranks;
}

static double twice_of_others(int ranks) {
    return 2 * of_others(ranks);
}

static double all_of_it(int ranks) {
    (void)ranks;
    return 1;
}

const struct collective collectives[COLLECTIVES] = {
    {"alltoall", 1, 0, 0, false, fill_alltoall, run_alltoall, check_alltoall, of_others},
    {"allgather", 1, 1, 0, false, fill_own, run_allgather, check_allgather, of_others},
    {"allreduce", sizeof(uint64_t), 1, 1, false, fill_allreduce, run_allreduce, check_allreduce,
     twice_of_others},
    {"bcast", 1, 1, 1, false, fill_root, run_bcast, check_bcast, all_of_it},
    {"barrier", 0, 1, 1, false, NULL, run_barrier, NULL, NULL},
    {"alltoallv", 1, 0, 0, true, fill_alltoallv, run_alltoallv, check_alltoallv, of_others},
    {"reduce-scatter", sizeof(uint64_t), 0, 1, false, fill_reduce_scatter, run_reduce_scatter,
     check_reduce_scatter, of_others},
    {"allreduce-float", sizeof(float), 1, 1, false, fill_floats, run_floats, check_floats, twice_of_others},
};

static size_t blocks_of(size_t blocks, int ranks) {
    return blocks ? blocks : (size_t)ranks;
}

size_t collective_bytes(const struct collective *collective, size_t bytes, int ranks) {
    size_t out = blocks_of(collective->out_blocks, ranks);
    size_t in = blocks_of(collective->in_blocks, ranks);
    return (collective->uneven ? slot_of(bytes) : bytes) * (out > in ? out : in);
}

double collective_gbyte_s(const struct collective *collective, size_t bytes, int ranks, double seconds) {
    bool whole = collective->out_blocks == 0 || collective->in_blocks == 0;
    return 1e-9 * (double)bytes * (whole ? ranks : 1) / seconds;
}

static size_t received_bytes(const struct collective *collective, const struct group *group, size_t bytes) {
    return (collective->uneven ? slot_of(bytes) : bytes) * blocks_of(collective->in_blocks, group->ranks);
}

void collective_check(const struct collective *collective, const struct group *group, size_t bytes,
                      struct problem *problem) {
    struct group on_host = *group;
    size_t received = received_bytes(collective, group, bytes);
    on_host.incoming = memory_get(group->memory, group->incoming, received);
    payload_test_fault(on_host.incoming, received, check_rank());
    size_t wrong = collective->first_wrong ? collective->first_wrong(&on_host, bytes) : SIZE_MAX;
    memory_drop(group->memory, group->incoming, on_host.incoming);
    if (wrong != SIZE_MAX)
        problem_set(problem, "data are wrong, no time is printed: rank %d, %s of %zu bytes, byte %zu",
                    check_rank(), collective->name, bytes, wrong);
}

void collective_verify(const struct collective *collective, struct group *group, size_t bytes,
                       struct problem *problem) {
    struct group on_host = *group;
    size_t received = received_bytes(collective, group, bytes);
    size_t sent = collective_bytes(collective, bytes, group->ranks);
    on_host.outgoing = memory_get(group->memory, group->outgoing, sent);
    on_host.incoming = memset(memory_get(group->memory, group->incoming, received), 0, received);
    if (collective->fill)
        collective->fill(&on_host, bytes);
    memory_put(group->memory, group->outgoing, on_host.outgoing, sent);
    memory_put(group->memory, group->incoming, on_host.incoming, received);
    group->root = 0;
    group->calls++;
    collective->run(group, bytes);
    collective_check(collective, group, bytes, problem);
}
