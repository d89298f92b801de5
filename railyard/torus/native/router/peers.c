/* Implements the seam between the routers of several machines. */
#define _GNU_SOURCE
#include "peers.h"
#include "../common.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_BYTES = offsetof(struct chunk, data) };
enum { BUFFER_BYTES = 1 << 20, MOST_OUT_BYTES = 1 << 28, BUCKETS = 1 << 12 };
static const uint64_t CLOCK_NS = 20000000, SILENCE_NS = 3000000000, START_NS = 120000000000,
                      RENEW_NS = 5000000000;

enum kind { CELL, CREDIT, LOST, CLOCK, ANSWER };

/* Every message begins so; `bytes` counts all of it. */
struct head {
    uint32_t bytes;
    uint32_t kind;
    uint64_t at_ns;
};

/* A cell, then its chunk, the headers of the chunk, and the payload of the cell. */
struct cell_message {
    struct head head;
    uint32_t link, next;
    struct cell cell;
};

struct credit_message {
    struct head head;
    uint32_t link, queue, bytes, channel;
};

struct clock_message {
    struct head head;
    uint64_t asked_ns;
};

struct peers *peers_new(uint32_t count, char **arguments, uint64_t now_ns) {
    struct peers *peers = zeroed(1, sizeof *peers);
    peers->peers = zeroed(count, sizeof *peers->peers);
    peers->parted = zeroed(BUCKETS, sizeof(struct chunk *));
    peers->count = count;
    peers->own = count;
    for (uint32_t i = 0; i < count; i++) {
        char *end = NULL, *equals = strrchr(arguments[i], '=');
        long descriptor = equals == NULL || equals[1] == '\0' ? NO_PEER : strtol(equals + 1, &end, 10);
        errno = 0;
        if (equals == NULL || (end != NULL && *end != '\0') || (descriptor == NO_PEER && peers->own != count))
            fail("read the part", arguments[i]);
        *equals = '\0';
        peers->peers[i] = (struct peer){.name = arguments[i],
                                        .socket = (int)descriptor,
                                        .heard_ns = now_ns + START_NS,
                                        .in = zeroed(BUFFER_BYTES, 1)};
        if (descriptor == NO_PEER)
            peers->own = i;
    }
    if (peers->own == count)
        fail("find the own part among", "the arguments");
    return peers;
}

bool is_own(const struct network *network, int32_t host) {
    return network->peers == NULL || network->hosts[host].machine == network->peers->own;
}

static struct peer *peer_of(const struct network *network, int32_t host) {
    return &network->peers->peers[network->hosts[host].machine];
}

/* Messages out. */

static void *message(struct peer *peer, enum kind kind, size_t bytes, uint64_t at_ns) {
    if (peer->out_bytes + bytes > peer->out_capacity) {
        peer->out_capacity = 2 * (peer->out_bytes + bytes);
        peer->out = grown(peer->out, peer->out_capacity, 1);
    }
    if (peer->out_bytes > MOST_OUT_BYTES) {
        errno = ENOBUFS;
        fail("send to", peer->name);
    }
    struct head *head = (struct head *)(peer->out + peer->out_bytes);
    memset(head, 0, bytes);
    *head = (struct head){.bytes = (uint32_t)bytes, .kind = kind, .at_ns = at_ns};
    peer->out_bytes += bytes;
    return head;
}

/* Messages begin at multiples of eight bytes, as their numbers want. */
static size_t padded(size_t bytes) {
    return (bytes + 7) / 8 * 8;
}

/* Write a chunk of which another part shall have one cell, without its data. */
static void put_chunk(void *to, const struct chunk *chunk) {
    struct chunk piece = *chunk;
    piece.next = piece.parted_next = NULL;
    piece.order = NULL;
    piece.injected = piece.cells;
    piece.arrived = piece.lost = piece.gone = 0;
    piece.held_cells = 1;
    memcpy(to, &piece, CHUNK_BYTES);
}

/* Where the payload of a cell is in the data of its chunk: behind the headers, and behind other cells' where
 * the chunk has them. */
static size_t payload_at(const struct chunk *chunk, uint32_t number) {
    size_t headers = chunk->length - chunk->payload_bytes;
    return chunk->held_cells == chunk->cells ? headers + (size_t)number * chunk->cell_payload_bytes : headers;
}

static struct chunk **place_of(const struct network *network, uint32_t origin, uint64_t id) {
    struct chunk **place = &network->peers->parted[mixed(id * 64 + origin) % BUCKETS];
    while (*place != NULL && ((*place)->id != id || (*place)->origin != origin))
        place = &(*place)->parted_next;
    return place;
}

static void register_chunk(const struct network *network, struct chunk *chunk) {
    struct chunk **place = place_of(network, chunk->origin, chunk->id);
    if (*place == NULL) {
        chunk->parted_next = NULL;
        *place = chunk;
    }
}

void peers_forget(struct network *network, const struct chunk *chunk) {
    struct chunk **place = place_of(network, chunk->origin, chunk->id);
    if (*place == chunk)
        *place = chunk->parted_next;
}

static bool ends_here(const struct network *network, const struct chunk *chunk) {
    return is_own(network, (int32_t)network->addresses[chunk->destination].node);
}

/* A cell has left this part. A chunk of which none is left, and none will be counted here, ends. */
static void cell_gone(struct network *network, struct chunk *chunk) {
    bool whole = chunk->held_cells == chunk->cells;
    if (whole && ends_here(network, chunk) && chunk->cells > 1) {
        register_chunk(network, chunk); /* it comes back on its detour */
    } else if (++chunk->gone == chunk->held_cells) {
        network->header->in_flight--;
        free(chunk);
    }
}

static void name_chunk(struct network *network, struct chunk *chunk) {
    if (chunk->id == 0) {
        chunk->id = ++network->peers->next_id;
        chunk->origin = network->peers->own;
        chunk->held_cells = chunk->cells;
    }
}

void peers_send_cell(struct network *network, uint32_t index, uint32_t next, struct cell *cell,
                     uint64_t here_ns) {
    struct chunk *chunk = cell->chunk;
    struct peer *peer = peer_of(network, network->links[index].target);
    name_chunk(network, chunk);
    uint32_t headers = chunk->length - chunk->payload_bytes,
             payload = cell->chunk->payload_bytes ? cell->bytes - cell->chunk->header_bytes : 0;
    size_t bytes = padded(sizeof(struct cell_message) + CHUNK_BYTES + headers + payload);
    struct cell_message *sent = message(peer, CELL, bytes, here_ns);
    sent->link = index;
    sent->next = next;
    sent->cell = *cell;
    unsigned char *data = (unsigned char *)(sent + 1) + CHUNK_BYTES;
    put_chunk(sent + 1, chunk);
    memcpy(data, chunk->data, headers);
    memcpy(data + headers, chunk->data + payload_at(chunk, cell->number), payload);
    network->counters[index].wire_bytes -= cell->bytes;
    cell_gone(network, chunk);
    drop_cell(network, cell);
}

void peers_send_credit(struct network *network, const struct event *credit) {
    struct peer *peer = peer_of(network, network->links[credit->link].source);
    struct credit_message *sent = message(peer, CREDIT, sizeof *sent, credit->at_ns);
    sent->link = credit->link;
    sent->queue = credit->queue;
    sent->bytes = credit->bytes;
    sent->channel = credit->channel;
}

/* Chunks in pieces. */

/* Give a chunk that has one cell the room of all. */
static struct chunk *adopt(struct chunk *piece, uint32_t number) {
    size_t headers = piece->length - piece->payload_bytes;
    uint32_t sent = number * piece->cell_payload_bytes, left = piece->payload_bytes - sent;
    uint32_t payload = left < piece->cell_payload_bytes ? left : piece->cell_payload_bytes;
    struct chunk *whole = grown(piece, 1, sizeof *whole + piece->length);
    memmove(whole->data + headers + sent, whole->data + headers, payload);
    whole->held_cells = whole->cells;
    return whole;
}

/* Put one cell of a chunk to the others; return the chunk. */
static struct chunk *join(struct network *network, struct chunk *piece, uint32_t number, bool has_data) {
    struct chunk *whole = *place_of(network, piece->origin, piece->id);
    if (piece->held_cells == piece->cells)
        return piece;
    if (whole == NULL) {
        whole = has_data ? adopt(piece, number) : grown(piece, 1, sizeof *whole + piece->length);
        whole->held_cells = whole->cells;
        register_chunk(network, whole);
        return whole;
    }
    if (has_data) {
        size_t at = payload_at(whole, number), end = whole->length;
        size_t payload = at + piece->cell_payload_bytes < end ? piece->cell_payload_bytes : end - at;
        memcpy(whole->data + at, piece->data + payload_at(piece, number), payload);
    }
    whole->waited_ns = piece->waited_ns > whole->waited_ns ? piece->waited_ns : whole->waited_ns;
    network->header->in_flight--;
    free(piece);
    return whole;
}

struct chunk *peers_chunk_here(struct network *network, struct cell *cell) {
    struct chunk *chunk = cell->chunk;
    if (network->peers == NULL)
        return chunk;
    name_chunk(network, chunk);
    if (ends_here(network, chunk))
        return join(network, chunk, cell->number, true);
    struct peer *peer = peer_of(network, (int32_t)network->addresses[chunk->destination].node);
    struct head *sent = message(peer, LOST, padded(sizeof *sent + CHUNK_BYTES), 0);
    put_chunk(sent + 1, chunk);
    cell_gone(network, chunk);
    return NULL;
}

/* Messages in. */

/* Return a chunk of which one cell came, with the bytes of its data. */
static struct chunk *new_piece(struct network *network, const struct peer *peer, const void *sent,
                               size_t bytes) {
    struct chunk *chunk = grown(NULL, sizeof *chunk + bytes, 1);
    memcpy(chunk, sent, CHUNK_BYTES + bytes);
    chunk->entered_ns += (uint64_t)peer->offset_ns;
    network->header->in_flight++;
    return chunk;
}

static void cell_comes(struct network *network, const struct peer *peer, const struct cell_message *sent,
                       uint64_t now_ns) {
    struct chunk *chunk = new_piece(network, peer, sent + 1, sent->head.bytes - sizeof *sent - CHUNK_BYTES);
    uint64_t here_ns = sent->head.at_ns + (uint64_t)peer->offset_ns;
    uint64_t late_ns = now_ns > here_ns ? now_ns - here_ns : 0;
    network->counters[sent->link].wire_bytes += sent->cell.bytes;
    network->header->crossed++;
    network->header->crossed_late += late_ns > 0;
    chunk->waited_ns += late_ns + peer->error_ns;
    struct cell *cell = new_cell(network);
    *cell = sent->cell;
    cell->next = NULL;
    cell->chunk = chunk;
    events_add(&network->events, (struct event){.at_ns = late_ns ? now_ns : here_ns,
                                                .kind = EVENT_CELL_HERE,
                                                .link = sent->link,
                                                .queue = sent->next,
                                                .subject = cell});
}

static void credit_comes(struct network *network, const struct peer *peer, const struct credit_message *sent,
                         uint64_t now_ns) {
    uint64_t at_ns = sent->head.at_ns + (uint64_t)peer->offset_ns;
    if (now_ns > at_ns) {
        network->links[sent->link].late_ns += now_ns - at_ns;
        at_ns = now_ns;
    }
    events_add(&network->events, (struct event){.at_ns = at_ns,
                                                .kind = EVENT_CREDIT,
                                                .link = sent->link,
                                                .queue = sent->queue,
                                                .channel = (uint8_t)sent->channel,
                                                .bytes = sent->bytes});
}

/* The other router's clock was read between `asked_ns` and now. Of late the shortest round trip decides. */
static void clock_comes(struct network *network, struct peer *peer, const struct clock_message *sent,
                        uint64_t now_ns) {
    uint64_t trip_ns = now_ns - sent->asked_ns;
    if (peer->heard_clock && trip_ns > peer->trip_ns && now_ns - peer->measured_ns < RENEW_NS)
        return;
    peer->heard_clock = true;
    peer->trip_ns = trip_ns;
    peer->measured_ns = now_ns;
    peer->offset_ns = (int64_t)(sent->asked_ns + trip_ns / 2 - sent->head.at_ns);
    peer->error_ns = trip_ns / 2;
    uint64_t most = 0;
    for (uint32_t i = 0; i < network->peers->count; i++)
        most = network->peers->peers[i].error_ns > most ? network->peers->peers[i].error_ns : most;
    network->header->clock_error_ns = most;
}

static void take_message(struct network *network, struct peer *peer, const struct head *head,
                         uint64_t now_ns) {
    const void *whole = head;
    const struct clock_message *clock = whole;
    struct clock_message *answer;
    switch (head->kind) {
    case CELL:
        cell_comes(network, peer, whole, now_ns);
        break;
    case CREDIT:
        credit_comes(network, peer, whole, now_ns);
        break;
    case LOST: {
        struct chunk *chunk = new_piece(network, peer, head + 1, 0);
        network_lost(network, join(network, chunk, 0, false), now_ns);
        break;
    }
    case CLOCK:
        answer = message(peer, ANSWER, sizeof *answer, now_ns);
        answer->asked_ns = clock->head.at_ns;
        break;
    case ANSWER:
        clock_comes(network, peer, clock, now_ns);
        break;
    default:
        errno = 0;
        fail("understand", peer->name);
    }
}

void peers_read(struct network *network, uint32_t index, uint64_t now_ns) {
    struct peer *peer = &network->peers->peers[index];
    ssize_t length = read(peer->socket, peer->in + peer->in_bytes, BUFFER_BYTES - peer->in_bytes);
    if (length == 0)
        errno = ECONNRESET;
    if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR))
        fail("hear the router of", peer->name);
    if (length < 0)
        return;
    peer->heard_ns = now_ns;
    peer->in_bytes += (size_t)length;
    size_t at = 0;
    while (peer->in_bytes - at >= sizeof(struct head)) {
        const struct head *head = (const struct head *)(peer->in + at);
        if (head->bytes < sizeof *head || head->bytes > BUFFER_BYTES) {
            errno = 0;
            fail("understand", peer->name);
        }
        if (peer->in_bytes - at < head->bytes)
            break;
        take_message(network, peer, head, now_ns);
        at += head->bytes;
    }
    memmove(peer->in, peer->in + at, peer->in_bytes - at);
    peer->in_bytes -= at;
}

uint64_t peers_write(struct network *network, uint64_t now_ns) {
    struct peers *peers = network->peers;
    bool asks = now_ns >= peers->asked_ns + CLOCK_NS;
    peers->asked_ns = asks ? now_ns : peers->asked_ns;
    uint64_t next_ns = peers->asked_ns + CLOCK_NS;
    for (uint32_t i = 0; i < peers->count; i++) {
        struct peer *peer = &peers->peers[i];
        if (i == peers->own)
            continue;
        if (now_ns > peer->heard_ns + SILENCE_NS) {
            errno = ETIMEDOUT;
            fail("hear the router of", peer->name);
        }
        if (asks)
            message(peer, CLOCK, sizeof(struct clock_message), now_ns);
        size_t sent = 0;
        while (sent < peer->out_bytes) {
            ssize_t length = write(peer->socket, peer->out + sent, peer->out_bytes - sent);
            if (length < 0 && errno == EAGAIN)
                break;
            if (length < 0)
                fail("send to the router of", peer->name);
            sent += (size_t)length;
        }
        memmove(peer->out, peer->out + sent, peer->out_bytes - sent);
        peer->out_bytes -= sent;
        if (peer->out_bytes)
            next_ns = now_ns + 1000000;
    }
    return next_ns;
}
