/* Implements the description of a torus. */
#include "description.h"
#include "memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits that fit 32 bits with room for sums: a buffer holds 1 GiB, and the queues of all routers are
 * numbered. */
enum { FORMAT = 1, LINE_BYTES = 512, LEAST_CELL_BYTES = 64, MOST_CELL_BYTES = 1 << 20, MOST_BYTES = 1 << 30 };
enum { MOST_RING = 254, MOST_QUEUES = 1 << 28 };
/* A cell of the largest size then takes 34 years at most, and 2^64 ns are 584. */
static const double least_byte_s = 1e-3, most_byte_s = 1e15, most_latency_ns = 1e15;

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

/* Numbers are read with more bits than they may have: glibc reads what has even more as the largest. */
static bool is_below(long long number, uint64_t end) {
    return number >= 0 && (uint64_t)number < end;
}

static void add_host(struct reader *reader, const char *line, bool node) {
    struct network *network = reader->network;
    network->hosts = grown(network->hosts, network->host_count + 1, sizeof *network->hosts);
    struct host *host = &network->hosts[network->host_count++];
    struct in_addr ip = {0};
    *host = (struct host){.node = node};
    if (sscanf(line, "%*s %47s %255s", host->name, host->netns) != 2 ||
        (!node && inet_pton(AF_INET, host->netns, &ip) != 1))
        wrong(reader, node ? "expected: node NAME NETNS" : "expected: router NAME A.B.C.D");
    host->ip = ntohl(ip.s_addr);
}

static void add_address(struct reader *reader, const char *line) {
    struct network *network = reader->network;
    char text[INET_ADDRSTRLEN];
    long long node;
    struct in_addr ip;
    if (sscanf(line, "%*s %lld %15s", &node, text) != 2 || inet_pton(AF_INET, text, &ip) != 1 ||
        !is_below(node, network->host_count) || !network->hosts[node].node)
        wrong(reader, "expected: address NODE A.B.C.D");
    network->addresses = grown(network->addresses, network->address_count + 1, sizeof *network->addresses);
    network->addresses[network->address_count++] =
        (struct address){.ip = ntohl(ip.s_addr), .node = (uint32_t)node};
}

static void add_link(struct reader *reader, const char *line) {
    struct network *network = reader->network;
    network->links = grown(network->links, network->link_count + 1, sizeof *network->links);
    reader->names = grown(reader->names, network->link_count + 1, sizeof *reader->names);
    struct link *link = &network->links[network->link_count];
    struct link_name *name = &reader->names[network->link_count];
    double rate_byte_s, latency_ns;
    long long source, target, ring, dateline, down;
    int words = sscanf(line, "%*s %lld %15s %lld %15s %lf %lf %lld %lld %lld", &source, name->port, &target,
                       name->far_port, &rate_byte_s, &latency_ns, &ring, &dateline, &down);
    /* Each comparison is false for a rate that is not a number. */
    if (words != 9 || !is_below(source, network->host_count) || !is_below(target, network->host_count) ||
        !(rate_byte_s >= least_byte_s && rate_byte_s <= most_byte_s) ||
        !(latency_ns >= 0 && latency_ns <= most_latency_ns) || ring < NO_RING || ring > MOST_RING ||
        !is_below(dateline, 2) || !is_below(down, 2))
        wrong(reader, "expected: link HOST PORT HOST PORT RATE_BYTE_S LATENCY_NS RING DATELINE DOWN");
    *link = (struct link){.source = (int32_t)source,
                          .target = (int32_t)target,
                          .ring = (int32_t)ring,
                          .dateline = dateline != 0,
                          .down = down != 0,
                          .ns_per_byte = 1e9 / rate_byte_s,
                          .latency_ns = (uint64_t)latency_ns};
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
            for (size_t k = 0; k < count; k++)
                network->hosts[i].next[k] = NO_LINK;
        }
    }
}

static void add_route(struct reader *reader, const char *line) {
    struct network *network = reader->network;
    char text[INET_ADDRSTRLEN];
    long long router, link, bits;
    struct in_addr prefix;
    if (sscanf(line, "%*s %lld %15[0-9.]/%lld %lld", &router, text, &bits, &link) != 4 ||
        inet_pton(AF_INET, text, &prefix) != 1 || !is_below(router, network->host_count) ||
        network->hosts[router].node || !is_below(bits, 33) || !is_below(link, network->link_count) ||
        network->links[link].source != router)
        wrong(reader, "expected: route ROUTER A.B.C.D/BITS LINK");
    if (network->address_count == 0)
        wrong(reader, "expected addresses before the first route");
    if (reader->bits == NULL)
        make_tables(reader);
    uint32_t mask = bits ? ~0U << (32 - bits) : 0;
    int8_t *best = &reader->bits[(size_t)router * network->address_count];
    for (uint32_t k = 0; k < network->address_count; k++) {
        if (((network->addresses[k].ip ^ ntohl(prefix.s_addr)) & mask) == 0 && bits > best[k]) {
            best[k] = (int8_t)bits;
            network->hosts[router].next[k] = (int32_t)link;
        }
    }
}

static void read_sizes(struct reader *reader, const char *line) {
    struct network *network = reader->network;
    long long bytes, port_bytes;
    if (sscanf(line, "nic %lld", &bytes) == 1 && is_below(bytes, MOST_BYTES)) {
        network->nic_bytes = (uint64_t)bytes;
    } else if (sscanf(line, "cell %lld", &bytes) == 1 && bytes >= LEAST_CELL_BYTES &&
               is_below(bytes, MOST_CELL_BYTES)) {
        network->cell_bytes = (uint32_t)bytes;
    } else if (sscanf(line, "buffer %lld %lld", &bytes, &port_bytes) == 2 && is_below(bytes, MOST_BYTES) &&
               is_below(port_bytes, MOST_BYTES)) {
        network->buffer_bytes = (uint32_t)bytes;
        network->port_bytes = (uint32_t)port_bytes;
    } else {
        wrong(reader,
              "neither cell, buffer, nic, node, router, address, link nor route, or a size out of range");
    }
}

static void read_line(struct reader *reader, const char *line) {
    if (strncmp(line, "route ", 6) == 0)
        add_route(reader, line);
    else if (reader->bits != NULL)
        wrong(reader, "expected only routes after the first one");
    else if (strncmp(line, "link ", 5) == 0)
        add_link(reader, line);
    else if (strncmp(line, "address ", 8) == 0)
        add_address(reader, line);
    else if (strncmp(line, "node ", 5) == 0 || strncmp(line, "router ", 7) == 0)
        add_host(reader, line, line[0] == 'n');
    else
        read_sizes(reader, line);
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
        if (next == NO_LINK || hops > network->host_count || network->links[next].down)
            no_way(network, reader, link->target, address);
        uint8_t after = channel_after(link, channel, &network->links[next]);
        if (after < channel && network->links[next].ring != NO_RING && after / 2 < channel / 2)
            no_way(network, reader, link->target, address);
        channel = after;
        link = &network->links[next];
    }
    if ((uint32_t)link->target != network->addresses[address].node)
        no_way(network, reader, link->source, address);
}

/* Queues are numbered in 32 bits: one for each input and output of each host. */
static void check_ports(const struct reader *reader) {
    const struct network *network = reader->network;
    uint64_t *inputs = zeroed(network->host_count, sizeof *inputs), queues = 0;
    for (uint32_t i = 0; i < network->link_count; i++)
        inputs[network->links[i].target]++;
    for (uint32_t i = 0; i < network->link_count; i++)
        queues += inputs[network->links[i].source];
    free(inputs);
    if (queues > MOST_QUEUES)
        wrong(reader, "too many links at one host");
}

static void check(const struct reader *reader) {
    const struct network *network = reader->network;
    if (network->cell_bytes == 0 || network->buffer_bytes < network->cell_bytes || network->nic_bytes == 0 ||
        network->port_bytes == 0 || network->address_count == 0 || reader->bits == NULL) {
        wrong(reader,
              "expected cell, a buffer of at least one cell, nic, addresses and routes before the end");
    }
    check_ports(reader);
    for (uint32_t i = 0; i < network->link_count; i++)
        for (uint32_t k = 0; network->hosts[network->links[i].source].node && k < network->address_count; k++)
            walk(reader, i, k);
}

void description_read(const char *path, struct network *network, struct link_name **names) {
    struct reader reader = {.path = path, .network = network};
    char line[LINE_BYTES];
    int format = 0;
    unsigned long long generation = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        fail("read", path);
    while (fgets(line, sizeof line, file) != NULL) {
        reader.line++;
        if (strlen(line) == LINE_BYTES - 1)
            wrong(&reader, "too long");
        if (reader.line == 1) {
            if (sscanf(line, "railyard-router %d %llu", &format, &generation) != 2 || format != FORMAT)
                wrong(&reader, "expected: railyard-router 1 GENERATION");
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
    for (uint32_t i = 0; i < network->link_count; i++)
        if (strcmp(network->hosts[network->links[i].source].name, host) == 0 &&
            strcmp(names[i].port, port) == 0)
            return &network->links[i];
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
        if (link == NULL || !(rate_byte_s >= 1))
            wrong(&reader, "expected: HOST PORT RATE_BYTE_S of a link, 1 or more");
        link->ns_per_byte = 1e9 / rate_byte_s;
    }
    if (file != NULL)
        fclose(file);
    errno = 0;
}

bool description_alike(const struct network *one, const struct network *other) {
    bool alike = one->host_count == other->host_count && one->link_count == other->link_count &&
                 one->address_count == other->address_count;
    for (uint32_t i = 0; alike && i < one->link_count; i++) {
        alike =
            one->links[i].source == other->links[i].source && one->links[i].target == other->links[i].target;
    }
    for (uint32_t i = 0; alike && i < one->address_count; i++)
        alike = one->addresses[i].ip == other->addresses[i].ip;
    return alike;
}
