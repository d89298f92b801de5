/* The table of patterns; see patterns.h. To add one: its functions and a row. */
#include "congestor/patterns.h"

#include "lib/measure/payload.h"
#include "lib/run/check.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 24, PART = 24 };

/* Returns the payload key of rank `from` for rank `to`; `to` is 0 if all ranks get the same. */
static uint64_t key(const struct load *load, int from, int to) {
    return payload_key(load->seed, (uint64_t)to, (uint64_t)from, PART);
}

static bool holds(const struct load *load, const char *data, int from, int to) {
    return payload_first_difference(data, load->bytes, key(load, from, to)) == load->bytes;
}

static void fill_one(struct load *load) {
    payload_fill(load->outgoing, load->bytes, key(load, load->rank, 0));
}

/* ---- incast: all ranks to rank 0 ---- */

static uint64_t to_or_from_one(uint64_t ranks, uint64_t bytes) {
    return (ranks - 1) * bytes;
}

/* Returns the address in the incoming memory for one message of a window from a rank. */
static char *slot(const struct load *load, int from, int message) {
    return load->incoming + ((size_t)from * (size_t)load->in_flight + (size_t)message) * load->bytes;
}

static void send_window(struct load *load, int to, int *pending) {
    for (int i = 0; i < load->in_flight; i++)
        MPI_CHECK(MPI_Isend(load->outgoing, (int)load->bytes, MPI_BYTE, to, TAG, load->comm,
                            &load->requests[(*pending)++]));
}

static void receive_window(struct load *load, int from, int first, int *pending) {
    for (int i = 0; i < load->in_flight; i++)
        MPI_CHECK(MPI_Irecv(slot(load, first, i), (int)load->bytes, MPI_BYTE, from, TAG, load->comm,
                            &load->requests[(*pending)++]));
}

static bool window_holds(const struct load *load, int from, int first) {
    for (int i = 0; i < load->in_flight; i++)
        if (!holds(load, slot(load, first, i), from, 0))
            return false;
    return true;
}

static void incast(struct load *load) {
    int pending = 0;
    if (load->rank > 0)
        send_window(load, 0, &pending);
    for (int from = 1; load->rank == 0 && from < load->ranks; from++)
        receive_window(load, from, from, &pending);
    MPI_CHECK(MPI_Waitall(pending, load->requests, MPI_STATUSES_IGNORE));
}

static bool incast_arrived(const struct load *load) {
    for (int from = 1; load->rank == 0 && from < load->ranks; from++)
        if (!window_holds(load, from, from))
            return false;
    return true;
}

/* ---- alltoall ---- */

static uint64_t between_all(uint64_t ranks, uint64_t bytes) {
    return ranks * (ranks - 1) * bytes;
}

static void fill_all(struct load *load) {
    for (int to = 0; to < load->ranks; to++)
        payload_fill(load->outgoing + (size_t)to * load->bytes, load->bytes, key(load, load->rank, to));
}

static void alltoall(struct load *load) {
    MPI_CHECK(MPI_Alltoall(load->outgoing, (int)load->bytes, MPI_BYTE, load->incoming, (int)load->bytes,
                           MPI_BYTE, load->comm));
}

static bool alltoall_arrived(const struct load *load) {
    for (int from = 0; from < load->ranks; from++)
        if (!holds(load, load->incoming + (size_t)from * load->bytes, from, load->rank))
            return false;
    return true;
}

/* ---- broadcast: rank 0 puts its message into the memory of all others ---- */

static void broadcast(struct load *load) {
    MPI_CHECK(MPI_Win_fence(MPI_MODE_NOPRECEDE, load->window));
    for (int to = 1; load->rank == 0 && to < load->ranks; to++)
        MPI_CHECK(MPI_Put(load->outgoing, (int)load->bytes, MPI_BYTE, to, 0, (int)load->bytes, MPI_BYTE,
                          load->window));
    MPI_CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, load->window));
}

static bool broadcast_arrived(const struct load *load) {
    return load->rank == 0 || holds(load, load->incoming, 0, 0);
}

/* ---- allreduce: small whole numbers, whose sum is exact in any order ---- */

static int words(const struct load *load) {
    return (int)(load->bytes / sizeof(double));
}

/* Each rank must send and receive this much at least, whatever the algorithm (Patarasuk and Yuan, 2009). */
static uint64_t least_of_allreduce(uint64_t ranks, uint64_t bytes) {
    return 2 * (ranks - 1) * bytes;
}

static void fill_numbers(struct load *load) {
    double *numbers = (double *)(void *)load->outgoing;
    for (int i = 0; i < words(load); i++)
        numbers[i] = load->rank + 1 + i % 7;
}

static void allreduce(struct load *load) {
    MPI_CHECK(MPI_Allreduce(load->outgoing, load->incoming, words(load), MPI_DOUBLE, MPI_SUM, load->comm));
}

static bool allreduce_arrived(const struct load *load) {
    const double *sums = (const double *)(const void *)load->incoming;
    for (int i = 0; i < words(load); i++)
        if (payload_bits(sums[i]) !=
            payload_bits(0.5 * load->ranks * (load->ranks + 1) + (double)load->ranks * (i % 7)))
            return false;
    return true;
}

/* ---- permutation: along the cycle of a random order, so that no rank sends to itself ---- */

static uint64_t one_each(uint64_t ranks, uint64_t bytes) {
    return ranks * bytes;
}

static void permutation(struct load *load) {
    int pending = 0;
    receive_window(load, load->from, 0, &pending);
    send_window(load, load->to, &pending);
    MPI_CHECK(MPI_Waitall(pending, load->requests, MPI_STATUSES_IGNORE));
}

static bool permutation_arrived(const struct load *load) {
    return window_holds(load, load->from, 0);
}

static void fill_for_partner(struct load *load) {
    /* The same order on all ranks (Fisher and Yates). */
    int *order = check_alloc((size_t)load->ranks, sizeof *order);
    for (int i = 0; i < load->ranks; i++)
        order[i] = i;
    for (int i = load->ranks - 1; i > 0; i--) {
        int other = (int)(payload_word(load->seed, (uint64_t)i) % (uint64_t)(i + 1));
        int kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (int i = 0; i < load->ranks; i++)
        if (order[i] == load->rank) {
            load->to = order[(i + 1) % load->ranks];
            load->from = order[(i + load->ranks - 1) % load->ranks];
        }
    free(order);
    fill_one(load);
}

/* ---- the table ---- */

const struct load_pattern load_patterns[LOAD_PATTERNS] = {
    {"incast", true, true, false, false, to_or_from_one, fill_one, incast, incast_arrived},
    {"alltoall", false, false, true, false, between_all, fill_all, alltoall, alltoall_arrived},
    {"broadcast", false, false, false, true, to_or_from_one, fill_one, broadcast, broadcast_arrived},
    {"allreduce", false, false, false, false, least_of_allreduce, fill_numbers, allreduce, allreduce_arrived},
    {"permutation", true, false, false, false, one_each, fill_for_partner, permutation, permutation_arrived},
};

/* Windows of a round of this rank: an incast's first rank has one of every other, a permutation's two. */
static size_t windows(const struct load *load) {
    if (!load->pattern->is_windowed)
        return 0;
    if (!load->pattern->is_incast)
        return 2;
    return load->rank == 0 ? (size_t)load->ranks - 1 : 1;
}

void load_open(struct load *load, const struct load_pattern *pattern, const struct load_size *size,
               struct load_ranks among) {
    size_t bytes = size->bytes;
    *load = (struct load){.pattern = pattern, .bytes = bytes, .seed = among.seed, .window = MPI_WIN_NULL};
    load->comm = among.comm;
    load->in_flight = pattern->is_windowed ? size->in_flight : 1;
    MPI_CHECK(MPI_Comm_rank(load->comm, &load->rank));
    MPI_CHECK(MPI_Comm_size(load->comm, &load->ranks));
    size_t all = bytes * (size_t)load->ranks;
    load->incoming_bytes = pattern->is_alltoall || (pattern->is_incast && load->rank == 0) ? all : bytes;
    load->incoming_bytes *= (size_t)load->in_flight;
    load->outgoing = check_alloc_pages(pattern->is_alltoall ? all : bytes);
    load->incoming = check_alloc_pages(load->incoming_bytes);
    load->requests = check_alloc(windows(load) * (size_t)load->in_flight, sizeof *load->requests);
    pattern->fill(load);
    if (pattern->is_one_sided)
        MPI_CHECK(MPI_Win_create(load->incoming, (MPI_Aint)load->incoming_bytes, 1, MPI_INFO_NULL, load->comm,
                                 &load->window));
}

void load_close(struct load *load) {
    if (load->window != MPI_WIN_NULL)
        MPI_CHECK(MPI_Win_free(&load->window));
    free(load->requests);
    free(load->incoming);
    free(load->outgoing);
}

bool load_verified_round(struct load *load) {
    memset(load->incoming, 0, load->incoming_bytes);
    MPI_CHECK(MPI_Barrier(load->comm)); /* no rank writes into a window that is being cleared */
    load->pattern->round(load);
    payload_test_fault(load->incoming, load->incoming_bytes, load->rank);
    return load->pattern->arrived(load);
}
