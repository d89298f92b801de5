/* Builds the tree and replaces collective calls; see relay.h. */
#include "topobw/run/relay.h"

#include "lib/measure/idle.h"
#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef RAILYARD_HOST_FROM_MPI
enum { TAG_GREETING = 51, TAG_TREE = 52, TAG_CALL = 53, PEERS_MAX = 64, POLLS = 100 };

/* Words of TAG_TREE that are not ranks. The answer to a greeting is one of the last two. */
enum { ALL_JOINED = -1, IN_TREE = -2, NOT_YET = -3 };

/* A shaper may pass one or two packets immediately and then almost none, so a greeting is longer. */
enum { GREETING_BYTES = 4096 };

static const double first_sleep_s = 0.0002;
static const double last_sleep_s = 0.005;

/* A rank of this rank's subtree, and the child that leads to it. */
struct member {
    int rank;
    int child; /* index */
};

struct child {
    int rank;
    int members; /* ranks in its subtree, including the child */
};

struct tree {
    bool open;
    int parent; /* -1: rank 0, or not greeted yet */
    int peer_count;
    int peers[PEERS_MAX]; /* each of them has this rank among its own */
    bool greeted[PEERS_MAX];
    int greetings; /* greetings that have arrived */
    int answers;   /* answers to this rank's greetings that have arrived */
    int word;      /* the last answer; a cancelled request may still write it */
    MPI_Request sends[PEERS_MAX];
    MPI_Request greeting;
    char sent[GREETING_BYTES];
    char received[GREETING_BYTES];
    int member_count;
    struct member *members; /* without this rank, in the order in which they joined */
    int member_room;
    int child_count;
    struct child children[PEERS_MAX];
};

/* The profiling interface passes no context, so this is the one object that outlives its function. It is
 * absent where ranks share a process. */
static struct tree tree;

/* ---- waiting ---- */

/* Returns the index of the request that completed; -1 if none did by that time of MPI_Wtime. 0: no limit. */
static int wait_any(MPI_Request *requests, int count, double until_s, MPI_Status *status) {
    double pause_s = first_sleep_s;
    for (int polls = 0;; polls++) {
        int done = 0;
        int index = -1;
        MPI_CHECK(MPI_Testany(count, requests, &index, &done, status));
        if (done)
            return index;
        if (until_s > 0 && MPI_Wtime() > until_s)
            return -1;
        if (polls < POLLS)
            continue;
        idle_sleep(pause_s);
        pause_s = 2 * pause_s < last_sleep_s ? 2 * pause_s : last_sleep_s;
    }
}

static void receive_from(void *buffer, size_t bytes, int rank) {
    MPI_Request request;
    MPI_Status status;
    MPI_CHECK(MPI_Irecv(buffer, (int)bytes, MPI_BYTE, rank, TAG_CALL, MPI_COMM_WORLD, &request));
    (void)wait_any(&request, 1, 0, &status);
}

static void send_to(const void *buffer, size_t bytes, int rank) {
    MPI_CHECK(MPI_Send(buffer, (int)bytes, MPI_BYTE, rank, TAG_CALL, MPI_COMM_WORLD));
}

/* ---- the tree ---- */

static void greet(int peer) {
    tree.greeted[peer] = true;
    MPI_CHECK(MPI_Isend(tree.sent, GREETING_BYTES, MPI_BYTE, tree.peers[peer], TAG_GREETING, MPI_COMM_WORLD,
                        &tree.sends[peer]));
}

static void greet_all(void) {
    for (int peer = 0; peer < tree.peer_count; peer++)
        if (!tree.greeted[peer])
            greet(peer);
}

static void expect_greeting(void) {
    MPI_CHECK(MPI_Irecv(tree.received, GREETING_BYTES, MPI_BYTE, MPI_ANY_SOURCE, TAG_GREETING, MPI_COMM_WORLD,
                        &tree.greeting));
}

static void say(int word, int rank) {
    MPI_CHECK(MPI_Send(&word, 1, MPI_INT, rank, TAG_TREE, MPI_COMM_WORLD));
}

static bool is_in_tree(void) {
    return check_rank() == 0 || tree.parent >= 0;
}

static void take_greeting(int from) {
    tree.greetings++;
    say(is_in_tree() ? IN_TREE : NOT_YET, from);
    /* A rank half way around is a peer in both directions. */
    for (int peer = 0; peer < tree.peer_count; peer++)
        if (tree.peers[peer] == from && !tree.greeted[peer]) {
            greet(peer);
            return;
        }
}

static int child_of(int rank) {
    for (int i = 0; i < tree.child_count; i++)
        if (tree.children[i].rank == rank)
            return i;
    tree.children[tree.child_count] = (struct child){.rank = rank};
    return tree.child_count++;
}

static void take_join(int rank, int from) {
    int child = child_of(from);
    tree.children[child].members++;
    tree.members = check_grow(tree.members, tree.member_count, &tree.member_room, sizeof *tree.members);
    tree.members[tree.member_count++] = (struct member){rank, child};
    if (check_rank() != 0)
        say(rank, tree.parent);
}

/* False when time is up on rank 0. */
static bool build(double until_s) {
    int word = 0;
    MPI_Status status;
    MPI_Request requests[2] = {tree.greeting, MPI_REQUEST_NULL};
    while (!(check_rank() == 0 && tree.member_count == check_ranks() - 1)) {
        if (requests[1] == MPI_REQUEST_NULL)
            MPI_CHECK(MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, TAG_TREE, MPI_COMM_WORLD, &requests[1]));
        int done = wait_any(requests, 2, check_rank() == 0 ? until_s : 0, &status);
        if (done < 0)
            return false;
        if (done == 0) {
            take_greeting(status.MPI_SOURCE);
            tree.greeting = MPI_REQUEST_NULL;
            if (tree.greetings < tree.peer_count)
                expect_greeting();
            requests[0] = tree.greeting;
        } else if (word == ALL_JOINED) {
            break;
        } else if (word < 0) {
            /* Makes the first rank that answers from within the tree the parent. It has this rank's greeting
             * and greeted this rank before, so both directions work. */
            tree.answers++;
            if (word != NOT_YET && !is_in_tree()) {
                tree.parent = status.MPI_SOURCE;
                greet_all();
                say(check_rank(), tree.parent);
            }
        } else {
            take_join(word, status.MPI_SOURCE);
        }
    }
    tree.greeting = requests[0];
    for (int i = 0; i < tree.child_count; i++)
        say(ALL_JOINED, tree.children[i].rank);
    return true;
}

void relay_open(const char *program, double limit_s) {
    tree = (struct tree){.parent = -1, .greeting = MPI_REQUEST_NULL};
    expect_greeting();
    int ranks = check_ranks();
    for (int distance = 1; distance < ranks && tree.peer_count + 2 <= PEERS_MAX; distance *= 2) {
        tree.peers[tree.peer_count++] = (check_rank() + distance) % ranks;
        tree.peers[tree.peer_count++] = (check_rank() - distance + ranks) % ranks;
    }
    if (check_rank() == 0)
        greet_all();
    if (!build(MPI_Wtime() + limit_s)) {
        bool *reached = check_alloc((size_t)check_ranks(), sizeof *reached);
        int first = 1;
        for (int i = 0; i < tree.member_count; i++)
            reached[tree.members[i].rank] = true;
        while (first + 1 < check_ranks() && reached[first])
            first++;
        (void)fprintf(
            stderr,
            "%s: %d of %d ranks cannot be reached from rank 0 over any other rank within %g s, the first is "
            "rank %d: every link of its node is down, or it hangs\n",
            program, check_ranks() - 1 - tree.member_count, check_ranks(), limit_s, first);
        (void)fflush(stderr);
        free(reached);
        (void)MPI_Abort(MPI_COMM_WORLD, EXIT_LINK_FAULT);
    }
    tree.open = true;
}

/* True when all greetings have arrived, and all answers. */
static bool receive_greetings(double until_s) {
    MPI_Status status;
    MPI_Request answer = MPI_REQUEST_NULL;
    while (tree.greetings < tree.peer_count) {
        if (tree.greeting == MPI_REQUEST_NULL)
            expect_greeting();
        if (wait_any(&tree.greeting, 1, until_s, &status) < 0)
            return false;
        take_greeting(status.MPI_SOURCE);
    }
    for (; tree.answers < tree.peer_count; tree.answers++) {
        MPI_CHECK(MPI_Irecv(&tree.word, 1, MPI_INT, MPI_ANY_SOURCE, TAG_TREE, MPI_COMM_WORLD, &answer));
        if (wait_any(&answer, 1, until_s, &status) < 0)
            return false;
    }
    return true;
}

bool relay_close(double limit_s) {
    int mine = receive_greetings(MPI_Wtime() + limit_s);
    int all = 0;
    MPI_CHECK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (!all)
        return false;
    MPI_CHECK(MPI_Waitall(tree.peer_count, tree.sends, MPI_STATUSES_IGNORE));
    free(tree.members);
    tree = (struct tree){.parent = -1};
    return true;
}

/* ---- calls along the tree ---- */

static bool follows_tree(MPI_Comm comm, int root) {
    return tree.open && comm == MPI_COMM_WORLD && root == 0;
}

static size_t size_of(int count, MPI_Datatype type) {
    int bytes = 0;
    MPI_CHECK(MPI_Type_size(type, &bytes));
    return (size_t)count * (size_t)bytes;
}

static void pass_down(void *buffer, size_t bytes) {
    if (tree.parent >= 0)
        receive_from(buffer, bytes, tree.parent);
    for (int i = 0; i < tree.child_count; i++)
        send_to(buffer, bytes, tree.children[i].rank);
}

/* The result is on rank 0; the others' buffers hold what their subtrees came to. */
static void reduce_up(void *values, int count, MPI_Datatype type, MPI_Op operation) {
    size_t bytes = size_of(count, type);
    void *theirs = check_alloc(bytes, 1);
    for (int i = 0; i < tree.child_count; i++) {
        receive_from(theirs, bytes, tree.children[i].rank);
        MPI_CHECK(MPI_Reduce_local(theirs, values, count, type, operation));
    }
    if (tree.parent >= 0)
        send_to(values, bytes, tree.parent);
    free(theirs);
}

/* Copies between a block with the items of all members of this rank's subtree, and a block with those of one
 * child's subtree. The child's members have the same order in both, the order in which they joined. */
static void copy_child(char *all, char *of_child, int child, size_t bytes, bool into_all) {
    for (int i = 0; i < tree.member_count; i++)
        if (tree.members[i].child == child) {
            char *here = all + (size_t)i * bytes;
            memcpy(into_all ? here : of_child, into_all ? of_child : here, bytes);
            of_child += bytes;
        }
}

/* A block of a subtree: the members' items; the head's own goes first when it is passed on. */
static void gather_up(const void *mine, size_t bytes, char *members) {
    for (int i = 0; i < tree.child_count; i++) {
        size_t block = bytes * (size_t)tree.children[i].members;
        char *theirs = check_alloc(block, 1);
        receive_from(theirs, block, tree.children[i].rank);
        copy_child(members, theirs, i, bytes, true);
        free(theirs);
    }
    if (tree.parent < 0)
        return;
    size_t block = bytes * (size_t)(tree.member_count + 1);
    char *subtree = check_alloc(block, 1);
    memcpy(subtree, mine, bytes);
    memcpy(subtree + bytes, members, block - bytes);
    send_to(subtree, block, tree.parent);
    free(subtree);
}

static bool leads_to(int rank) {
    for (int i = 0; i < tree.member_count; i++)
        if (tree.members[i].rank == rank)
            return true;
    return false;
}

static char *room_for_members(size_t bytes) {
    return check_alloc((size_t)tree.member_count, bytes);
}

/* ---- MPI's names ---- */

/* To rank 0 along the way from the root, then down to all. */
int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    if (!tree.open || comm != MPI_COMM_WORLD)
        return PMPI_Bcast(buffer, count, type, root, comm);
    size_t bytes = size_of(count, type);
    for (int i = 0; i < tree.member_count; i++)
        if (tree.members[i].rank == root)
            receive_from(buffer, bytes, tree.children[tree.members[i].child].rank);
    if (tree.parent >= 0 && (root == check_rank() || leads_to(root)))
        send_to(buffer, bytes, tree.parent);
    pass_down(buffer, bytes);
    return MPI_SUCCESS;
}

int MPI_Reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op operation, int root,
               MPI_Comm comm) {
    if (!follows_tree(comm, root))
        return PMPI_Reduce(sent, received, count, type, operation, root, comm);
    size_t bytes = size_of(count, type);
    void *values = check_alloc(bytes, 1);
    memcpy(values, sent, bytes);
    reduce_up(values, count, type, operation);
    if (check_rank() == 0)
        memcpy(received, values, bytes);
    free(values);
    return MPI_SUCCESS;
}

int MPI_Allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op operation,
                  MPI_Comm comm) {
    if (!follows_tree(comm, 0))
        return PMPI_Allreduce(sent, received, count, type, operation, comm);
    memcpy(received, sent, size_of(count, type));
    reduce_up(received, count, type, operation);
    pass_down(received, size_of(count, type));
    return MPI_SUCCESS;
}

int MPI_Gather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int received_count,
               MPI_Datatype received_type, int root, MPI_Comm comm) {
    if (!follows_tree(comm, root))
        return PMPI_Gather(sent, sent_count, sent_type, received, received_count, received_type, root, comm);
    size_t bytes = size_of(sent_count, sent_type);
    char *members = room_for_members(bytes);
    gather_up(sent, bytes, members);
    if (check_rank() == 0) {
        memcpy(received, sent, bytes);
        for (int i = 0; i < tree.member_count; i++)
            memcpy((char *)received + (size_t)tree.members[i].rank * bytes, members + (size_t)i * bytes,
                   bytes);
    }
    free(members);
    return MPI_SUCCESS;
}

/* Implemented as a gather of the longest part; each part is preceded by its length. */
int MPI_Gatherv(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, const int *counts,
                const int *offsets, MPI_Datatype received_type, int root, MPI_Comm comm) {
    if (!follows_tree(comm, root))
        return PMPI_Gatherv(sent, sent_count, sent_type, received, counts, offsets, received_type, root,
                            comm);
    size_t unit = size_of(1, sent_type);
    int most = 0;
    MPI_CHECK(MPI_Allreduce(&sent_count, &most, 1, MPI_INT, MPI_MAX, comm));
    size_t bytes = unit * (size_t)most;
    char *mine = check_alloc(1, bytes + 1);
    char *all = check_rank() == 0 ? check_alloc((size_t)check_ranks(), bytes + 1) : NULL;
    if (sent_count > 0) /* a rank without a part may pass no address */
        memcpy(mine, sent, unit * (size_t)sent_count);
    MPI_CHECK(MPI_Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, comm));
    for (int rank = 0; all && rank < check_ranks(); rank++)
        if (counts[rank] > 0)
            memcpy((char *)received + unit * (size_t)offsets[rank], all + (size_t)rank * bytes,
                   unit * (size_t)counts[rank]);
    free(mine);
    free(all);
    return MPI_SUCCESS;
}

int MPI_Scatter(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int received_count,
                MPI_Datatype received_type, int root, MPI_Comm comm) {
    if (!follows_tree(comm, root))
        return PMPI_Scatter(sent, sent_count, sent_type, received, received_count, received_type, root, comm);
    size_t bytes = size_of(received_count, received_type);
    char *members = room_for_members(bytes);
    if (check_rank() == 0) {
        memcpy(received, sent, bytes);
        for (int i = 0; i < tree.member_count; i++)
            memcpy(members + (size_t)i * bytes, (const char *)sent + (size_t)tree.members[i].rank * bytes,
                   bytes);
    }
    if (tree.parent >= 0) {
        size_t block = bytes * (size_t)(tree.member_count + 1);
        char *subtree = check_alloc(block, 1);
        receive_from(subtree, block, tree.parent);
        memcpy(received, subtree, bytes);
        memcpy(members, subtree + bytes, block - bytes);
        free(subtree);
    }
    for (int i = 0; i < tree.child_count; i++) {
        size_t block = bytes * (size_t)tree.children[i].members;
        char *theirs = check_alloc(block, 1);
        copy_child(members, theirs, i, bytes, false);
        send_to(theirs, block, tree.children[i].rank);
        free(theirs);
    }
    free(members);
    return MPI_SUCCESS;
}
#else
void relay_open(const char *program, double limit_s) {
    (void)program;
    (void)limit_s;
}

bool relay_close(double limit_s) {
    (void)limit_s;
    return true;
}
#endif
