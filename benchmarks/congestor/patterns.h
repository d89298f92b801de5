/*
 * Traffic patterns that fill a network: the messages of one round, and their verification.
 *
 * A round of a pattern is collective over the communicator of its load. Leaves out: the number of rounds, and
 * their times.
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load;

struct load_pattern {
    const char *name;
    bool is_windowed;  /* several messages are in flight at the same time */
    bool is_incast;    /* rank 0 has room for one message from every rank */
    bool is_alltoall;  /* every rank has room for one message from and one to every rank */
    bool is_one_sided; /* the received messages are a window */
    uint64_t (*round_bytes)(uint64_t ranks,
                            uint64_t message_bytes); /* payload that all ranks together send in a round */
    void (*fill)(struct load *load);                 /* what this rank sends */
    void (*round)(struct load *load);                /* collective */
    bool (*arrived)(const struct load *load);        /* returns whether this rank received the right data */
};

/* This rank's part of a pattern. */
struct load {
    const struct load_pattern *pattern;
    MPI_Comm comm;
    int rank; /* this rank's number in comm */
    int ranks;
    int to; /* permutations only: the rank that this rank sends to; `from`: that it receives from */
    int from;
    size_t bytes;  /* of one message */
    int in_flight; /* messages per window; 1 for a pattern without windows */
    uint64_t seed;
    char *outgoing;
    char *incoming;
    size_t incoming_bytes;
    MPI_Win window;        /* MPI_WIN_NULL but for one-sided patterns */
    MPI_Request *requests; /* requests of all messages in flight */
};

enum { LOAD_PATTERNS = 5 };

extern const struct load_pattern load_patterns[LOAD_PATTERNS];

/* The patterns and what each does, for --help. */
#define LOAD_PATTERN_NAMES                                                                                   \
    "incast (all ranks to the first), alltoall, broadcast (MPI_Put from the first into all), allreduce (a "  \
    "sum of doubles), permutation (random, without fixed points)"

/* Bytes of a message, and how many are in flight where the pattern has several. */
struct load_size {
    size_t bytes;
    int in_flight;
};

/* The ranks that send a pattern, and the seed of its permutation and its data. */
struct load_ranks {
    MPI_Comm comm;
    uint64_t seed;
};

/* Collective over these ranks. Memory, the permutation, and the window. */
void load_open(struct load *load, const struct load_pattern *pattern, const struct load_size *size,
               struct load_ranks among);
void load_close(struct load *load);

/* Collective. Clears the receive buffers, sends and checks one round: false if this rank's data are wrong. */
bool load_verified_round(struct load *load);
