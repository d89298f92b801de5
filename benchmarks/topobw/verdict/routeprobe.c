/* Counts routers by a datagram's time to live; see routeprobe.h. */
#include "topobw/verdict/routeprobe.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
/* After the headers above, which it needs. */
#include <linux/errqueue.h>

enum { TIME_TO_LIVE = 64, COPIES = 3, PORT_TEXT_BYTES = 16, DATAGRAM_BYTES = 1024 };

/* A datagram that is to expire: no mark of another, its mark, its time to live. */
enum { EXPIRES = 255, TRACE_BYTES = 3 };

static int set_option(int socket, int option, int value) {
    return setsockopt(socket, IPPROTO_IP, option, &value, sizeof value);
}

/* Returns the addresses of a receiver, to be freed; NULL if there is none. */
static struct addrinfo *find_host(const char *host, int port) {
    char service[PORT_TEXT_BYTES];
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *addresses = NULL;
    (void)snprintf(service, sizeof service, "%d", port);
    return port >= 0 && getaddrinfo(host, service, &hints, &addresses) == 0 ? addresses : NULL;
}

/* Binds a socket to any port, with a host to its address alone; the port that the kernel chose, -1 on
 * failure. */
static int bind_to(int socket, const char *host) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;
    struct addrinfo *own = host ? find_host(host, 0) : NULL;
    if (own)
        memcpy(&address, own->ai_addr, sizeof address);
    if (own)
        freeaddrinfo(own);
    if ((host && !own) || bind(socket, (struct sockaddr *)&address, bytes) != 0 ||
        getsockname(socket, (struct sockaddr *)&address, &bytes) != 0)
        return -1;
    return ntohs(address.sin_port);
}

struct route_probe route_probe_open(const char *suffix) {
    struct route_probe probe = {.socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
                                .port = -1,
                                .tracer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    evidence_host(probe.host);
    if (suffix)
        (void)strncat(probe.host, suffix, sizeof probe.host - strlen(probe.host) - 1);
    if (probe.tracer >= 0)
        (void)set_option(probe.tracer, IP_RECVERR, 1);
    if (probe.tracer >= 0 && suffix)
        (void)bind_to(probe.tracer, probe.host);
    if (probe.socket < 0)
        return probe;
    if (set_option(probe.socket, IP_RECVTTL, 1) == 0 && set_option(probe.socket, IP_TTL, TIME_TO_LIVE) == 0)
        probe.port = bind_to(probe.socket, suffix ? probe.host : NULL);
    return probe;
}

void route_probe_close(struct route_probe *probe) {
    if (probe->socket >= 0)
        (void)close(probe->socket);
    if (probe->tracer >= 0)
        (void)close(probe->tracer);
    probe->socket = probe->tracer = -1;
}

void route_probe_send(const struct route_probe *probe, const char *host, int port, unsigned char mark) {
    route_probe_volley(probe, host, port, mark, 1, COPIES); /* one is enough; datagrams may be lost */
}

void route_probe_volley(const struct route_probe *probe, const char *host, int port, unsigned char mark,
                        size_t bytes, int count) {
    unsigned char datagram[DATAGRAM_BYTES] = {mark};
    struct addrinfo *addresses = probe->socket < 0 ? NULL : find_host(host, port);
    if (!addresses)
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

/* ---- the routers of a way ---- */

/* Reads one answer; false when none is there. */
static bool receive_answer(const struct route_probe *probe, unsigned char mark, int routers,
                           double *addresses) {
    union {
        char bytes[512];
        struct cmsghdr align;
    } control;
    unsigned char expired[TRACE_BYTES] = {0};
    struct iovec part = {.iov_base = expired, .iov_len = sizeof expired};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    if (recvmsg(probe->tracer, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
        return false;
    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message); cmsg; cmsg = CMSG_NXTHDR(&message, cmsg)) {
        struct {
            struct sock_extended_err error;
            struct sockaddr_in router;
        } answer;
        if (cmsg->cmsg_level != IPPROTO_IP || cmsg->cmsg_type != IP_RECVERR ||
            cmsg->cmsg_len < CMSG_LEN(sizeof answer))
            continue;
        memcpy(&answer, CMSG_DATA(cmsg), sizeof answer);
        if (answer.error.ee_origin == SO_EE_ORIGIN_ICMP && answer.router.sin_family == AF_INET &&
            expired[1] == mark && expired[2] >= 1 && expired[2] <= routers)
            addresses[expired[2] - 1] = ntohl(answer.router.sin_addr.s_addr);
    }
    return true;
}

static bool is_known(const double *addresses, int routers) {
    for (int i = 0; i < routers; i++)
        if (addresses[i] == 0)
            return false;
    return true;
}

void route_probe_trace(const struct route_probe *probe, const char *host, int port, unsigned char mark,
                       int routers, int timeout_ms, double *addresses) {
    struct addrinfo *receiver = probe->tracer < 0 ? NULL : find_host(host, port);
    struct pollfd waiting = {.fd = probe->tracer};
    if (!receiver)
        return;
    for (int live = 1; live <= routers; live++) {
        unsigned char datagram[TRACE_BYTES] = {EXPIRES, mark, (unsigned char)live};
        (void)set_option(probe->tracer, IP_TTL, live);
        /* An answer to an earlier one fails the call once. */
        for (int i = 0; i < 2 && sendto(probe->tracer, datagram, sizeof datagram, MSG_DONTWAIT,
                                        receiver->ai_addr, receiver->ai_addrlen) < 0;
             i++)
            continue;
    }
    freeaddrinfo(receiver);
    while (!is_known(addresses, routers) && poll(&waiting, 1, timeout_ms) > 0)
        while (receive_answer(probe, mark, routers, addresses))
            continue;
}

bool route_probe_name(double address, char *name, size_t bytes) {
    struct sockaddr_in router = {.sin_family = AF_INET, .sin_addr.s_addr = htonl((uint32_t)address)};
    if (getnameinfo((const struct sockaddr *)&router, sizeof router, name, (socklen_t)bytes, NULL, 0,
                    NI_NAMEREQD) != 0)
        return false;
    name[strcspn(name, ".")] = '\0';
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
