/* Implements the description of a torus. */
#include "description.h"
#include "memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = 1, LINE_BYTES = 512 };

struct reader {
    const char *path;
    unsigned line;
    struct network *network;
    struct link_name *names;
    int8_t *bits; /* router x address: of the best prefix so far */
};

static void wrong(const struct reader *reader, const char *what) {
    fprintf(stderr, "railyard-router: %s: line %u: %s\n", reader->path, reader->line, what);
    exit(EXIT_FAILURE);
}

static void add_host(struct reader *reader, const char *line, bool node) {
    struct network *network = reader->network;
    network->hosts = grown(network->hosts, network->host_count + 1, sizeof *network->hosts);
    struct host *host = &network->hosts[network->host_count++];
    struct in_addr ip = {0};
    *host = (struct host){.node = node};
    if (sscanf(line, "%*s %47s %255s", host->name, host->netns) != 2 ||
        (!node && inet_pton(AF_INET, host->netns, &ip) != 1)) {
        wrong(reader, node ? "expected: node NAME NETNS" : "expected: router NAME A.B.C.D");
    }
    host->ip = ntohl(ip.s_addr);
}

static void add_address(struct reader *reader, const char *line) {
    struct network *network = reader->network;
    char text[INET_ADDRSTRLEN];
    unsigned node;
    struct in_addr ip;
    if (sscanf(line, "%*s %u %15s", &node, text) != 2 || inet_pton(AF_INET, text, &ip) != 1 ||
        node >= network->host_count || !network->hosts[node].node) {
        wrong(reader, "expected: address NODE A.B.C.D");
    }
    network->addresses = grown(network->addresses, network->address_count + 1, sizeof *network->addresses);
    network->addresses[network->address_count++] = (struct address){.ip = ntohl(ip.s_addr), .node = node};
}

static void add_link(struct reader *reader, const char *line) {
    struct network *network = reader->network;
    network->links = grown(network->links, network->link_count + 1, sizeof *network->links);
    reader->names = grown(reader->names, network->link_count + 1, sizeof *reader->names);
    struct link *link = &network->links[network->link_count];
    struct link_name *name = &reader->names[network->link_count];
    double rate_byte_s, latency_ns;
    int dateline, down;
    *link = (struct link){0};
    int words = sscanf(line, "%*s %d %15s %d %15s %lf %lf %d %d %d", &link->source, name->port, &link->target,
                       name->far_port, &rate_byte_s, &latency_ns, &link->ring, &dateline, &down);
    if (words != 9 || link->source < 0 || link->target < 0 || (uint32_t)link->source >= network->host_count ||
        (uint32_t)link->target >= network->host_count || rate_byte_s <= 0 || latency_ns < 0) {
        wrong(reader, "expected: link HOST PORT HOST PORT RATE_BYTE_S LATENCY_NS RING DATELINE DOWN");
    }
    link->ns_per_byte = 1e9 / rate_byte_s;
    link->latency_ns = (uint64_t)latency_ns;
    link->dateline = dateline != 0;
    link->down = down != 0;
    network->link_count++;
}

static int by_ip(const void *left, const void *right) {
    uint32_t a = ((const struct address *)left)->ip, b = ((const struct address *)right)->ip;
    return (a > b) - (a < b);
}

/* Tables are made at the first route, when hosts and addresses are known. */
static void make_tables(struct reader *reader) {
    struct network *network = reader->network;
    size_t count = network->address_count;
    qsort(network->addresses, count, sizeof *network->addresses, by_ip);
    reader->bits = zeroed(network->host_count * count, sizeof *reader->bits);
    memset(reader->bits, -1, network->host_count * count);
    for (uint32_t i = 0; i < network->host_count; i++) {
        if (!network->hosts[i].node) {
            network->hosts[i].next = zeroed(count, sizeof(int32_t));
            for (size_t k = 0; k < count; k++) {
                network->hosts[i].next[k] = NO_LINK;
            }
        }
    }
}

static void add_route(struct reader *reader, const char *line) {
    struct network *network = reader->network;
    char text[INET_ADDRSTRLEN];
    unsigned router, link;
    int bits;
    struct in_addr prefix;
    if (sscanf(line, "%*s %u %15[0-9.]/%d %u", &router, text, &bits, &link) != 4 ||
        inet_pton(AF_INET, text, &prefix) != 1 || router >= network->host_count ||
        network->hosts[router].node || bits < 0 || bits > 32 || link >= network->link_count ||
        (uint32_t)network->links[link].source != router) {
        wrong(reader, "expected: route ROUTER A.B.C.D/BITS LINK");
    }
    if (reader->bits == NULL) {
        make_tables(reader);
    }
    uint32_t mask = bits ? ~0U << (32 - bits) : 0;
    int8_t *best = &reader->bits[(size_t)router * network->address_count];
    for (uint32_t k = 0; k < network->address_count; k++) {
        if (((network->addresses[k].ip ^ ntohl(prefix.s_addr)) & mask) == 0 && bits > best[k]) {
            best[k] = (int8_t)bits;
            network->hosts[router].next[k] = (int32_t)link;
        }
    }
}

static void read_line(struct reader *reader, const char *line) {
    struct network *network = reader->network;
    unsigned long long bytes;
    if (strncmp(line, "link ", 5) == 0) {
        add_link(reader, line);
    } else if (strncmp(line, "route ", 6) == 0) {
        add_route(reader, line);
    } else if (strncmp(line, "address ", 8) == 0) {
        add_address(reader, line);
    } else if (strncmp(line, "node ", 5) == 0 || strncmp(line, "router ", 7) == 0) {
        add_host(reader, line, line[0] == 'n');
    } else if (sscanf(line, "nic %llu", &bytes) == 1) {
        network->nic_bytes = bytes;
    } else if (sscanf(line, "cell %u", &network->cell_bytes) != 1 &&
               sscanf(line, "buffer %u %u", &network->buffer_bytes, &network->port_bytes) != 2) {
        wrong(reader, "neither cell, buffer, nic, node, router, address, link nor route");
    }
}

static void no_way(const struct network *network, const struct reader *reader, int32_t from,
                   uint32_t address) {
    fprintf(stderr, "railyard-router: %s: no way from %s to %s\n", reader->path, network->hosts[from].name,
            network->hosts[network->addresses[address].node].name);
    exit(EXIT_FAILURE);
}

/* Walk from one NIC to one address. Channels never rise above the last pair, so none is shared by mistake. */
static void walk(const struct reader *reader, uint32_t nic, uint32_t address) {
    const struct network *network = reader->network;
    const struct link *link = &network->links[nic];
    uint8_t channel = 0;
    for (uint32_t hops = 0; !network->hosts[link->target].node; hops++) {
        int32_t next = network->hosts[link->target].next[address];
        if (next == NO_LINK || hops > network->host_count || network->links[next].down) {
            no_way(network, reader, link->target, address);
        }
        uint8_t after = channel_after(link, channel, &network->links[next]);
        if (after < channel && network->links[next].ring != NO_RING && after / 2 < channel / 2) {
            no_way(network, reader, link->target, address);
        }
        channel = after;
        link = &network->links[next];
    }
    if ((uint32_t)link->target != network->addresses[address].node) {
        no_way(network, reader, link->source, address);
    }
}

static void check(const struct reader *reader) {
    const struct network *network = reader->network;
    if (network->cell_bytes == 0 || network->buffer_bytes < network->cell_bytes || network->nic_bytes == 0 ||
        network->port_bytes == 0 || network->address_count == 0 || reader->bits == NULL) {
        wrong(reader,
              "expected cell, a buffer of at least one cell, nic, addresses and routes before the end");
    }
    for (uint32_t i = 0; i < network->link_count; i++) {
        for (uint32_t k = 0; network->hosts[network->links[i].source].node && k < network->address_count;
             k++) {
            walk(reader, i, k);
        }
    }
}

void description_read(const char *path, struct network *network, struct link_name **names) {
    struct reader reader = {.path = path, .network = network};
    char line[LINE_BYTES];
    int format = 0;
    unsigned long long generation = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fail("read", path);
    }
    while (fgets(line, sizeof line, file) != NULL) {
        reader.line++;
        if (reader.line == 1) {
            if (sscanf(line, "railyard-router %d %llu", &format, &generation) != 2 || format != FORMAT) {
                wrong(&reader, "expected: railyard-router 1 GENERATION");
            }
        } else if (line[0] != '\n') {
            read_line(&reader, line);
        }
    }
    fclose(file);
    errno = 0;
    network->generation = generation;
    check(&reader);
    free(reader.bits);
    *names = reader.names;
}

static struct link *find_link(struct network *network, const struct link_name *names, const char *host,
                              const char *port) {
    for (uint32_t i = 0; i < network->link_count; i++) {
        if (strcmp(network->hosts[network->links[i].source].name, host) == 0 &&
            strcmp(names[i].port, port) == 0) {
            return &network->links[i];
        }
    }
    return NULL;
}

void description_hide(const char *path, struct network *network, const struct link_name *names) {
    char hidden[LINE_BYTES], line[LINE_BYTES], host[COUNTED_NAME_BYTES], port[16];
    snprintf(hidden, sizeof hidden, "%s.hidden", path);
    struct reader reader = {.path = hidden};
    FILE *file = fopen(hidden, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        double rate_byte_s = 0;
        reader.line++;
        struct link *link = sscanf(line, "%47s %15s %lf", host, port, &rate_byte_s) == 3
                                ? find_link(network, names, host, port)
                                : NULL;
        if (link == NULL || !(rate_byte_s >= 1)) {
            wrong(&reader, "expected: HOST PORT RATE_BYTE_S of a link, 1 or more");
        }
        link->ns_per_byte = 1e9 / rate_byte_s;
    }
    if (file != NULL) {
        fclose(file);
    }
    errno = 0;
}

bool description_alike(const struct network *one, const struct network *other) {
    bool alike = one->host_count == other->host_count && one->link_count == other->link_count &&
                 one->address_count == other->address_count;
    for (uint32_t i = 0; alike && i < one->link_count; i++) {
        alike =
            one->links[i].source == other->links[i].source && one->links[i].target == other->links[i].target;
    }
    for (uint32_t i = 0; alike && i < one->address_count; i++) {
        alike = one->addresses[i].ip == other->addresses[i].ip;
    }
    return alike;
}
