/* Routes that the network chooses: which of the ways to its destination a cell takes, and the order of
 * arrivals.
 *
 * - Hashed: a label of the chunk decides at each router among the shortest ways; a cell that can go straight
 * on does. All cells of a flow take one way, so they arrive in order, and their channels are those of
 * network.h.
 * - Sprayed: each cell takes one of the shortest ways at random, router by router.
 * - Minimal-adaptive: each cell takes the shortest way whose output has the least to send: what waits for it,
 * what it is sending, and what its next buffer holds.
 * - Valiant: each cell first goes to a random part of the network (a router of a torus, a group of a
 * dragonfly), then to its end; on both ways it is minimal-adaptive (Valiant, SIAM J. Comput. 11(2), 1982).
 * - UGAL: the first router compares the minimal way with one random way of Valiant's, by queue times hops
 * (local: the queue of the first output; A. Singh, 2005), or by all queues on both ways (global: an ideal,
 * because no router knows them; J. Kim et al., ISCA'08).
 *
 * Where routers choose cell by cell, the last two virtual channels are adaptive, and all others are escape
 * channels on the usual routes. Cells in adaptive channels may wait for each other in a circle. So a cell
 * whose adaptive channel has no credit may always take the escape channel of its usual link, and then stays
 * on escape channels. Those form no circle, so no cell waits for ever (J. Duato, IEEE TPDS 4(12), 1993). The
 * description is checked for that before the start.
 *
 * Where arrivals are restored, the NIC of a destination hands over the chunks of one NIC for one address in
 * the order in which they were sent.
 *
 * Leaves out: late news of other routers' queues, and a limit of the chunks that wait for an earlier one. */
#pragma once

#include "network.h"

/* Return the link that a hashed chunk takes at the router behind `link`. */
int32_t hashed_link(const struct network *network, const struct link *link, const struct chunk *chunk);

/* Return whether routers choose for each cell. */
static inline bool is_adaptive(const struct network *network) {
    return network->choices.choose > CHOOSE_HASHED;
}

/* Return the usual link of a cell at a router: towards the part that it goes by first, or its destination. */
int32_t usual_link(const struct network *network, const struct host *host, const struct cell *cell);

/* Choose the link of a cell at the router to which link number `from` leads, and set the cell's channel. */
int32_t chosen_link(struct network *network, uint32_t from, struct cell *cell, uint64_t now_ns);

/* Find an address in every part of the network. */
void choices_prepare(struct network *network);

/* Return the router of an address's node on the rail of a NIC, by the usual route. */
uint32_t end_router(const struct network *network, const struct link *nic, uint32_t address);

/* Give a chunk that enters at NIC `index` its end, its label, and its place in the order of its flow. */
void choices_begin(struct network *network, uint32_t index, struct chunk *chunk, uint64_t now_ns);

/* Take a chunk with an order that has arrived or is lost. Return the list of chunks to hand over now, the
 * earliest first; each is due when those before it are. */
struct chunk *order_arrived(const struct network *network, struct chunk *chunk);

/* Exchange the sets of ways of two descriptions of the same hosts. */
void choices_swap(struct network *network, struct network *changed);

void choices_free(struct network *network);
