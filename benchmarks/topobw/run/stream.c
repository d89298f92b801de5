/* One transfer of a link test; see stream.h. */
#include "topobw/run/stream.h"

#include "lib/measure/idle.h"
#include "lib/measure/payload.h"
#include "lib/run/check.h"
#include "topobw/run/deadline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_DATA = 21, TAG_ANSWER = 22, TAG_READY = 23, WORDS_APART = 8 };

static uint64_t key_of(const struct stream_config *config, int rank) {
    return payload_key(config->seed, 0, (uint64_t)rank, 0);
}

/* Bytes from the begin of one message to that of the next, in what is sent. */
static const size_t step_bytes = WORDS_APART * sizeof(uint64_t);

static size_t outgoing_bytes(const struct stream_config *config) {
    return config->message_bytes + step_bytes * (size_t)config->messages;
}

struct stream stream_open(const struct stream_config *config) {
    struct stream stream = {.config = config, .limit_s = config->limit_s};
    stream.outgoing = check_alloc_pages(outgoing_bytes(config));
    stream.incoming = check_alloc_pages(config->message_bytes * (size_t)config->messages);
    stream.sends = check_alloc((size_t)config->messages + 1, sizeof *stream.sends);
    stream.receives = check_alloc((size_t)config->messages, sizeof *stream.receives);
    payload_fill(stream.outgoing, outgoing_bytes(config), key_of(config, check_rank()));
    return stream;
}

void stream_close(struct stream *stream) {
    free(stream->outgoing);
    free(stream->incoming);
    free(stream->sends);
    free(stream->receives);
}

void stream_prepare(struct stream *stream, int from) {
    const struct stream_config *config = stream->config;
    if (from < 0)
        return;
    memset(stream->incoming, 0, config->message_bytes * (size_t)config->messages);
    for (int i = 0; i < config->messages; i++)
        MPI_CHECK(MPI_Irecv(stream->incoming + (size_t)i * config->message_bytes, (int)config->message_bytes,
                            MPI_CHAR, from, TAG_DATA, MPI_COMM_WORLD, &stream->receives[i]));
}

bool stream_meet(struct stream *stream, int to, int from) {
    MPI_Request ready[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (to >= 0)
        MPI_CHECK(MPI_Irecv(NULL, 0, MPI_CHAR, to, TAG_READY, MPI_COMM_WORLD, &ready[0]));
    if (from >= 0)
        MPI_CHECK(MPI_Isend(NULL, 0, MPI_CHAR, from, TAG_READY, MPI_COMM_WORLD, &ready[1]));
    stream->until_s = MPI_Wtime() + stream->limit_s;
    return deadline_wait(ready, 2, stream->until_s);
}

/* The progress of this rank's sending and receiving. */
struct progress {
    int sent;
    int received;
    MPI_Request answer;
    double sent_s; /* time at which the receiver's answer arrived */
};

struct stream_times stream_run(struct stream *stream, int to, int from, bool *stuck) {
    struct progress progress = {.sent = to < 0, .received = from < 0, .answer = MPI_REQUEST_NULL};
    double start_s = MPI_Wtime();
    progress.sent_s = start_s;
    if (to >= 0) {
        const struct stream_config *config = stream->config;
        for (int i = 0; i < config->messages; i++)
            MPI_CHECK(MPI_Isend(stream->outgoing + (size_t)i * step_bytes, (int)config->message_bytes,
                                MPI_CHAR, to, TAG_DATA, MPI_COMM_WORLD, &stream->sends[i]));
        MPI_CHECK(
            MPI_Irecv(NULL, 0, MPI_CHAR, to, TAG_ANSWER, MPI_COMM_WORLD, &stream->sends[config->messages]));
    }
    idle_only_waits(true);
    while (!(progress.sent && progress.received) && MPI_Wtime() < stream->until_s) {
        if (!progress.sent) {
            MPI_CHECK(MPI_Testall(stream->config->messages + 1, stream->sends, &progress.sent,
                                  MPI_STATUSES_IGNORE));
            if (progress.sent)
                progress.sent_s = MPI_Wtime();
        }
        if (!progress.received) {
            MPI_CHECK(MPI_Testall(stream->config->messages, stream->receives, &progress.received,
                                  MPI_STATUSES_IGNORE));
            if (progress.received)
                MPI_CHECK(MPI_Isend(NULL, 0, MPI_CHAR, from, TAG_ANSWER, MPI_COMM_WORLD, &progress.answer));
        }
    }
    idle_only_waits(false);
    if (!progress.sent || !progress.received || !deadline_wait(&progress.answer, 1, stream->until_s))
        *stuck = true;
    if (to < 0)
        return (struct stream_times){0};
    return (struct stream_times){start_s, progress.sent ? progress.sent_s : INFINITY};
}

void stream_verify(const struct stream *stream, int from, struct problem *problem) {
    if (from < 0)
        return;
    payload_test_fault(stream->incoming, stream->config->message_bytes, check_rank());
    for (int i = 0; i < stream->config->messages; i++) {
        /* Messages of one sender arrive in the order in which they were sent: message i is in slot i. */
        const struct stream_config *config = stream->config;
        size_t bytes = config->message_bytes;
        const char *slot = stream->incoming + (size_t)i * bytes;
        uint64_t key = payload_key_from(key_of(config, from), WORDS_APART * (uint64_t)i);
        size_t wrong = payload_first_difference(slot, bytes, key);
        if (wrong < bytes) {
            problem_set(problem,
                        "data are wrong, no rate is printed: rank %d, message %d of %d, of %zu bytes from "
                        "rank %d, byte %zu",
                        check_rank(), i + 1, config->messages, bytes, from, wrong);
            return;
        }
    }
}
