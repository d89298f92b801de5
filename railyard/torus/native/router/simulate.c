/* Implements the router's network without nodes and without a clock. */
#include "simulate.h"
#include "memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { HEADERS = 54 };

static void print_arrivals(struct network *network, uint64_t until_ns) {
    while (events_next_ns(&network->deliveries) <= until_ns) {
        struct chunk *chunk = events_take(&network->deliveries).subject;
        bool expired = chunk->expired_at != NO_HOST;
        printf("%s %" PRIu32 " %" PRIu64 " %" PRIu64 " %u%s%s\n", expired ? "expired" : "message",
               chunk->number, chunk->entered_ns, chunk->due_ns, chunk->routers, expired ? " " : "",
               expired ? network->hosts[chunk->expired_at].name : "");
        network->header->in_flight--;
        free(chunk);
    }
}

static int64_t address_of_node(const struct network *network, uint32_t node) {
    for (uint32_t i = 0; i < network->address_count; i++) {
        if (network->addresses[i].node == node) {
            return i;
        }
    }
    return -1;
}

static struct chunk *read_message(const struct network *network, const char *line, uint32_t number,
                                  uint64_t *at_ns, uint32_t *link) {
    char text[INET_ADDRSTRLEN];
    struct in_addr ip;
    unsigned bytes;
    uint8_t time_to_live = UINT8_MAX;
    int words =
        sscanf(line, "%" SCNu64 " %" SCNu32 " %15s %u %" SCNu8, at_ns, link, text, &bytes, &time_to_live);
    int64_t to =
        words >= 4 && inet_pton(AF_INET, text, &ip) == 1 ? network_address(network, ntohl(ip.s_addr)) : -1;
    if (to < 0 || *link >= network->link_count || network->links[*link].nic == NULL || bytes == 0) {
        errno = 0;
        fail("read the message", line);
    }
    struct chunk *chunk = zeroed(1, sizeof *chunk);
    chunk->number = number;
    chunk->destination = (uint32_t)to;
    chunk->source = address_of_node(network, (uint32_t)network->links[*link].source);
    chunk->expired_at = NO_HOST;
    chunk->time_to_live = time_to_live;
    chunk->header_bytes = HEADERS;
    chunk->cell_payload_bytes = network->cell_bytes - HEADERS;
    chunk->payload_bytes = bytes;
    chunk->cells = (bytes + chunk->cell_payload_bytes - 1) / chunk->cell_payload_bytes;
    return chunk;
}

static void print_links(const struct network *network) {
    for (uint32_t i = 0; i < network->link_count; i++) {
        const struct link_counters *c = &network->counters[i];
        printf("link %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
               " %" PRIu64 "\n",
               i, c->tx_bytes, c->tx_cells, c->rx_bytes, c->waited, c->input_stall_ns, c->output_stall_ns,
               c->dropped);
    }
}

bool simulate(struct network *network, FILE *messages) {
    char line[256];
    uint32_t number = 0;
    while (fgets(line, sizeof line, messages) != NULL) {
        uint64_t at_ns;
        uint32_t link;
        struct chunk *chunk = read_message(network, line, number++, &at_ns, &link);
        network_run(network, at_ns);
        print_arrivals(network, at_ns);
        network_send(network, link, chunk, at_ns);
    }
    network_run(network, NEVER - 1);
    print_arrivals(network, NEVER - 1);
    print_links(network);
    return network->header->in_flight == 0;
}
