/*
 * How many routers stand between two ranks: one UDP datagram, whose time to live every router lowers by one.
 *
 * A network that has routed around a dead link can be as fast as before, over a longer way; the count tells.
 * Needs no privilege. The sender finds the receiver by its host name.
 *
 * Leaves out: networks that are not IP or that are one hop to IP (the count is then the same everywhere), and
 * the answer's way back.
 */
#ifndef RAILYARD_TOPOBW_VERDICT_ROUTEPROBE_H
#define RAILYARD_TOPOBW_VERDICT_ROUTEPROBE_H

#include <stddef.h>

enum { ROUTE_UNKNOWN = -1 };

/* One end for receiving: a UDP socket, -1 where there is none. */
struct route_probe {
    int socket;
    int port;
};

struct route_probe route_probe_open(void);
void route_probe_close(struct route_probe *probe);

/* Sends a datagram with that mark to that host and port; nothing happens when the host is not known. */
void route_probe_send(const struct route_probe *probe, const char *host, int port, unsigned char mark);

/* Sends so many datagrams of so many bytes, 1024 at most. */
void route_probe_volley(const struct route_probe *probe, const char *host, int port, unsigned char mark,
                        size_t bytes, int count);

/* Adds up how many datagrams with each of the marks come, until so many have or none comes for so long. */
void route_probe_count(const struct route_probe *probe, int *counts, int marks, int expected, int timeout_ms);

/* The routers that a datagram with that mark crossed, others are dropped; ROUTE_UNKNOWN when none came in
 * time. */
int route_probe_receive(const struct route_probe *probe, unsigned char mark, int timeout_ms);

#endif
