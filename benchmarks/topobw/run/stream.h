/*
 * Messages from one rank to another and from a third to this one, at the same time if need be: the transfer
 * of a link test.
 *
 * The receiver has posted all its receives and says so before the time starts: a rank that leaves the
 * barrier late must not make its link look slow. The sender's time runs from its first send to the receiver's
 * answer, which follows the last message. Each message has a payload and a receive buffer of its own, and
 * every byte of each is checked afterwards. What takes longer than
 * the time limit is given up; its buffers must not be used again.
 *
 * Leaves out: more than one partner per direction.
 */
#ifndef RAILYARD_TOPOBW_RUN_STREAM_H
#define RAILYARD_TOPOBW_RUN_STREAM_H

#include "lib/run/problem.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream_config {
    size_t message_bytes;
    int messages;
    double limit_s;
    uint64_t seed;
};

struct stream {
    const struct stream_config *config;
    char *outgoing;        /* message i begins step_bytes x i behind the first: one payload, many messages */
    char *incoming;        /* a slot for each message */
    MPI_Request *sends;    /* messages, then the answer to them */
    MPI_Request *receives; /* messages */
    double limit_s;        /* of one transfer: the configuration's, until the caller raises it */
    double until_s;        /* when the transfer is given up, by MPI_Wtime */
};

struct stream stream_open(const struct stream_config *config);
void stream_close(struct stream *stream);

/* Posts the receives of messages from that rank; -1: none. */
void stream_prepare(struct stream *stream, int from);

/* Waits until `to` is ready to receive, and tells `from` that this rank is; -1 for none. False when there was
 * no word from `to` in time. The time limit of the transfer begins here. */
bool stream_meet(struct stream *stream, int to, int from);

/* When sending began and ended, by MPI_Wtime; both 0 without sending, an infinite end when it was given up.
 */
struct stream_times {
    double start_s;
    double end_s;
};

/* Sends to `to` and receives from `from`, -1 for none. *stuck is set when either was given up. */
struct stream_times stream_run(struct stream *stream, int to, int from, bool *stuck);

/* A problem when what came from that rank is not what it sends. */
void stream_verify(const struct stream *stream, int from, struct problem *problem);

#endif
