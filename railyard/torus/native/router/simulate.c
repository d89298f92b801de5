/* Implements the router's network without nodes and without a clock. */
#include "simulate.h"
#include "../common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HEADERS = 54 };
/* The largest message, because the largest chunk of a NIC has 64 KiB. */
enum { MOST_MESSAGE_CELLS = 1 << 20 };
static const uint64_t most_at_ns = 1000000000000000000;

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
    for (uint32_t i = 0; i < network->address_count; i++)
        if (network->addresses[i].node == node)
            return i;
    return -1;
}

static struct chunk *read_message(const struct network *network, const char *line, uint32_t number,
                                  uint64_t *at_ns, uint32_t *link) {
    char text[INET_ADDRSTRLEN];
    struct in_addr ip;
    uint64_t from, bytes, before_ns = *at_ns, time_to_live = UINT8_MAX;
    uint32_t payload = network->cell_bytes - HEADERS;
    int words = sscanf(line, "%" SCNu64 " %" SCNu64 " %15s %" SCNu64 " %" SCNu64, at_ns, &from, text, &bytes,
                       &time_to_live);
    int64_t to =
        words >= 4 && inet_pton(AF_INET, text, &ip) == 1 ? network_address(network, ntohl(ip.s_addr)) : -1;
    if (to < 0 || *at_ns < before_ns || *at_ns > most_at_ns || from >= network->link_count ||
        network->links[from].nic == NULL || bytes == 0 || bytes > (uint64_t)payload * MOST_MESSAGE_CELLS ||
        bytes > UINT32_MAX / 2 || time_to_live == 0 || time_to_live > UINT8_MAX) {
        errno = 0;
        fail("read the message", line);
    }
    *link = (uint32_t)from;
    struct chunk *chunk = zeroed(1, sizeof *chunk);
    chunk->number = number;
    chunk->destination = (uint32_t)to;
    chunk->source = address_of_node(network, (uint32_t)network->links[*link].source);
    chunk->expired_at = NO_HOST;
    chunk->time_to_live = (uint8_t)time_to_live;
    chunk->header_bytes = HEADERS;
    chunk->cell_payload_bytes = payload;
    chunk->payload_bytes = (uint32_t)bytes;
    chunk->cells = (uint32_t)((bytes + payload - 1) / payload);
    return chunk;
}

bool simulate(struct network *network, FILE *messages) {
    char line[256];
    uint32_t number = 0;
    uint64_t at_ns = 0;
    while (fgets(line, sizeof line, messages) != NULL) {
        uint32_t link;
        line[strcspn(line, "\n")] = '\0';
        struct chunk *chunk = read_message(network, line, number++, &at_ns, &link);
        network_run(network, at_ns);
        print_arrivals(network, at_ns);
        network_send(network, link, chunk, at_ns);
    }
    network_run(network, NEVER - 1);
    print_arrivals(network, NEVER - 1);
    for (uint32_t i = 0; i < network->link_count; i++) {
        const struct link_counters *c = &network->counters[i];
        printf("link %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
               " %" PRIu64 " %" PRIu64 "\n",
               i, c->tx_bytes, c->tx_cells, c->rx_bytes, c->waited, c->input_stall_ns, c->output_stall_ns,
               c->dropped, c->replays);
    }
    return network->header->in_flight == 0;
}
