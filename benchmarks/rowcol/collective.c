/* Five collectives that check themselves; see collective.h. */
#include "rowcol/collective.h"

#include "lib/check.h"
#include "lib/options.h"
#include "lib/payload.h"

#include <string.h>

/* What rank `from` of the group has for rank `to`; `to` is 0 where it is the same for all. */
static uint64_t key_of(const struct group *group, size_t bytes, int from, int to) {
    return payload_key(group->seed, bytes, (uint64_t)from, (uint64_t)to);
}

static size_t wrong_in(const char *block, size_t bytes, uint64_t key, size_t offset) {
    size_t wrong = payload_first_difference(block, bytes, key);
    return wrong < bytes ? offset + wrong : SIZE_MAX;
}

/* ---- alltoall ---- */

static void fill_alltoall(const struct group *group, size_t bytes) {
    for (int to = 0; to < group->ranks; to++)
        payload_fill(group->outgoing + (size_t)to * bytes, bytes, key_of(group, bytes, group->rank, to));
}

static void run_alltoall(const struct group *group, size_t bytes) {
    MPI_CHECK(MPI_Alltoall(group->outgoing, (int)bytes, MPI_CHAR, group->incoming, (int)bytes, MPI_CHAR,
                           group->comm));
}

static size_t check_alltoall(const struct group *group, size_t bytes) {
    size_t wrong = SIZE_MAX;
    for (int from = 0; from < group->ranks && wrong == SIZE_MAX; from++) {
        size_t offset = (size_t)from * bytes;
        wrong = wrong_in(group->incoming + offset, bytes, key_of(group, bytes, from, group->rank), offset);
    }
    return wrong;
}

/* ---- allgather ---- */

static void fill_own(const struct group *group, size_t bytes) {
    payload_fill(group->outgoing, bytes, key_of(group, bytes, group->rank, 0));
}

static void run_allgather(const struct group *group, size_t bytes) {
    MPI_CHECK(MPI_Allgather(group->outgoing, (int)bytes, MPI_CHAR, group->incoming, (int)bytes, MPI_CHAR,
                            group->comm));
}

static size_t check_allgather(const struct group *group, size_t bytes) {
    size_t wrong = SIZE_MAX;
    for (int from = 0; from < group->ranks && wrong == SIZE_MAX; from++) {
        size_t offset = (size_t)from * bytes;
        wrong = wrong_in(group->incoming + offset, bytes, key_of(group, bytes, from, 0), offset);
    }
    return wrong;
}

/* ---- allreduce ---- */

static void run_allreduce(const struct group *group, size_t bytes) {
    MPI_CHECK(MPI_Allreduce(group->outgoing, group->incoming, (int)(bytes / sizeof(uint64_t)), MPI_UINT64_T,
                            MPI_SUM, group->comm));
}

static size_t check_allreduce(const struct group *group, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++) {
        uint64_t sum = 0;
        uint64_t found;
        for (int from = 0; from < group->ranks; from++)
            sum += payload_word(key_of(group, bytes, from, 0), i);
        memcpy(&found, group->incoming + i * sizeof found, sizeof found);
        if (found != sum)
            return i * sizeof found;
    }
    return SIZE_MAX;
}

/* ---- bcast ---- */

static void fill_root(const struct group *group, size_t bytes) {
    if (group->rank == 0)
        payload_fill(group->incoming, bytes, key_of(group, bytes, 0, 0));
}

static void run_bcast(const struct group *group, size_t bytes) {
    MPI_CHECK(MPI_Bcast(group->incoming, (int)bytes, MPI_CHAR, 0, group->comm));
}

static size_t check_bcast(const struct group *group, size_t bytes) {
    return wrong_in(group->incoming, bytes, key_of(group, bytes, 0, 0), 0);
}

/* ---- barrier ---- */

static void fill_nothing(const struct group *group, size_t bytes) {
    (void)group;
    (void)bytes;
}

static void run_barrier(const struct group *group, size_t bytes) {
    (void)bytes;
    MPI_CHECK(MPI_Barrier(group->comm));
}

static size_t check_nothing(const struct group *group, size_t bytes) {
    (void)group;
    (void)bytes;
    return SIZE_MAX;
}

/* ---- the table ---- */

static const struct collective table[COLLECTIVES] = {
    {"alltoall", true, 1, 0, 0, fill_alltoall, run_alltoall, check_alltoall},
    {"allgather", true, 1, 1, 0, fill_own, run_allgather, check_allgather},
    {"allreduce", true, sizeof(uint64_t), 1, 1, fill_own, run_allreduce, check_allreduce},
    {"bcast", true, 1, 1, 1, fill_root, run_bcast, check_bcast},
    {"barrier", false, 1, 1, 1, fill_nothing, run_barrier, check_nothing},
};

const struct collective *collectives(void) {
    return table;
}

bool parse_collectives(const char *text, void *field) {
    const char *names[COLLECTIVES];
    for (int i = 0; i < COLLECTIVES; i++)
        names[i] = table[i].name;
    return options_choose(text, names, COLLECTIVES, field);
}

static size_t blocks_of(size_t blocks, int ranks) {
    return blocks ? blocks : (size_t)ranks;
}

size_t collective_bytes(const struct collective *collective, size_t bytes, int ranks) {
    size_t out = blocks_of(collective->out_blocks, ranks);
    size_t in = blocks_of(collective->in_blocks, ranks);
    return bytes * (out > in ? out : in);
}

void collective_verify(const struct collective *collective, const struct group *group, size_t bytes,
                       struct problem *problem) {
    size_t received = bytes * blocks_of(collective->in_blocks, group->ranks);
    memset(group->incoming, 0, received);
    collective->fill(group, bytes);
    collective->run(group, bytes);
    payload_test_fault(group->incoming, received, check_rank());
    size_t wrong = collective->first_wrong(group, bytes);
    if (wrong != SIZE_MAX)
        problem_set(problem, "data are wrong, no time is printed: rank %d, %s of %zu bytes, byte %zu",
                    check_rank(), collective->name, bytes, wrong);
}
