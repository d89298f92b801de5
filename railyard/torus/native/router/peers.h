/* The seam between the routers of a torus on several machines: each runs the hosts of its own part.
 *
 * A link belongs to the part of its source: that router counts, shapes and arbitrates it, and knows the
 * buffer at its far end. Where the far end is in another part, a cell goes there as a message with the time
 * at which its head arrives, and its credit comes back as one. A hop takes 1 ms and more on a virtual torus,
 * a wire between machines a tenth, so messages come before their time. What comes later is late, and counts
 * into the lateness of the chunk (counters.h), as does the possible error of the clocks.
 *
 * Messages travel over connections that are made and authenticated before the start
 * (railyard/torus/virtual/machines.py). They are TCP's: it has order, loss and credit, and all parts together
 * send less than their links carry, which is less than a thousandth of a wire.
 *
 * Clocks: each router asks the others for their time every CLOCK_NS. The answer with the shortest round trip
 * of late gives the offset; half of that round trip is its largest error. A router that hears nothing for
 * SILENCE_NS ends, and so do all, with the name of the machine.
 *
 * Leaves out: restored order, and choices that read other routers' queues (ugal-global). */
#pragma once

#include "network.h"

enum { NO_PEER = -1 };

/* What a router knows of another part. */
struct peer {
    const char *name;
    int socket; /* NO_PEER for the own part */
    bool heard_clock;
    int64_t offset_ns; /* add to its times */
    uint64_t error_ns, trip_ns, heard_ns, measured_ns;
    unsigned char *in, *out;
    size_t in_bytes, out_bytes, out_capacity;
};

struct peers {
    struct peer *peers;
    uint32_t count, own;
    uint64_t next_id, asked_ns;
    struct chunk **parted; /* chunks of which cells are elsewhere or still to come: a table by hash */
};

/* Return the peers that arguments NAME=SOCKET name, in the order of parts; the own one is NAME=. Print one
 * line and exit where they are wrong. `now_ns` is the time of the start. */
struct peers *peers_new(uint32_t count, char **arguments, uint64_t now_ns);

/* Return whether a host is in this router's part. */
bool is_own(const struct network *network, int32_t host);

/* Send a cell over a link into another part, where its head arrives at a time; it is no longer here. */
void peers_send_cell(struct network *network, uint32_t link, uint32_t next, struct cell *cell,
                     uint64_t here_ns);

/* Return the buffer space of a cell that came from another part. */
void peers_send_credit(struct network *network, const struct event *credit);

/* A cell has arrived at a node, or is lost. Return its chunk, which counts it, or NULL where another part
 * does. */
struct chunk *peers_chunk_here(struct network *network, struct cell *cell);

/* All cells of a chunk are counted. */
void peers_forget(struct network *network, const struct chunk *chunk);

/* Read what a peer sent, at a time. Exit with the name of one that has ended. */
void peers_read(struct network *network, uint32_t peer, uint64_t now_ns);

/* Write what waits; ask for clocks where that is due; exit where a peer is silent. Return the time of the
 * next call at the latest. */
uint64_t peers_write(struct network *network, uint64_t now_ns);
