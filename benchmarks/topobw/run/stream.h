/*
 * The transfer of a link test: messages to one rank and from another, at the same time if required.
 *
 * The receiver reports that it has posted all its receives before the time starts, so that a rank that leaves
 * the barrier late does not make its link look slow. The sender's time runs from its first send to the
 * receiver's answer, which follows the last message. Each message has its own payload and receive buffer, and
 * every byte is checked afterwards. A transfer that exceeds the time limit is cancelled; its buffers must not
 * be reused.
 *
 * Leaves out: more than one partner per direction.
 */
#pragma once

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
    char *outgoing;        /* message i starts step_bytes x i after the first: one payload, many messages */
    char *incoming;        /* a slot for each message */
    MPI_Request *sends;    /* messages, then the answer to them */
    MPI_Request *receives; /* messages */
    double limit_s;        /* of one transfer: the configuration's, until the caller raises it */
    double until_s;        /* when the transfer is cancelled, by MPI_Wtime */
};

struct stream stream_open(const struct stream_config *config);
void stream_close(struct stream *stream);

/* Posts the receives of messages from that rank; -1: none. */
void stream_prepare(struct stream *stream, int from);

/* Waits until `to` is ready to receive, and reports to `from` that this rank is; -1 for none. False if `to`
 * is not ready in time. The time limit of the transfer starts here. */
bool stream_meet(struct stream *stream, int to, int from);

/* Start and end of sending, by MPI_Wtime; both 0 without sending, an infinite end if it was cancelled. */
struct stream_times {
    double start_s;
    double end_s;
};

/* Sends to `to` and receives from `from`, -1 for none. *stuck is set if either was cancelled. */
struct stream_times stream_run(struct stream *stream, int to, int from, bool *stuck);

/* A problem when what came from that rank is not what it sends. */
void stream_verify(const struct stream *stream, int from, struct problem *problem);
