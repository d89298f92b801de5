/*
 * The stated model of collectives: what a rank sends to which others, whatever algorithm the MPI uses.
 *
 * docs/matrix.md has the algorithms and their sources. Each function passes what rank `self` of `size` sends
 * to `send`, in ranks of the communicator. Leaves out: barriers, which send no payload, and pipelined trees.
 */
#ifndef RAILYARD_CAPTURE_MODEL_H
#define RAILYARD_CAPTURE_MODEL_H

#include <stdint.h>

typedef void model_send(void *context, int to, uint64_t messages, uint64_t bytes);

struct model {
    int self;
    int size;
    model_send *send;
    void *context;
};

/* `bytes` are of the whole message. */
void model_broadcast(const struct model *model, int root, uint64_t bytes);
void model_reduce(const struct model *model, int root, uint64_t bytes);
void model_allreduce(const struct model *model, uint64_t bytes);
void model_scan(const struct model *model, uint64_t bytes);

/* `bytes` are of one rank's block. */
void model_gather(const struct model *model, int root, uint64_t bytes);
void model_scatter(const struct model *model, int root, uint64_t bytes);
void model_allgather(const struct model *model, uint64_t bytes);

#endif
