/* Binomial trees, recursive doubling and rings; see model.h. */
#include "capture/model.h"

/* Below: recursive doubling; from here on: a ring. The limits of Open MPI's own decision (coll/tuned), bytes.
 */
enum { RING_ALLREDUCE_BYTES = 10000, RING_ALLGATHER_BYTES = 81920 };

static int from_root(const struct model *model, int root) {
    return (model->self - root + model->size) % model->size;
}

static void send_to(const struct model *model, int root, int place, uint64_t bytes) {
    model->send(model->context, (place + root) % model->size, 1, bytes);
}

/* The lowest bit of a place in a binomial tree; of the root a bit above all places. */
static int lowest_bit(const struct model *model, int place) {
    int bit = 1;
    while (place ? !(place & bit) : bit < model->size)
        bit *= 2;
    return bit;
}

/* The places at and below a place. */
static uint64_t subtree(const struct model *model, int place) {
    int bit = lowest_bit(model, place);
    return (uint64_t)(bit < model->size - place ? bit : model->size - place);
}

/* Sends each child `bytes`, or so many for each place below it. */
static void send_down(const struct model *model, int root, uint64_t bytes, int blocks) {
    int own = from_root(model, root);
    for (int bit = lowest_bit(model, own) / 2; bit > 0; bit /= 2)
        if (own + bit < model->size)
            send_to(model, root, own + bit, blocks ? bytes * subtree(model, own + bit) : bytes);
}

static void send_up(const struct model *model, int root, uint64_t bytes, int blocks) {
    int own = from_root(model, root);
    if (own > 0)
        send_to(model, root, own - lowest_bit(model, own), blocks ? bytes * subtree(model, own) : bytes);
}

void model_broadcast(const struct model *model, int root, uint64_t bytes) {
    send_down(model, root, bytes, 0);
}

void model_reduce(const struct model *model, int root, uint64_t bytes) {
    send_up(model, root, bytes, 0);
}

void model_gather(const struct model *model, int root, uint64_t bytes) {
    send_up(model, root, bytes, 1);
}

void model_scatter(const struct model *model, int root, uint64_t bytes) {
    send_down(model, root, bytes, 1);
}

/* Pairs first fold the ranks above a power of two into it, and get the result at the end. */
static void doubling(const struct model *model, uint64_t bytes) {
    int power = 1;
    while (2 * power <= model->size)
        power *= 2;
    int rest = model->size - power;
    if (model->self < 2 * rest && model->self % 2 == 0) {
        model->send(model->context, model->self + 1, 1, bytes);
        return;
    }
    int own = model->self < 2 * rest ? model->self / 2 : model->self - rest;
    for (int bit = 1; bit < power; bit *= 2) {
        int other = own ^ bit;
        model->send(model->context, other < rest ? 2 * other + 1 : other + rest, 1, bytes);
    }
    if (model->self < 2 * rest)
        model->send(model->context, model->self - 1, 1, bytes);
}

void model_allreduce(const struct model *model, uint64_t bytes) {
    uint64_t others = (uint64_t)model->size - 1;
    if (bytes < RING_ALLREDUCE_BYTES)
        doubling(model, bytes);
    else if (others > 0)
        model->send(model->context, (model->self + 1) % model->size, 2 * others,
                    2 * bytes * others / (uint64_t)model->size);
}

void model_allgather(const struct model *model, uint64_t bytes) {
    int size = model->size;
    if (bytes * (uint64_t)size >= RING_ALLGATHER_BYTES && size > 1) {
        uint64_t others = (uint64_t)size - 1;
        model->send(model->context, (model->self + 1) % size, others, others * bytes);
        return;
    }
    for (int step = 1; step < size; step *= 2) {
        int blocks = step < size - step ? step : size - step;
        model->send(model->context, (model->self - step + size) % size, 1, (uint64_t)blocks * bytes);
    }
}

void model_scan(const struct model *model, uint64_t bytes) {
    for (int step = 1; model->self + step < model->size; step *= 2)
        model->send(model->context, model->self + step, 1, bytes);
}
