/* Implements the NICs of the nodes. */
#define _GNU_SOURCE
#include "nics.h"
#include "../common.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
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
    TIME_TO_LIVE_AT = 8,
    PROTOCOL_AT = 9,
    CHECKSUM_AT = 10,
    SOURCE_AT = 12,
    DESTINATION_AT = 16,
    OFFLOAD_BYTES = sizeof(struct virtio_net_hdr),
    IP_AT = OFFLOAD_BYTES + ETHERNET_BYTES,
    ICMP_BYTES = 8,
    ICMP_PACKET_BYTES = 576, /* of an answer at most, as in Linux */
    ANSWER_BYTES = IP_AT + ICMP_PACKET_BYTES,
    INTERNETWORK_CONTROL = 0xc0, /* type of service of an answer */
    ICMP_CHECKSUM_AT = IP_BYTES + 2
};

void nics_open(struct nics *nics, const struct network *network, const struct link_name *names) {
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    nics->devices = zeroed(network->link_count, sizeof *nics->devices);
    nics->out = zeroed(network->link_count, sizeof *nics->out);
    nics->buffer = zeroed(CHUNK_BYTES, 1);
    for (uint32_t i = 0; i < network->link_count; i++) {
        const struct link *link = &network->links[i];
        const struct host *source = &network->hosts[link->source];
        nics->devices[i] = -1;
        if (link->nic != NULL) {
            enter_network(source->netns, source->netns);
            int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
            if (device < 0)
                fail("open", "/dev/net/tun");
            struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
            snprintf(request.ifr_name, sizeof request.ifr_name, "%s", names[i].port);
            if (ioctl(device, TUNSETIFF, &request) != 0 ||
                ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0)
                fail("make the NIC of", source->name);
            nics->devices[i] = device;
        }
    }
    if (home < 0 || setns(home, CLONE_NEWNET) != 0)
        fail("return to", "the network namespace of the start");
    close(home);
    /* A chunk that leaves a link to a node enters the device of the opposite link. */
    for (uint32_t i = 0; i < network->link_count; i++) {
        for (uint32_t k = 0; network->hosts[network->links[i].target].node && k < network->link_count; k++)
            if (network->links[k].source == network->links[i].target &&
                network->links[k].target == network->links[i].source &&
                strcmp(names[k].port, names[i].far_port) == 0)
                nics->out[i] = k;
    }
}

static uint32_t address_at(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_16(unsigned char *bytes, uint32_t value) {
    bytes[0] = (unsigned char)(value >> 8);
    bytes[1] = (unsigned char)value;
}

/* Return a chunk whose cells are the segments that the kernel would have made. */
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
    *chunk = (struct chunk){.length = length,
                            .cells = 1,
                            .header_bytes = ETHERNET_BYTES + headers,
                            .expired_at = NO_HOST,
                            .time_to_live = ip[TIME_TO_LIVE_AT]};
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
    if (*empty)
        return NULL;
    const unsigned char *ip = nics->buffer + IP_AT;
    int64_t destination = -1;
    if (length >= IP_AT + IP_BYTES && ip[0] >> 4U == 4)
        destination = network_address(network, address_at(ip + DESTINATION_AT));
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
    /* Among ICMP packets, only echo requests cause an ICMP error. */
    uint32_t ip_bytes = (ip[0] & 15U) * 4;
    bool answer = ip[PROTOCOL_AT] == IPPROTO_ICMP &&
                  (ip_bytes >= ((uint32_t)length - IP_AT) || ip[ip_bytes] != ICMP_ECHO);
    chunk->source = answer ? -1 : network_address(network, address_at(ip + SOURCE_AT));
    return chunk;
}

/* The Internet checksum (RFC 1071). */
static uint32_t checksum(const unsigned char *bytes, uint32_t count) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
    sum = (sum & UINT16_MAX) + (sum >> 16);
    return ~(sum + (sum >> 16)) & UINT16_MAX;
}

/* Lower a packet's time to live. Its checksum grows by as much (RFC 1624), with the carry of one's
 * complement. */
static void age(unsigned char *ip, uint8_t routers) {
    uint32_t sum = ((uint32_t)ip[CHECKSUM_AT] << 8 | ip[CHECKSUM_AT + 1]) + ((uint32_t)routers << 8);
    ip[TIME_TO_LIVE_AT] = (unsigned char)(ip[TIME_TO_LIVE_AT] - routers);
    put_16(ip + CHECKSUM_AT, sum + (sum >> 16));
}

/* Write the answer to a chunk that expired; return its length. */
static uint32_t answer(const struct network *network, struct chunk *chunk, unsigned char *frame) {
    uint32_t router = network->hosts[chunk->expired_at].ip, quoted = chunk->length - IP_AT;
    unsigned char *ip = frame + IP_AT, *expired = chunk->data + IP_AT;
    quoted = quoted < ICMP_PACKET_BYTES - IP_BYTES - ICMP_BYTES ? quoted
                                                                : ICMP_PACKET_BYTES - IP_BYTES - ICMP_BYTES;
    age(expired, (uint8_t)(expired[TIME_TO_LIVE_AT] - 1)); /* a router's kernel quotes what came to it */
    memset(frame, 0, IP_AT + IP_BYTES + ICMP_BYTES);
    memcpy(frame + OFFLOAD_BYTES, chunk->data + OFFLOAD_BYTES,
           ETHERNET_BYTES); /* all NICs have one address */
    ip[0] = 4 << 4 | IP_BYTES / 4;
    ip[1] = INTERNETWORK_CONTROL;
    put_16(ip + 2, IP_BYTES + ICMP_BYTES + quoted);
    ip[TIME_TO_LIVE_AT] = ANSWER_TIME_TO_LIVE;
    ip[PROTOCOL_AT] = IPPROTO_ICMP;
    put_16(ip + SOURCE_AT, router >> 16);
    put_16(ip + SOURCE_AT + 2, router & UINT16_MAX);
    memcpy(ip + DESTINATION_AT, expired + SOURCE_AT, sizeof router);
    put_16(ip + CHECKSUM_AT, checksum(ip, IP_BYTES));
    ip[IP_BYTES] = ICMP_TIME_EXCEEDED;
    memcpy(ip + IP_BYTES + ICMP_BYTES, expired, quoted);
    put_16(ip + ICMP_CHECKSUM_AT, checksum(ip + IP_BYTES, ICMP_BYTES + quoted));
    age(ip, chunk->routers);
    return IP_AT + IP_BYTES + ICMP_BYTES + quoted;
}

void nics_write(struct nics *nics, struct network *network, struct chunk *chunk) {
    unsigned char frame[ANSWER_BYTES];
    const unsigned char *data = chunk->data;
    uint32_t length = chunk->length;
    if (chunk->expired_at != NO_HOST) {
        length = answer(network, chunk, frame);
        data = frame;
    } else {
        age(chunk->data + IP_AT, chunk->routers);
    }
    ssize_t written = write(nics->devices[nics->out[chunk->last_link]], data, length);
    network->header->chunks_delivered++;
    network->header->write_errors += written != (ssize_t)length;
}
