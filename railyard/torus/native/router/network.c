/* Implements the network inside the router. */
#include "network.h"
#include "../common.h"
#include "choices.h"
#include "peers.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

/* Lay-out. */

/* Lay out what chosen routes need in addition. */
static void prepare_choices(struct network *network) {
    for (uint32_t i = 0; i < network->host_count; i++)
        network->hosts[i].out = zeroed(network->hosts[i].outputs, sizeof(uint32_t));
    for (uint32_t i = 0; i < network->link_count; i++) {
        struct link *link = &network->links[i];
        const struct host *source = &network->hosts[link->source];
        source->out[link->output] = i;
        link->refuge_words =
            (source->inputs * source->outputs * ADAPTIVE_CHANNELS + WORD_BITS - 1) / WORD_BITS;
        link->refuge = zeroed(link->refuge_words, sizeof *link->refuge);
        if (link->nic != NULL) {
            link->nic->orders = zeroed(network->address_count, sizeof *link->nic->orders);
            link->nic->ends = zeroed(network->address_count, sizeof *link->nic->ends);
            for (uint32_t k = 0; k < network->address_count; k++)
                link->nic->ends[k] = end_router(network, link, k);
        }
    }
}

static void name_counters(struct network *network) {
    for (uint32_t i = 0; i < network->link_count; i++) {
        const struct link *link = &network->links[i];
        network->counters[i].rate_byte_s = link->down ? 0 : (uint64_t)(1e9 / link->ns_per_byte + 0.5);
    }
}

void network_prepare(struct network *network, struct counters_header *header, uint64_t now_ns) {
    uint32_t queues = 0;
    for (uint32_t i = 0; i < network->link_count; i++) {
        struct link *link = &network->links[i];
        link->output = network->hosts[link->source].outputs++;
        link->input = network->hosts[link->target].inputs++;
    }
    for (uint32_t i = 0; i < network->host_count; i++) {
        network->hosts[i].first_queue = queues;
        queues += network->hosts[i].inputs * network->hosts[i].outputs;
    }
    network->queues = zeroed(queues, sizeof *network->queues);
    for (uint32_t i = 0; i < network->link_count; i++) {
        struct link *link = &network->links[i];
        const struct host *source = &network->hosts[link->source];
        link->words = (source->inputs * CHANNELS + WORD_BITS - 1) / WORD_BITS;
        link->waiting = zeroed(link->words, sizeof *link->waiting);
        if (source->node && is_own(network, link->source)) {
            struct nic *nic = zeroed(1, sizeof *nic);
            nic->flows = zeroed(network->address_count, sizeof *nic->flows);
            link->nic = nic;
        } else if (network->fair && !source->node) {
            link->served = zeroed(network->address_count + 1, sizeof *link->served);
        }
        if (link->trouble != NULL)
            link->trouble->begun_ns = now_ns;
    }
    if (network->choices.choose != CHOOSE_FIXED)
        prepare_choices(network);
    network->header = header;
    network->counters = (struct link_counters *)(header + 1);
    name_counters(network);
}

uint32_t network_first_address(const struct network *network, uint32_t ip) {
    uint32_t low = 0, high = network->address_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (network->addresses[middle].ip < ip)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t network_address(const struct network *network, uint32_t ip) {
    uint32_t first = network_first_address(network, ip);
    return first < network->address_count && network->addresses[first].ip == ip ? (int64_t)first : -1;
}

/* Cells. */

struct cell *new_cell(struct network *network) {
    struct cell *cell = network->spare;
    if (cell == NULL)
        return zeroed(1, sizeof *cell);
    network->spare = cell->next;
    *cell = (struct cell){0};
    return cell;
}

void drop_cell(struct network *network, struct cell *cell) {
    cell->next = network->spare;
    network->spare = cell;
}

static uint32_t bytes_of_cell(const struct chunk *chunk, uint32_t number) {
    uint32_t sent = number * chunk->cell_payload_bytes, left = chunk->payload_bytes - sent;
    return chunk->header_bytes + (left < chunk->cell_payload_bytes ? left : chunk->cell_payload_bytes);
}

bool turns_back(const struct link *before, uint8_t channel, const struct link *after) {
    return before->ring > after->ring || (before->ring == after->ring && channel % 2 && after->dateline);
}

uint8_t channel_after(const struct link *before, uint8_t channel, const struct link *after) {
    if (after->ring == NO_RING)
        return 0;
    uint8_t pair = channel / 2, upper = channel % 2;
    bool back = turns_back(before, channel, after);
    if (back && pair + 1 < CHANNELS / 2)
        pair++;
    bool stays = before->ring == after->ring && !back;
    return (uint8_t)(2 * pair + (after->dateline || (stays && upper)));
}

static uint32_t queue_behind(const struct network *network, const struct link *link, int32_t next) {
    const struct host *host = &network->hosts[link->target];
    return host->first_queue + link->input * host->outputs + network->links[next].output;
}

static void hand_over(struct network *network, struct chunk *chunk) {
    if (chunk->lost) {
        uint64_t *count = chunk->expired_at == NO_HOST ? &network->header->chunks_lost
                                                       : &network->header->chunks_unroutable;
        ++*count;
        network->header->in_flight--;
        free(chunk);
        return;
    }
    events_add(&network->deliveries,
               (struct event){.at_ns = chunk->due_ns, .kind = EVENT_DELIVERY, .subject = chunk});
}

/* All cells of a chunk have arrived or are lost. */
static void end_chunk(struct network *network, struct chunk *chunk, uint64_t at_ns) {
    chunk->due_ns = at_ns;
    if (chunk->id != 0)
        peers_forget(network, chunk);
    if (chunk->order == NULL) {
        hand_over(network, chunk);
        return;
    }
    for (chunk = order_arrived(network, chunk); chunk != NULL;) {
        struct chunk *next = chunk->next;
        hand_over(network, chunk);
        chunk = next;
    }
}

/* Links. */

/* The link's next hop for a chunk at its target; NO_LINK where the target is the node or has no route. */
static int32_t next_link(const struct network *network, const struct link *link, const struct chunk *chunk) {
    const struct host *host = &network->hosts[link->target];
    if (host->node)
        return NO_LINK;
    return network->choices.choose == CHOOSE_HASHED && chunk->expired_at == NO_HOST
               ? hashed_link(network, link, chunk)
               : host->next[chunk->destination];
}

static bool has_credit(const struct network *network, const struct link *link, const struct chunk *chunk,
                       uint8_t channel, uint32_t bytes) {
    int32_t next = next_link(network, link, chunk);
    if (next == NO_LINK)
        return true;
    uint32_t held = network->queues[queue_behind(network, link, next)].held_bytes[channel];
    return link->used_bytes[channel] + bytes <= network->buffer_bytes &&
           (held == 0 || held + bytes <= network->port_bytes);
}

/* Let a link look for its next cell at a time. */
static void try_at(struct network *network, uint32_t index, uint64_t at_ns) {
    events_add(&network->events, (struct event){.at_ns = at_ns, .kind = EVENT_LINK_FREE, .link = index});
}

/* Free the buffer space that a cell occupied, after its tail leaves and the credit returns. */
static void return_credit(struct network *network, const struct cell *cell, uint64_t at_ns) {
    if (cell->held_link == NO_LINK)
        return;
    const struct link *link = &network->links[cell->held_link];
    struct event credit = {.at_ns = at_ns + link->latency_ns,
                           .kind = EVENT_CREDIT,
                           .link = (uint32_t)cell->held_link,
                           .queue = cell->held_queue,
                           .channel = cell->held_channel,
                           .bytes = cell->bytes};
    if (is_own(network, link->source))
        events_add(&network->events, credit);
    else
        peers_send_credit(network, &credit);
}

/* Return the earliest start on `next` of a cell whose head and tail arrive by `link`, so that `next` never
 * runs out of data. */
static uint64_t earliest_start(const struct network *network, const struct link *link, int32_t next,
                               uint32_t bytes, uint64_t start_ns) {
    double here = bytes * link->ns_per_byte, there = bytes * network->links[next].ns_per_byte;
    return start_ns + link->latency_ns + (here > there ? (uint64_t)(here - there) : 0);
}

static void count_sent(struct link_counters *counters, const struct cell *cell) {
    counters->tx_bytes += cell->bytes;
    counters->tx_cells++;
    counters->tx_chunks += cell->last;
    counters->wire_bytes += cell->bytes;
}

void network_lost(struct network *network, struct chunk *chunk, uint64_t now_ns) {
    chunk->lost++;
    if (chunk->arrived + chunk->lost == chunk->cells)
        end_chunk(network, chunk, now_ns);
}

static void lose(struct network *network, struct cell *cell, uint64_t now_ns) {
    struct chunk *chunk = peers_chunk_here(network, cell);
    if (chunk != NULL)
        network_lost(network, chunk, now_ns);
    drop_cell(network, cell);
}

/* Lose a cell that waits or would wait for a link that is down. */
static void lose_at(struct network *network, uint32_t index, struct cell *cell, uint64_t now_ns) {
    return_credit(network, cell, now_ns);
    network->counters[index].dropped++;
    lose(network, cell, now_ns);
}

static uint64_t with_jitter(struct network *network, uint32_t index, uint64_t now_ns, uint64_t here_ns) {
    struct trouble *trouble = network->links[index].trouble;
    if (trouble == NULL)
        return here_ns;
    uint64_t late_ns = trouble_here_ns(trouble, now_ns, here_ns);
    network->counters[index].delayed_ns += late_ns - here_ns;
    return late_ns;
}

/* Put a cell on a link that is free and has the credit for it. A damaged cell restarts after a round trip. */
static void start(struct network *network, uint32_t index, struct cell *cell, uint64_t now_ns) {
    struct link *link = &network->links[index];
    struct chunk *chunk = cell->chunk;
    uint64_t takes_ns = (uint64_t)(cell->bytes * link->ns_per_byte);
    int32_t next = next_link(network, link, chunk);
    if (link->trouble != NULL) {
        uint32_t replays = trouble_replays(link->trouble, now_ns);
        network->counters[index].replays += replays;
        now_ns += replays * (takes_ns + 2 * link->latency_ns);
    }
    link->free_ns = now_ns + takes_ns;
    try_at(network, index, link->free_ns);
    return_credit(network, cell, link->free_ns);
    count_sent(&network->counters[index], cell);
    uint64_t here_ns = link->free_ns + link->latency_ns;
    chunk->waited_ns += link->late_ns;
    link->late_ns = 0;
    if (next == NO_LINK) {
        here_ns = with_jitter(network, index, now_ns, here_ns);
        chunk = peers_chunk_here(network, cell); /* the node is in its router's part */
        chunk->last_link = index;
        chunk->routers = cell->routers;
        if (++chunk->arrived + chunk->lost == chunk->cells)
            end_chunk(network, chunk, here_ns);
        cell->chunk = NULL; /* from now on it is only counted */
    } else {
        cell->held_link = (int32_t)index;
        cell->held_channel = cell->channel;
        cell->held_queue = queue_behind(network, link, next);
        link->used_bytes[cell->channel] += cell->bytes;
        network->queues[cell->held_queue].held_bytes[cell->channel] += cell->bytes;
        if (is_adaptive(network)) { /* the next router decides */
            here_ns = now_ns + link->latency_ns;
        } else {
            cell->channel = channel_after(link, cell->held_channel, &network->links[next]);
            here_ns = earliest_start(network, link, next, cell->bytes, now_ns);
        }
        here_ns = with_jitter(network, index, now_ns, here_ns);
        if (!is_own(network, link->target)) {
            peers_send_cell(network, index, (uint32_t)next, cell, here_ns);
            return;
        }
    }
    events_add(&network->events, (struct event){.at_ns = here_ns,
                                                .kind = EVENT_CELL_HERE,
                                                .link = index,
                                                .queue = (uint32_t)next,
                                                .subject = cell});
}

/* Arbitration. */

/* Return the first set bit from `from` on, or `end`. */
static uint32_t next_bit(const uint64_t *words, uint32_t from, uint32_t end) {
    for (uint32_t word = from / WORD_BITS; word * WORD_BITS < end; word++) {
        uint64_t bits = words[word];
        if (word == from / WORD_BITS)
            bits &= ~0ULL << from % WORD_BITS;
        if (bits)
            return word * WORD_BITS + (uint32_t)__builtin_ctzll(bits);
    }
    return end;
}

static struct fifo *fifo_of(struct network *network, const struct link *link, uint32_t bit) {
    const struct host *host = &network->hosts[link->source];
    struct queue *queue = &network->queues[host->first_queue + bit / CHANNELS * host->outputs + link->output];
    return &queue->channels[bit % CHANNELS];
}

/* Ask the usual link of a cell's destination to take the cell as soon as its escape channel has room. */
static void ask_for_escape(struct network *network, uint32_t index, uint32_t bit, const struct cell *cell,
                           uint64_t now_ns) {
    const struct link *link = &network->links[index];
    const struct host *host = &network->hosts[link->source];
    uint32_t usual = (uint32_t)usual_link(network, host, cell);
    struct link *escape = &network->links[usual];
    uint32_t queue = bit / CHANNELS * host->outputs + link->output;
    uint32_t place = queue * ADAPTIVE_CHANNELS + (bit % CHANNELS - FIRST_ADAPTIVE);
    uint64_t mask = 1ULL << place % WORD_BITS;
    if (!network->choices.escapes || escape->refuge[place / WORD_BITS] & mask)
        return;
    escape->refuge[place / WORD_BITS] |= mask;
    escape->refuge_count++;
    if (usual != index && escape->free_ns <= now_ns)
        try_at(network, usual, now_ns);
}

/* Take the first cell of a queue that waits for a link, off the queue and the link's backlog. */
static struct cell *take_cell(struct network *network, uint32_t index, uint32_t bit) {
    struct link *link = &network->links[index];
    struct fifo *fifo = fifo_of(network, link, bit);
    struct cell *cell = fifo->head;
    fifo->head = cell->next;
    if (fifo->head == NULL)
        link->waiting[bit / WORD_BITS] &= ~(1ULL << bit % WORD_BITS);
    network->counters[index].backlog_bytes -= cell->bytes;
    network->counters[index].backlog_cells--;
    return cell;
}

/* Two sweeps over the waiting inputs: from the one whose turn it is to the end, then from the start up to it.
 * The first with credit sends, or the one whose source has waited for the most cells. */
static bool router_sends(struct network *network, uint32_t index, uint64_t now_ns, bool *waiting) {
    struct link *link = &network->links[index];
    uint32_t end = link->words * WORD_BITS, turn = link->turn, best = end, most = 0;
    uint32_t sent = (uint32_t)network->counters[index].tx_cells;
    for (int sweep = 0; sweep < 2 && (best == end || link->served); sweep++) {
        uint32_t from = sweep ? 0 : turn, to = sweep ? turn : end;
        for (uint32_t bit = next_bit(link->waiting, from, to); bit < to;
             bit = next_bit(link->waiting, bit + 1, to)) {
            const struct cell *cell = fifo_of(network, link, bit)->head;
            *waiting = true;
            if (!has_credit(network, link, cell->chunk, cell->channel, cell->bytes)) {
                if (cell->channel >= FIRST_ADAPTIVE && is_adaptive(network))
                    ask_for_escape(network, index, bit, cell, now_ns);
                continue;
            }
            uint32_t others = link->served ? sent - link->served[cell->chunk->source + 1] : 0;
            best = best == end || others > most ? bit : best;
            most = others > most ? others : most;
            if (link->served == NULL)
                break;
        }
    }
    if (best == end)
        return false;
    struct cell *cell = take_cell(network, index, best);
    link->turn = best + 1 < end ? best + 1 : 0;
    if (link->served)
        link->served[cell->chunk->source + 1] = sent + 1;
    network->counters[cell->held_link].input_stall_ns += now_ns - cell->ready_ns;
    start(network, index, cell, now_ns);
    return true;
}

/* Send the first of the cells that asked for this link's escape channel and have credit for it. What has left
 * its queue since is forgotten. */
static bool refuge_sends(struct network *network, uint32_t index, uint64_t now_ns) {
    struct link *link = &network->links[index];
    const struct host *host = &network->hosts[link->source];
    uint32_t end = link->refuge_words * WORD_BITS;
    for (uint32_t place = next_bit(link->refuge, 0, end); place < end;
         place = next_bit(link->refuge, place + 1, end)) {
        uint32_t queue = place / ADAPTIVE_CHANNELS, channel = FIRST_ADAPTIVE + place % ADAPTIVE_CHANNELS;
        uint32_t left = host->out[queue % host->outputs];
        struct cell *cell = network->queues[host->first_queue + queue].channels[channel].head;
        bool asks = cell != NULL && usual_link(network, host, cell) == (int32_t)index;
        if (asks && !has_credit(network, link, cell->chunk, link->dateline, cell->bytes))
            continue;
        link->refuge[place / WORD_BITS] &= ~(1ULL << place % WORD_BITS);
        link->refuge_count--;
        if (!asks)
            continue;
        take_cell(network, left, queue / host->outputs * CHANNELS + channel);
        network->counters[cell->held_link].input_stall_ns += now_ns - cell->ready_ns;
        cell->escaped = true;
        cell->channel = link->dateline;
        start(network, index, cell, now_ns);
        if (left != index) /* the next cell of that queue has its turn */
            try_at(network, left, now_ns);
        return true;
    }
    return false;
}

/* Cut the next cell off a flow's first chunk and step to the next flow. */
static struct cell *inject(struct network *network, struct nic *nic, uint32_t before) {
    struct flow *flow = &nic->flows[nic->flows[before].next];
    uint32_t own = nic->flows[before].next;
    struct chunk *chunk = flow->head;
    struct cell *cell = new_cell(network);
    cell->chunk = chunk;
    cell->number = chunk->injected;
    cell->bytes = bytes_of_cell(chunk, chunk->injected++);
    cell->held_link = NO_LINK;
    cell->part = NO_PART;
    nic->pending_bytes -= cell->bytes;
    nic->last = own;
    cell->last = chunk->injected == chunk->cells;
    if (cell->last) {
        flow->head = chunk->next;
        if (flow->head == NULL) {
            nic->flows[before].next = flow->next;
            nic->last = before;
            nic->active = before != own;
        }
    }
    return cell;
}

/* The destinations of a NIC take turns, a cell each; those without credit are passed over. */
static bool nic_sends(struct network *network, uint32_t index, uint64_t now_ns, bool *waiting) {
    struct link *link = &network->links[index];
    struct nic *nic = link->nic;
    if (!nic->active)
        return false;
    *waiting = true;
    uint32_t before = nic->last;
    do {
        uint32_t own = nic->flows[before].next;
        const struct chunk *chunk = nic->flows[own].head;
        if (has_credit(network, link, chunk, 0, bytes_of_cell(chunk, chunk->injected))) {
            struct cell *cell = inject(network, nic, before);
            network->counters[index].backlog_bytes -= cell->bytes;
            network->counters[index].backlog_cells--;
            start(network, index, cell, now_ns);
            return true;
        }
        before = own;
    } while (before != nic->last);
    return false;
}

/* Return whether a link is silent; it is then tried again when its spell ends. */
static bool stays_silent(struct network *network, uint32_t index, uint64_t now_ns) {
    struct trouble *trouble = network->links[index].trouble;
    uint64_t until_ns = trouble_silent_until_ns(trouble, now_ns);
    if (until_ns != now_ns && until_ns != trouble->next_try_ns) {
        trouble->next_try_ns = until_ns;
        network->counters[index].outages++;
        if (until_ns != NEVER) {
            network->counters[index].outage_ns += until_ns - now_ns;
            try_at(network, index, until_ns);
        }
    }
    return until_ns != now_ns;
}

/* Let a link send its next cell if it is free and any input has one with credit. */
static void arbitrate(struct network *network, uint32_t index, uint64_t now_ns) {
    struct link *link = &network->links[index];
    if (link->free_ns > now_ns || link->down)
        return;
    if (link->trouble != NULL && stays_silent(network, index, now_ns))
        return;
    bool waiting = false;
    bool sent = link->nic ? nic_sends(network, index, now_ns, &waiting)
                          : router_sends(network, index, now_ns, &waiting);
    if (!sent && link->refuge_count)
        sent = refuge_sends(network, index, now_ns);
    if (waiting && !sent) {
        if (!link->stalled) {
            link->stalled = true;
            link->stalled_since_ns = now_ns;
        }
    } else if (link->stalled) {
        link->stalled = false;
        network->counters[index].output_stall_ns += now_ns - link->stalled_since_ns;
    }
}

static void wait_for(struct network *network, uint32_t index, struct cell *cell, uint64_t now_ns) {
    struct link *link = &network->links[index];
    const struct link *before = &network->links[cell->held_link];
    uint32_t bit = before->input * CHANNELS + cell->channel;
    struct fifo *fifo = fifo_of(network, link, bit);
    cell->next = NULL;
    cell->ready_ns = now_ns;
    if (fifo->head == NULL) {
        fifo->head = cell;
        link->waiting[bit / WORD_BITS] |= 1ULL << bit % WORD_BITS;
    } else {
        fifo->tail->next = cell;
    }
    fifo->tail = cell;
    network->counters[index].backlog_bytes += cell->bytes;
    network->counters[index].backlog_cells++;
    uint64_t waited = network->counters[index].tx_cells;
    arbitrate(network, index, now_ns);
    network->counters[index].waited += network->counters[index].tx_cells == waited;
}

/* Events. */

/* Handle a chunk whose time to live has expired. Return the first link of the route back to its source, or
 * NO_LINK if no ICMP message is sent: the source is unknown, or other cells of the chunk are still on their
 * way. */
static int32_t turn_round(const struct network *network, int32_t link, struct cell *cell) {
    struct chunk *chunk = cell->chunk;
    int32_t router = network->links[link].target;
    bool again = chunk->expired_at != NO_HOST;
    chunk->expired_at = router;
    if (again || chunk->source < 0 || chunk->cells > 1 || chunk->order != NULL)
        return NO_LINK;
    chunk->destination = (uint32_t)chunk->source;
    chunk->time_to_live = ANSWER_TIME_TO_LIVE;
    cell->routers = 0;
    int32_t back = network->hosts[router].next[chunk->destination];
    cell->escaped = true;
    cell->part = NO_PART;
    if (back != NO_LINK) {
        const struct link *after = &network->links[back];
        cell->channel = is_adaptive(network)
                            ? after->dateline
                            : channel_after(&network->links[link], cell->held_channel, after);
    }
    return back;
}

static void cell_here(struct network *network, const struct event *event) {
    struct cell *cell = event->subject;
    struct link_counters *counters = &network->counters[event->link];
    counters->rx_bytes += cell->bytes;
    counters->rx_cells++;
    counters->wire_bytes -= cell->bytes;
    if (cell->chunk == NULL) {
        drop_cell(network, cell);
        return;
    }
    int32_t next = (int32_t)event->queue;
    if (++cell->routers >= cell->chunk->time_to_live)
        next = turn_round(network, (int32_t)event->link, cell);
    else if (is_adaptive(network))
        next = chosen_link(network, event->link, cell, event->at_ns);
    if (next == NO_LINK) {
        return_credit(network, cell, event->at_ns);
        lose(network, cell, event->at_ns);
        return;
    }
    if (network->links[next].down) {
        lose_at(network, (uint32_t)next, cell, event->at_ns);
        return;
    }
    uint64_t ready_ns = event->at_ns;
    if (is_adaptive(network)) {
        const struct link *link = &network->links[event->link];
        ready_ns = earliest_start(network, link, next, cell->bytes, event->at_ns) - link->latency_ns;
    }
    if (ready_ns > event->at_ns)
        events_add(&network->events, (struct event){.at_ns = ready_ns,
                                                    .kind = EVENT_CELL_READY,
                                                    .queue = (uint32_t)next,
                                                    .subject = cell});
    else
        wait_for(network, (uint32_t)next, cell, event->at_ns);
}

static void credit(struct network *network, const struct event *event) {
    network->links[event->link].used_bytes[event->channel] -= event->bytes;
    network->queues[event->queue].held_bytes[event->channel] -= event->bytes;
    arbitrate(network, event->link, event->at_ns);
}

void network_run(struct network *network, uint64_t until_ns) {
    while (events_next_ns(&network->events) <= until_ns) {
        struct event event = events_take(&network->events);
        switch (event.kind) {
        case EVENT_CELL_HERE:
            cell_here(network, &event);
            break;
        case EVENT_CELL_READY:
            /* A cell whose router chose a faster link has waited until it cannot run out of data there. */
            if (network->links[event.queue].down)
                lose_at(network, event.queue, event.subject, event.at_ns);
            else
                wait_for(network, event.queue, event.subject, event.at_ns);
            break;
        case EVENT_CREDIT:
            credit(network, &event);
            break;
        default:
            arbitrate(network, event.link, event.at_ns);
        }
    }
}

void network_send(struct network *network, uint32_t index, struct chunk *chunk, uint64_t now_ns) {
    struct nic *nic = network->links[index].nic;
    struct flow *flow = &nic->flows[chunk->destination];
    uint32_t bytes = chunk->cells * chunk->header_bytes + chunk->payload_bytes;
    chunk->next = NULL;
    chunk->entered_ns = now_ns;
    network->header->in_flight++;
    if (network->choices.choose != CHOOSE_FIXED)
        choices_begin(network, index, chunk, now_ns);
    if (flow->head != NULL) {
        flow->tail->next = chunk;
    } else {
        flow->head = chunk;
        uint32_t own = chunk->destination;
        flow->next = nic->active ? nic->flows[nic->last].next : own;
        nic->flows[nic->active ? nic->last : own].next = own;
        nic->last = own; /* it is the last in the circle: the others have their turn first */
        nic->active = true;
    }
    flow->tail = chunk;
    nic->pending_bytes += bytes;
    network->counters[index].backlog_bytes += bytes;
    network->counters[index].backlog_cells += chunk->cells;
    arbitrate(network, index, now_ns);
}

/* Changes. */

/* Lose what waits for a link that went down. */
static void empty(struct network *network, uint32_t index, uint64_t now_ns) {
    struct link *link = &network->links[index];
    uint32_t end = link->words * WORD_BITS;
    for (uint32_t bit = next_bit(link->waiting, 0, end); bit < end; bit = next_bit(link->waiting, bit, end))
        lose_at(network, index, take_cell(network, index, bit), now_ns);
}

void network_change(struct network *network, struct network *changed, uint64_t now_ns) {
    for (uint32_t i = 0; i < network->host_count; i++)
        if (network->hosts[i].next != NULL)
            memcpy(network->hosts[i].next, changed->hosts[i].next, network->address_count * sizeof(int32_t));
    choices_swap(network, changed);
    for (uint32_t i = 0; i < network->link_count; i++) {
        struct link *link = &network->links[i];
        bool went_down = changed->links[i].down && !link->down;
        link->ns_per_byte = changed->links[i].ns_per_byte;
        link->latency_ns = changed->links[i].latency_ns;
        link->down = changed->links[i].down;
        trouble_change(&link->trouble, changed->links[i].trouble, now_ns);
        if (went_down)
            empty(network, i, now_ns);
    }
    for (uint32_t i = 0; i < network->link_count; i++)
        arbitrate(network, i, now_ns);
    name_counters(network);
}

void network_free(struct network *network) {
    for (uint32_t i = 0; i < network->host_count; i++)
        free(network->hosts[i].next);
    choices_free(network);
    for (uint32_t i = 0; i < network->link_count; i++) {
        free(network->links[i].waiting);
        free(network->links[i].served);
        free(network->links[i].trouble);
        if (network->links[i].nic != NULL) {
            free(network->links[i].nic->flows);
            free(network->links[i].nic);
        }
    }
    free(network->hosts);
    free(network->links);
    free(network->addresses);
    free(network->queues);
    events_free(&network->events);
    events_free(&network->deliveries);
    *network = (struct network){0};
}
