/* Counts routers by a datagram's time to live; see routeprobe.h. */
#include "topobw/verdict/routeprobe.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TIME_TO_LIVE = 64, COPIES = 3, PORT_TEXT_BYTES = 16, DATAGRAM_BYTES = 1024 };

static int set_option(int socket, int option, int value) {
    return setsockopt(socket, IPPROTO_IP, option, &value, sizeof value);
}

/* The port that the kernel chose, -1 on failure. */
static int bind_anywhere(int socket) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;
    if (bind(socket, (struct sockaddr *)&address, bytes) != 0 ||
        getsockname(socket, (struct sockaddr *)&address, &bytes) != 0)
        return -1;
    return ntohs(address.sin_port);
}

struct route_probe route_probe_open(void) {
    struct route_probe probe = {.socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), .port = -1};
    if (probe.socket < 0)
        return probe;
    if (set_option(probe.socket, IP_RECVTTL, 1) == 0 && set_option(probe.socket, IP_TTL, TIME_TO_LIVE) == 0)
        probe.port = bind_anywhere(probe.socket);
    return probe;
}

void route_probe_close(struct route_probe *probe) {
    if (probe->socket >= 0)
        (void)close(probe->socket);
    probe->socket = -1;
}

void route_probe_send(const struct route_probe *probe, const char *host, int port, unsigned char mark) {
    route_probe_volley(probe, host, port, mark, 1, COPIES); /* one is enough; datagrams may be lost */
}

void route_probe_volley(const struct route_probe *probe, const char *host, int port, unsigned char mark,
                        size_t bytes, int count) {
    unsigned char datagram[DATAGRAM_BYTES] = {mark};
    char service[PORT_TEXT_BYTES];
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *addresses = NULL;
    (void)snprintf(service, sizeof service, "%d", port);
    if (probe->socket < 0 || port < 0 || getaddrinfo(host, service, &hints, &addresses) != 0)
        return;
    for (int i = 0; i < count; i++)
        (void)sendto(probe->socket, datagram, bytes < sizeof datagram ? bytes : sizeof datagram, MSG_DONTWAIT,
                     addresses->ai_addr, addresses->ai_addrlen);
    freeaddrinfo(addresses);
}

static int routers_crossed(struct msghdr *message) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part))
        if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_TTL) {
            int left = 0;
            memcpy(&left, CMSG_DATA(part), sizeof left);
            return TIME_TO_LIVE - left;
        }
    return ROUTE_UNKNOWN;
}

/* False when nothing is there. */
static bool receive_one(int socket, unsigned char *mark, int *routers) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {.iov_base = mark, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    if (recvmsg(socket, &message, MSG_DONTWAIT) != 1)
        return false;
    *routers = routers_crossed(&message);
    return true;
}

/* Copies of an earlier datagram may still arrive. */
int route_probe_receive(const struct route_probe *probe, unsigned char mark, int timeout_ms) {
    struct pollfd waiting = {.fd = probe->socket, .events = POLLIN};
    while (probe->socket >= 0 && poll(&waiting, 1, timeout_ms) > 0) {
        unsigned char received = 0;
        int routers = ROUTE_UNKNOWN;
        if (receive_one(probe->socket, &received, &routers) && received == mark)
            return routers;
    }
    return ROUTE_UNKNOWN;
}

void route_probe_count(const struct route_probe *probe, int *counts, int marks, int expected,
                       int timeout_ms) {
    struct pollfd waiting = {.fd = probe->socket, .events = POLLIN};
    while (probe->socket >= 0 && expected > 0 && poll(&waiting, 1, timeout_ms) > 0) {
        unsigned char received = 0;
        int routers = ROUTE_UNKNOWN;
        if (receive_one(probe->socket, &received, &routers) && received < marks) {
            counts[received]++;
            expected--;
        }
    }
}
