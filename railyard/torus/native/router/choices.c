/* Implements routes that the network chooses. */
#include "choices.h"
#include "../common.h"

#include <math.h>
#include <stdlib.h>

/* A packet that lives no longer is likely to expire (traceroute): others of its flow do not wait for it. */
enum { LEAST_ORDERED_TIME_TO_LIVE = ANSWER_TIME_TO_LIVE };
enum { MOST_TRIES = 64 }; /* of three parts, a third is drawn so often with probability 1 - 2e-12 */

int32_t hashed_link(const struct network *network, const struct link *link, const struct chunk *chunk) {
    const struct host *host = &network->hosts[link->target];
    const struct link_set *set = &host->ways[chunk->end];
    if (set->count == 0)
        return host->next[chunk->destination]; /* it is the last router */
    const uint32_t *ways = network->choices.pool + set->first;
    for (uint32_t i = 0; link->ring != NO_RING && i < set->count; i++)
        if (network->links[ways[i]].ring == link->ring)
            return (int32_t)ways[i];
    return (int32_t)ways[mixed(chunk->label + (uint64_t)link->target) % set->count];
}

/* The bytes that an output has to send before a further cell, as a time. */
static double queue_ns(const struct network *network, uint32_t index, uint64_t now_ns) {
    const struct link *link = &network->links[index];
    uint64_t bytes = network->counters[index].backlog_bytes + link->used_bytes[FIRST_ADAPTIVE] +
                     link->used_bytes[FIRST_ADAPTIVE + 1];
    int64_t busy_ns = (int64_t)(link->free_ns - now_ns);
    return (double)(int64_t)bytes * link->ns_per_byte + (double)(busy_ns > 0 ? busy_ns : 0);
}

/* Return the way with the shortest queue, a further cell included; of equal ones, each in turn. */
static uint32_t best_of(struct network *network, const struct link_set *set, uint64_t now_ns) {
    const uint32_t *ways = network->choices.pool + set->first;
    if (set->count == 1)
        return ways[0];
    uint32_t at = random_below(&network->choices.random, set->count), best = ways[at];
    double least_ns = INFINITY;
    for (uint32_t i = 0; i < set->count; i++) {
        double ns =
            queue_ns(network, ways[at], now_ns) + network->cell_bytes * network->links[ways[at]].ns_per_byte;
        best = ns < least_ns ? ways[at] : best;
        least_ns = ns < least_ns ? ns : least_ns;
        at = at + 1 < set->count ? at + 1 : 0;
    }
    return best;
}

/* Return what UGAL compares of a way: the first queue times the hops, or the sum of all queues. All shortest
 * ways have the same number of hops. */
static double cost_ns(struct network *network, uint32_t here, int32_t part, uint32_t end, uint64_t now_ns) {
    const struct choices *choices = &network->choices;
    bool global = choices->choose == CHOOSE_UGAL_GLOBAL;
    double first_ns = 0, sum_ns = 0;
    uint32_t hops = 0;
    for (; here != end; hops++) {
        const struct host *host = &network->hosts[here];
        if (part != NO_PART && host->vias[part].count == 0)
            part = NO_PART;
        const struct link_set *set = part != NO_PART ? &host->vias[part] : &host->ways[end];
        if (set->count == 0)
            break;
        uint32_t way = global || hops == 0 ? best_of(network, set, now_ns) : choices->pool[set->first];
        if (global)
            sum_ns += queue_ns(network, way, now_ns);
        else if (hops == 0)
            first_ns = queue_ns(network, way, now_ns);
        here = (uint32_t)network->links[way].target;
    }
    return global ? sum_ns : first_ns * hops;
}

/* Return a random part of the network with neither router in it, each with the same probability, or NO_PART
 * if both are in one part. A description has at least three parts. */
static int32_t random_part(struct network *network, const struct host *here, const struct host *end) {
    for (int tries = 0; tries < MOST_TRIES && here->part != end->part; tries++) {
        uint32_t part = random_below(&network->choices.random, network->choices.parts);
        if (here->vias[part].count && end->vias[part].count)
            return (int32_t)part;
    }
    return NO_PART;
}

/* Return the part that a cell goes by first, chosen at its first router. */
static int32_t first_part(struct network *network, uint32_t here, uint32_t end, uint64_t now_ns) {
    enum choose choose = network->choices.choose;
    if (choose < CHOOSE_VALIANT)
        return NO_PART;
    int32_t part = random_part(network, &network->hosts[here], &network->hosts[end]);
    if (part == NO_PART || choose == CHOOSE_VALIANT)
        return part;
    return cost_ns(network, here, NO_PART, end, now_ns) <= cost_ns(network, here, part, end, now_ns) ? NO_PART
                                                                                                     : part;
}

int32_t usual_link(const struct network *network, const struct host *host, const struct cell *cell) {
    return host
        ->next[cell->part != NO_PART ? network->choices.part_address[cell->part] : cell->chunk->destination];
}

int32_t chosen_link(struct network *network, uint32_t from, struct cell *cell, uint64_t now_ns) {
    const struct link *before = &network->links[from];
    const struct chunk *chunk = cell->chunk;
    uint32_t here = (uint32_t)before->target;
    const struct host *host = &network->hosts[here];
    if (before->ring == NO_RING)
        cell->part = first_part(network, here, chunk->end, now_ns);
    if (cell->part != NO_PART && host->vias[cell->part].count == 0)
        cell->part = NO_PART;
    if (cell->escaped || (here == chunk->end && cell->part == NO_PART)) {
        int32_t usual = usual_link(network, host, cell);
        cell->channel =
            usual == NO_LINK ? 0 : channel_after(before, cell->held_channel, &network->links[usual]);
        return usual;
    }
    const struct link_set *set = cell->part != NO_PART ? &host->vias[cell->part] : &host->ways[chunk->end];
    if (set->count == 0)
        return NO_LINK; /* only while faults change */
    cell->channel = (uint8_t)(FIRST_ADAPTIVE + (cell->part == NO_PART));
    return (
        int32_t)(network->choices.choose == CHOOSE_SPRAYED
                     ? network->choices.pool[set->first + random_below(&network->choices.random, set->count)]
                     : best_of(network, set, now_ns));
}

void choices_prepare(struct network *network) {
    struct choices *choices = &network->choices;
    choices->part_address = zeroed(choices->parts, sizeof *choices->part_address);
    for (uint32_t i = 0; i < network->link_count; i++) {
        const struct link *link = &network->links[i];
        struct host *router = &network->hosts[link->target];
        uint32_t address = 0;
        if (!network->hosts[link->source].node || router->vias == NULL)
            continue;
        for (router->part = 0;
             router->vias[router->part].count && router->part + 1 < (int32_t)choices->parts;)
            router->part++;
        while (address < network->address_count && network->addresses[address].node != (uint32_t)link->source)
            address++;
        for (uint32_t part = 0; address < network->address_count && part < choices->parts; part++)
            if (router->vias[part].count == 0)
                choices->part_address[part] = address;
    }
}

uint32_t end_router(const struct network *network, const struct link *nic, uint32_t address) {
    const struct link *link = nic;
    while (!network->hosts[network->links[network->hosts[link->target].next[address]].target].node)
        link = &network->links[network->hosts[link->target].next[address]];
    return (uint32_t)link->target;
}

void choices_begin(struct network *network, uint32_t index, struct chunk *chunk, uint64_t now_ns) {
    struct choices *choices = &network->choices;
    struct order *order = &network->links[index].nic->orders[chunk->destination];
    chunk->end = network->links[index].nic->ends[chunk->destination];
    if (order->label == 0 ||
        (choices->gap_ns && !order->in_flight && now_ns - order->last_ns >= choices->gap_ns))
        order->label =
            mixed(mixed(choices->seed + index) + chunk->destination + (order->label ? order->sent : 0));
    chunk->label = order->label;
    order->last_ns = now_ns;
    if ((choices->restored || choices->gap_ns) && chunk->time_to_live >= LEAST_ORDERED_TIME_TO_LIVE) {
        chunk->order = order;
        chunk->place = order->sent++;
        order->in_flight++;
    }
}

struct chunk *order_arrived(const struct network *network, struct chunk *chunk) {
    struct order *order = chunk->order;
    order->in_flight--;
    chunk->next = NULL;
    if (!network->choices.restored)
        return chunk;
    struct chunk **at = &order->waiting;
    while (*at != NULL && (*at)->place < chunk->place)
        at = &(*at)->next;
    chunk->next = *at;
    *at = chunk;
    struct chunk *first = order->waiting, **end = &order->waiting;
    while (*end != NULL && (*end)->place == order->due) {
        order->due_ns = (*end)->due_ns = (*end)->due_ns > order->due_ns ? (*end)->due_ns : order->due_ns;
        order->due++;
        end = &(*end)->next;
    }
    if (end == &order->waiting)
        return NULL;
    order->waiting = *end;
    *end = NULL;
    return first;
}

void choices_swap(struct network *network, struct network *changed) {
    struct choices old = network->choices;
    network->choices.pool = changed->choices.pool;
    network->choices.pool_count = changed->choices.pool_count;
    changed->choices.pool = old.pool;
    for (uint32_t i = 0; i < network->host_count; i++) {
        struct host *host = &network->hosts[i], *other = &changed->hosts[i];
        struct link_set *ways = host->ways, *vias = host->vias;
        host->ways = other->ways;
        host->vias = other->vias;
        other->ways = ways;
        other->vias = vias;
    }
}

void choices_free(struct network *network) {
    free(network->choices.pool);
    free(network->choices.part_address);
    for (uint32_t i = 0; i < network->host_count; i++) {
        free(network->hosts[i].ways);
        free(network->hosts[i].vias);
        free(network->hosts[i].out);
    }
    for (uint32_t i = 0; i < network->link_count; i++) {
        free(network->links[i].refuge);
        if (network->links[i].nic != NULL) {
            free(network->links[i].nic->orders);
            free(network->links[i].nic->ends);
        }
    }
}
