/* Reads TCP_INFO of this process's connections; see sockets.h. */
#include "lib/measure/sockets.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static bool same_address(const struct sockaddr *left, const struct sockaddr *right) {
    if (left == NULL || left->sa_family != right->sa_family)
        return false;
    if (left->sa_family == AF_INET)
        return memcmp(&((const struct sockaddr_in *)(const void *)left)->sin_addr,
                      &((const struct sockaddr_in *)(const void *)right)->sin_addr,
                      sizeof(struct in_addr)) == 0;
    return memcmp(&((const struct sockaddr_in6 *)(const void *)left)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)right)->sin6_addr,
                  sizeof(struct in6_addr)) == 0;
}

/* Returns this node's interface that has an address; NULL if none has. */
static const struct ifaddrs *owner_of(const struct ifaddrs *interfaces,
                                      const struct sockaddr_storage *address) {
    for (const struct ifaddrs *one = interfaces; one != NULL; one = one->ifa_next)
        if (same_address(one->ifa_addr, (const struct sockaddr *)(const void *)address))
            return one;
    return NULL;
}

/* Returns the NIC's place among those before it; a new one at their end. */
static struct sockets_nic *place_of(struct sockets_nic *nics, int *count, const char *name) {
    for (int i = 0; i < *count; i++)
        if (strcmp(nics[i].nic, name) == 0)
            return &nics[i];
    if (*count == SOCKETS_NICS)
        return NULL;
    struct sockets_nic *nic = &nics[(*count)++];
    *nic = (struct sockets_nic){0};
    (void)snprintf(nic->nic, sizeof nic->nic, "%s", name);
    return nic;
}

/* A connection whose two ends are this node's never leaves it, whatever address it has. */
static void add_socket(int descriptor, const struct ifaddrs *interfaces, struct sockets_nic *nics,
                       int *count) {
    struct sockaddr_storage own = {0};
    struct sockaddr_storage peer = {0};
    socklen_t own_bytes = sizeof own;
    socklen_t peer_bytes = sizeof peer;
    struct tcp_info info = {0};
    socklen_t info_bytes = sizeof info;
    if (getsockname(descriptor, (struct sockaddr *)(void *)&own, &own_bytes) != 0 ||
        (own.ss_family != AF_INET && own.ss_family != AF_INET6) ||
        getpeername(descriptor, (struct sockaddr *)(void *)&peer, &peer_bytes) != 0 ||
        getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &info_bytes) != 0)
        return;
    const struct ifaddrs *owner = owner_of(interfaces, &own);
    if (owner == NULL || owner_of(interfaces, &peer) != NULL)
        return;
    struct sockets_nic *nic = place_of(nics, count, owner->ifa_name);
    if (nic == NULL)
        return;
    nic->sent_bytes += info.tcpi_bytes_acked;
    nic->received_bytes += info.tcpi_bytes_received;
}

int sockets_read(struct sockets_nic nics[SOCKETS_NICS]) {
    struct ifaddrs *interfaces = NULL;
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 0;
    if (getifaddrs(&interfaces) == 0) {
        for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
            if (entry->d_name[0] != '.')
                add_socket((int)strtol(entry->d_name, NULL, 10), interfaces, nics, &count);
        freeifaddrs(interfaces);
    }
    (void)closedir(folder);
    return count;
}
