/*
 * Counts the routers between two ranks with one UDP datagram, whose time to live every router decrements.
 *
 * A network that routes around a dead link may be as fast as before over a longer route; only the count shows
 * it. Needs no privilege. The sender finds the receiver by its host name.
 *
 * Leaves out: networks that are not IP or that are one hop to IP (the count is then the same everywhere), and
 * the route of the answer.
 */
#ifndef RAILYARD_TOPOBW_VERDICT_ROUTEPROBE_H
#define RAILYARD_TOPOBW_VERDICT_ROUTEPROBE_H

#include <stddef.h>

enum { ROUTE_UNKNOWN = -1 };

/* The receiving end: a UDP socket, -1 if there is none. */
struct route_probe {
    int socket;
    int port;
};

struct route_probe route_probe_open(void);
void route_probe_close(struct route_probe *probe);

/* Sends a datagram with that mark to that host and port; nothing happens when the host is not known. */
void route_probe_send(const struct route_probe *probe, const char *host, int port, unsigned char mark);

/* Sends `count` datagrams of `bytes` bytes, 1024 at most. */
void route_probe_volley(const struct route_probe *probe, const char *host, int port, unsigned char mark,
                        size_t bytes, int count);

/* Counts the datagrams of each mark until the expected number has arrived or none arrives for the given time.
 */
void route_probe_count(const struct route_probe *probe, int *counts, int marks, int expected, int timeout_ms);

/* The routers that a datagram with that mark crossed, others are dropped; ROUTE_UNKNOWN when none came in
 * time. */
int route_probe_receive(const struct route_probe *probe, unsigned char mark, int timeout_ms);

#endif
