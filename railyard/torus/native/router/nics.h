/* The NICs of the nodes: TAP devices that take whole TCP chunks (TSO), made in the network namespace of each
 * node. */
#pragma once

#include "description.h"

struct nics {
    int *devices;  /* link that leaves a node -> descriptor; else -1 */
    uint32_t *out; /* link that enters a node -> the link that leaves by the same NIC */
    unsigned char *buffer;
};

/* Make every NIC; afterwards the process is in the network namespace in which it was called. Print one line
 * and exit where the kernel refuses. */
void nics_open(struct nics *nics, const struct network *network, const struct link_name *names);

/* Read one chunk from a NIC, or return NULL where it has none. Packets other than IPv4 to a node of the torus
 * are thrown away and counted. */
struct chunk *nics_read(struct nics *nics, struct network *network, uint32_t link, bool *empty);

/* Deliver a chunk to its node, with its time to live lowered by the number of routers on its route. For an
 * expired chunk, send its source what a router's kernel would send: ICMP time exceeded, from the address of
 * the router where it expired. */
void nics_write(struct nics *nics, struct network *network, struct chunk *chunk);
