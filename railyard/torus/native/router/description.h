/* The description of a torus for the router: plain text, one thing per line, words separated by blanks.
 *
 *   railyard-router 1 GENERATION
 *   cell BYTES                      the largest cell: MTU and Ethernet header
 *   buffer BYTES PORT_BYTES         per link and virtual channel; of it, for one next port
 *   nic BYTES                       what a NIC reads ahead of what it sends
 *   node NAME NETNS                 a host with a network namespace (a path)
 *   router NAME A.B.C.D             the address from which it answers for packets that expire
 *   in HOST MACHINE                 the machine whose router has it, where there are several (peers.h)
 *   address NODE A.B.C.D
 *   link HOST PORT HOST PORT RATE_BYTE_S LATENCY_NS RING DATELINE DOWN
 *   trouble LINK AT_NS FOR_NS EVERY_NS SILENT DAMAGED JITTER_NS     at most one for each link (troubles.h)
 *   choose KIND SEED PARTS RESTORED GAP_NS ESCAPES
 *   fair                            sources take turns on a link, and not inputs
 *   route ROUTER A.B.C.D/BITS LINK
 *   way ROUTER ROUTER LINK ...      the shortest ways to another router
 *   via ROUTER PART LINK ...        the shortest ways to a part of the network; none from inside it
 *
 * Hosts (nodes and routers) and links are numbered from 0 in the order of their lines; other lines name them
 * by number; a host without `in` is on machine 0. Routes are last, with ways among them. A link that leaves a
 * node is a NIC: its port is the name of its interface. RING is 2 * dimension + 1 for minus, and -1 for host
 * links; DATELINE and DOWN are 0 or 1. The longest prefix decides, as in the kernel's routing tables.
 *
 * Without `choose` all take the routes. KIND is a name of ROUTER_RULES (network.h); RESTORED and ESCAPES are
 * 0 or 1, and ESCAPES is 0 in tests alone. Ways of one pair may be on several lines, one behind the other.
 */
#pragma once

#include "network.h"

struct link_name {
    char port[16];
    char far_port[16];
};

/* Read a description into an empty network; `names` has an entry for each link and is the caller's to free.
 * Print one line and exit where it is wrong: every router must have a way to every address. */
void description_read(const char *path, struct network *network, struct link_name **names);

/* Change the rates of links according to the file DESCRIPTION.hidden, if it exists: lines HOST PORT
 * RATE_BYTE_S, where HOST PORT is the start of a link. It is for tests of fault detection: like a shaper that
 * was changed without railyard, such a rate is not in the torus's own description. Print one line and exit if
 * the file is malformed. */
void description_hide(const char *path, struct network *network, const struct link_name *names);

/* Return the counters of a network with the names of its links: in a file at `path` that others map, or in
 * memory alone where `path` is NULL. Print one line and exit where that fails. */
struct counters_header *counters_new(const char *path, const struct network *network,
                                     const struct link_name *names);

/* Return whether two descriptions have the same hosts, links and addresses, so that one can replace the
 * other. */
bool description_alike(const struct network *one, const struct network *other);
