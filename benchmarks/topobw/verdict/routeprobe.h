/*
 * Counts the routers between two ranks with one UDP datagram, whose time to live every router decrements, and
 * asks each of them for its address, as traceroute does.
 *
 * A network that routes around a dead link may be as fast as before. The count shows a longer route; only the
 * routers themselves show one of equal length, such as by another spine. Needs no privilege. The sender finds
 * the receiver by its host name.
 *
 * Leaves out: networks that are not IP or that are one hop to IP, routers that send no ICMP message, and the
 * route of the answer.
 */
#pragma once

#include "lib/ranks/evidence.h"

#include <stdbool.h>
#include <stddef.h>

enum { ROUTE_UNKNOWN = -1 };

/* A UDP socket to receive at the port and to send, and one whose datagrams expire; -1 if there is none.
 * `host` is the name by which other ranks find them. */
struct route_probe {
    int socket;
    int port;
    int tracer;
    char host[EVIDENCE_HOST_BYTES];
};

/* `suffix` is NULL, or what the name of one of this host's NICs adds to the host's own: datagrams leave by
 * it. */
struct route_probe route_probe_open(const char *suffix);
void route_probe_close(struct route_probe *probe);

/* Sends a datagram with that mark to that host and port; nothing happens when the host is not known. */
void route_probe_send(const struct route_probe *probe, const char *host, int port, unsigned char mark);

/* Sends a datagram to each router of a way with that many, where it expires. Waits for the answers and writes
 * the routers' addresses in the order of the way; those of which none came in time stay as they are. */
void route_probe_trace(const struct route_probe *probe, const char *host, int port, unsigned char mark,
                       int routers, int timeout_ms, double *addresses);

/* Writes the name of a router's address without its domain; false if the address has no name. */
bool route_probe_name(double address, char *name, size_t bytes);

/* Sends `count` datagrams of `bytes` bytes, 1024 at most. */
void route_probe_volley(const struct route_probe *probe, const char *host, int port, unsigned char mark,
                        size_t bytes, int count);

/* Counts the datagrams of each mark until all expected have arrived or none arrives for the given time. */
void route_probe_count(const struct route_probe *probe, int *counts, int marks, int expected, int timeout_ms);

/* The routers that a datagram with that mark crossed, others are dropped; ROUTE_UNKNOWN when none came in
 * time. */
int route_probe_receive(const struct route_probe *probe, unsigned char mark, int timeout_ms);
