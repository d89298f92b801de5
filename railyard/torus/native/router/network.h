/* The network inside the router: links, buffers, virtual channels, credits and arbitration, in virtual time.
 *
 * Models an input-queued, lossless network with virtual cut-through. What nodes send comes in chunks (what
 * TCP hands over at once, up to 64 KiB). A chunk crosses the network in cells of at most one MTU with its
 * headers.
 *
 * - A link sends one cell at a time, at its rate. The head of a cell reaches the far end after the link's
 * latency, and the next link may start at once (cut-through), but never so early that it would run out of
 * data.
 * - A link's far end has a buffer of `buffer_bytes` for each virtual channel. A cell leaves only when its
 * whole size is free there (a credit). The space is free again after the tail of the cell has left and the
 * credit has returned.
 * - A link takes its next cell from the inputs of its router round robin, by input and virtual channel. At a
 * NIC the destinations take turns, one cell each. In a `fair` network sources take turns instead of inputs:
 * of the inputs' first cells, a link takes that whose source it served the longest ago.
 * - Channels come in pairs. A cell changes to the upper channel of a pair where it crosses the dateline of a
 * ring, and to the next pair where it turns to a lower ring (detours do). A ring is one direction of one
 * dimension. So no circle of full buffers can form: pair, ring and upper channel together only rise on a way.
 * X-Y-Z routes need one pair.
 * - Where routes are chosen, see choices.h: a router then decides when the head of a cell arrives.
 * - A cell counts the routers that it comes to. Where their number reaches the chunk's time to live, the
 * chunk goes no further: it turns round and arrives at its source, which learns where it expired.
 * - A link may be silent, damage cells or have jitter: troubles.h. */
#pragma once

#include "counters.h"
#include "events.h"
#include "troubles.h"

#include <stdbool.h>

enum { CHANNELS = 8, NO_LINK = -1, NO_RING = -1, NO_HOST = -1, NO_PART = -1, ANSWER_TIME_TO_LIVE = 64 };
/* Where routers choose, the last pair of channels is adaptive: one towards a part of the network, one to the
 * end. */
enum { ADAPTIVE_CHANNELS = 2, FIRST_ADAPTIVE = CHANNELS - ADAPTIVE_CHANNELS };

/* How routes are chosen (choices.h), and what a description calls it. The order is that of `is_adaptive`. */
#define ROUTER_RULES(RULE)                                                                                   \
    RULE(CHOOSE_FIXED, "fixed")                                                                              \
    RULE(CHOOSE_HASHED, "hashed")                                                                            \
    RULE(CHOOSE_SPRAYED, "sprayed")                                                                          \
    RULE(CHOOSE_ADAPTIVE, "minimal-adaptive")                                                                \
    RULE(CHOOSE_VALIANT, "valiant")                                                                          \
    RULE(CHOOSE_UGAL_LOCAL, "ugal-local")                                                                    \
    RULE(CHOOSE_UGAL_GLOBAL, "ugal-global")
#define ROUTER_RULE_VALUE(value, name) value,
enum choose { ROUTER_RULES(ROUTER_RULE_VALUE) CHOOSE_COUNT };

/* Links among `pool`. */
struct link_set {
    uint32_t first, count;
};

struct choices {
    enum choose choose;
    bool escapes;    /* false in tests alone: without escape channels cells can wait for ever */
    bool restored;   /* arrivals are put in order */
    uint64_t gap_ns; /* a flow that was silent for so long gets a new label; 0: never */
    uint64_t seed, random;
    uint32_t parts;
    uint32_t *part_address; /* part -> an address in it */
    uint32_t *pool;
    uint32_t pool_count;
};

/* The chunks of one NIC for one address. `waiting` are those that arrived before an earlier one. */
struct order {
    uint64_t sent, due, due_ns;
    uint64_t label, last_ns;
    uint32_t in_flight;
    struct chunk *waiting;
};

struct chunk {
    struct chunk *next;
    uint64_t entered_ns;
    uint64_t waited_ns; /* an upper bound of the time that it may have waited before it was read */
    uint64_t due_ns;
    uint32_t destination; /* an address */
    int64_t source;       /* an address, or -1 for one that the network does not know */
    int32_t expired_at;   /* the router at which its time to live expired, or NO_HOST */
    uint8_t time_to_live; /* the number of routers at which it expires */
    uint8_t routers;      /* routers passed, since it expired if it did */
    uint32_t end;         /* the router of its destination, where routes are chosen */
    uint64_t label;       /* decides among equal ways where routes are hashed */
    struct order *order;  /* of its flow where arrivals are restored, else NULL */
    uint64_t place;       /* in that order */
    uint32_t cells;
    uint32_t injected;
    uint32_t arrived;
    uint32_t lost;
    uint32_t header_bytes; /* headers of every cell: Ethernet, IP, TCP */
    uint32_t cell_payload_bytes;
    uint32_t payload_bytes;
    uint32_t last_link;                /* the link by which it arrived at its node */
    uint32_t number;                   /* number of a simulated message */
    uint64_t id;                       /* of its origin, for other parts; 0: none has heard of it (peers.h) */
    uint32_t origin, held_cells, gone; /* the part of its source; cells with data here; cells that left */
    struct chunk *parted_next;
    uint32_t length; /* bytes in `data` */
    unsigned char data[];
};

struct cell {
    struct cell *next;
    struct chunk *chunk;
    uint64_t ready_ns;
    uint32_t bytes;
    uint32_t number;   /* in its chunk */
    int32_t held_link; /* whose buffer it is in, or NO_LINK at its NIC */
    uint32_t held_queue;
    uint8_t held_channel;
    uint8_t channel; /* virtual channel on the next link */
    uint8_t routers; /* routers passed so far */
    bool last;       /* the last cell of its chunk */
    bool escaped;    /* on escape channels, for the rest of its way */
    int32_t part;    /* the part of the network that it goes by first (Valiant), or NO_PART */
};

struct fifo {
    struct cell *head;
    struct cell *tail;
};

/* Cells of one input that wait for one output, and the bytes of the input's buffer that they and their
 * forerunners hold. */
struct queue {
    struct fifo channels[CHANNELS];
    uint32_t held_bytes[CHANNELS];
};

/* The packets that a NIC has to send to one address. */
struct flow {
    struct chunk *head;
    struct chunk *tail;
    uint32_t next;
};

/* Flows with packets to send form a circular list, in which they take turns; `last` is its end. */
struct nic {
    struct flow *flows;
    uint32_t last;
    bool active;
    uint64_t pending_bytes;
    struct order *orders; /* by address, where routes are chosen, else NULL */
    uint32_t *ends;       /* address -> the router of its node on this rail, likewise */
};

struct link {
    int32_t source, target; /* hosts */
    int32_t ring;           /* 2 * dimension + 1 for minus, or NO_RING for a host link */
    bool dateline;
    bool down;
    double ns_per_byte;
    uint64_t latency_ns;
    uint64_t free_ns;
    uint64_t stalled_since_ns;
    bool stalled;
    uint32_t output, input; /* among the outputs of its source and the inputs of its target */
    uint32_t turn;          /* bit of `waiting` to try first */
    uint64_t *waiting;      /* a bit for each input and channel of its source */
    uint32_t words;
    uint32_t
        *served; /* source + 1 -> cells of all sources up to its last one; NULL where inputs take turns */
    uint32_t used_bytes[CHANNELS];
    uint64_t *refuge; /* a bit for each queue and adaptive channel of its source whose head asks for escape */
    uint32_t refuge_words;
    uint32_t refuge_count;
    struct nic *nic;         /* set if its source is a node of this part */
    uint64_t late_ns;        /* by which credits from another part were late since its last cell */
    struct trouble *trouble; /* or NULL */
};

struct host {
    char name[COUNTED_NAME_BYTES];
    char netns[256];
    uint32_t ip; /* routers only */
    bool node;
    uint32_t machine; /* the part of the torus that it is in */
    uint32_t inputs, outputs;
    uint32_t first_queue;
    int32_t *next;         /* routers only: address -> link */
    uint32_t *out;         /* output -> link, where routes are chosen */
    struct link_set *ways; /* routers only, where routes are chosen: host -> links */
    struct link_set *vias; /* likewise: part of the network -> links, none inside it */
    int32_t part;          /* its own */
};

struct address {
    uint32_t ip;
    uint32_t node;
};

struct network {
    struct host *hosts;
    uint32_t host_count;
    struct link *links;
    uint32_t link_count;
    struct address *addresses; /* sorted by ip */
    uint32_t address_count;
    struct queue *queues;
    uint32_t cell_bytes;   /* size of the largest cell */
    uint32_t buffer_bytes; /* buffer per virtual channel per link */
    uint32_t port_bytes;   /* share of that buffer per next port */
    uint64_t nic_bytes;    /* bytes that a NIC reads ahead */
    uint64_t generation;
    bool fair;
    struct choices choices;
    struct events events;     /* inside the network */
    struct events deliveries; /* whole chunks at their nodes */
    struct cell *spare;
    struct counters_header *header;
    struct link_counters *counters;
    struct peers *peers; /* NULL where one router has all of the torus */
};

/* Lay out queues, NICs and ports once hosts, links and addresses are known. `header` has room for all links.
 * Troubles begin now. */
void network_prepare(struct network *network, struct counters_header *header, uint64_t now_ns);

/* Take over rates, dead links and routes of another description of the same hosts and links, which gets the
 * old sets of ways. Cells that wait for a link that went down are lost. */
void network_change(struct network *network, struct network *changed, uint64_t now_ns);

/* Give a chunk to a NIC, which is the link that leaves its node. The network owns the chunk until it is
 * delivered. */
void network_send(struct network *network, uint32_t link, struct chunk *chunk, uint64_t now_ns);

/* Return an empty cell, and take one back. */
struct cell *new_cell(struct network *network);
void drop_cell(struct network *network, struct cell *cell);

/* Count a cell of a chunk as lost. */
void network_lost(struct network *network, struct chunk *chunk, uint64_t now_ns);

/* Do all that happens up to and including a time. */
void network_run(struct network *network, uint64_t until_ns);

/* Return whether a cell that came by `before` on `channel` turns back to a lower ring, so that it needs the
 * next pair of channels on `after`. */
bool turns_back(const struct link *before, uint8_t channel, const struct link *after);

/* Return the virtual channel on `after` of a cell that came by `before` on `channel`. */
uint8_t channel_after(const struct link *before, uint8_t channel, const struct link *after);

/* Return the index of the first address that is not below another. */
uint32_t network_first_address(const struct network *network, uint32_t ip);

/* Return the index of an address, or -1. */
int64_t network_address(const struct network *network, uint32_t ip);

void network_free(struct network *network);
