/* Implements the NICs of the nodes. */
#define _GNU_SOURCE
#include "nics.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    CHUNK_BYTES = 1 << 17,
    ETHERNET_BYTES = 14,
    IP_BYTES = 20,
    IP_DESTINATION = 16,
    OFFLOAD_BYTES = sizeof(struct virtio_net_hdr),
    IP_AT = OFFLOAD_BYTES + ETHERNET_BYTES
};

static void enter(const char *path) {
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, CLONE_NEWNET) != 0) {
        fail("enter", path);
    }
    close(namespace);
}

static int open_device(const char *name, const char *host) {
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (device < 0) {
        fail("open", "/dev/net/tun");
    }
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(device, TUNSETIFF, &request) != 0 ||
        ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0) {
        fail("make the NIC of", host);
    }
    return device;
}

void nics_open(struct nics *nics, const struct network *network, const struct link_name *names) {
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    nics->devices = zeroed(network->link_count, sizeof *nics->devices);
    nics->out = zeroed(network->link_count, sizeof *nics->out);
    nics->buffer = zeroed(CHUNK_BYTES, 1);
    for (uint32_t i = 0; i < network->link_count; i++) {
        const struct link *link = &network->links[i];
        const struct host *source = &network->hosts[link->source];
        nics->devices[i] = -1;
        if (source->node) {
            enter(source->netns);
            nics->devices[i] = open_device(names[i].port, source->name);
        }
    }
    if (home < 0 || setns(home, CLONE_NEWNET) != 0) {
        fail("return to", "the network namespace of the start");
    }
    close(home);
    /* What comes out of a link to a node goes in at the device of the link back. */
    for (uint32_t i = 0; i < network->link_count; i++) {
        for (uint32_t k = 0; network->hosts[network->links[i].target].node && k < network->link_count; k++) {
            if (network->links[k].source == network->links[i].target &&
                network->links[k].target == network->links[i].source &&
                strcmp(names[k].port, names[i].far_port) == 0) {
                nics->out[i] = k;
            }
        }
    }
}

/* Return a chunk with its cells laid out as the segments that the kernel would have made. */
static struct chunk *new_chunk(const unsigned char *data, uint32_t length) {
    struct virtio_net_hdr offload;
    memcpy(&offload, data, sizeof offload);
    const unsigned char *ip = data + IP_AT;
    uint32_t packet = length - IP_AT, headers = packet;
    bool segmented = offload.gso_type != VIRTIO_NET_HDR_GSO_NONE && offload.gso_size > 0;
    if (segmented) {
        uint32_t ip_bytes = (ip[0] & 15U) * 4,
                 tcp_bytes = ip_bytes + 12U < packet ? (ip[ip_bytes + 12U] >> 4U) * 4U : 0;
        headers = ip_bytes + tcp_bytes < packet ? ip_bytes + tcp_bytes : packet;
    }
    struct chunk *chunk = grown(NULL, 1, sizeof *chunk + length);
    *chunk = (struct chunk){.length = length, .cells = 1, .header_bytes = ETHERNET_BYTES + headers};
    if (segmented) {
        chunk->payload_bytes = packet - headers;
        chunk->cell_payload_bytes = offload.gso_size;
        chunk->cells = (chunk->payload_bytes + offload.gso_size - 1U) / offload.gso_size;
    }
    memcpy(chunk->data, data, length);
    return chunk;
}

struct chunk *nics_read(struct nics *nics, struct network *network, uint32_t link, bool *empty) {
    ssize_t length = read(nics->devices[link], nics->buffer, CHUNK_BYTES);
    *empty = length <= 0;
    if (*empty) {
        return NULL;
    }
    const unsigned char *ip = nics->buffer + IP_AT;
    int64_t destination = -1;
    if (length >= IP_AT + IP_BYTES && ip[0] >> 4U == 4) {
        const unsigned char *to = ip + IP_DESTINATION;
        destination = network_address(network, (uint32_t)to[0] << 24 | (uint32_t)to[1] << 16 |
                                                   (uint32_t)to[2] << 8 | to[3]);
    }
    network->header->chunks_read++;
    if (destination < 0) {
        network->header->chunks_unroutable++;
        return NULL;
    }
    struct chunk *chunk = new_chunk(nics->buffer, (uint32_t)length);
    if (chunk->header_bytes + (chunk->cells > 1 ? chunk->cell_payload_bytes : chunk->payload_bytes) >
        network->cell_bytes) {
        free(chunk);
        network->header->chunks_unroutable++;
        return NULL;
    }
    chunk->destination = (uint32_t)destination;
    return chunk;
}

void nics_write(struct nics *nics, struct network *network, const struct chunk *chunk) {
    ssize_t written = write(nics->devices[nics->out[chunk->last_link]], chunk->data, chunk->length);
    network->header->chunks_delivered++;
    network->header->write_errors += written != (ssize_t)chunk->length;
}
