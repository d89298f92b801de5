/* Implements the description of a torus. */
#include "description.h"
#include "../common.h"
#include "choices.h"
#include "peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits that fit 32 bits with room for sums: a buffer holds 1 GiB, and the queues of all routers are
 * numbered. */
enum { FORMAT = 1, LINE_BYTES = 512, LEAST_CELL_BYTES = 64, MOST_CELL_BYTES = 1 << 20, MOST_BYTES = 1 << 30 };
enum { MOST_RING = 254, MOST_QUEUES = 1 << 28, MOST_PARTS = 1 << 16, PAIRS = CHANNELS / 2 };
/* A cell of the largest size then takes 34 years at most, and 2^64 ns are 584. */
static const double least_byte_s = 1e-3, most_byte_s = 1e15, most_latency_ns = 1e15, most_damaged = 0.99;

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

static void add_trouble(struct reader *reader, const char *line) {
    struct network *network = reader->network;
    long long link, at_ns, for_ns, every_ns, silent, jitter_ns;
    double damaged;
    const uint64_t end_ns = (uint64_t)most_latency_ns;
    if (sscanf(line, "%*s %lld %lld %lld %lld %lld %lf %lld", &link, &at_ns, &for_ns, &every_ns, &silent,
               &damaged, &jitter_ns) != 7 ||
        !is_below(link, network->link_count) || !is_below(at_ns, end_ns) || !is_below(for_ns, end_ns) ||
        !is_below(every_ns, end_ns) || (every_ns && (for_ns == 0 || for_ns >= every_ns)) ||
        !is_below(silent, 2) || !(damaged >= 0 && damaged <= most_damaged) || !is_below(jitter_ns, end_ns))
        wrong(reader, "expected: trouble LINK AT_NS FOR_NS EVERY_NS SILENT DAMAGED JITTER_NS");
    struct trouble trouble = {.at_ns = (uint64_t)at_ns,
                              .for_ns = (uint64_t)for_ns,
                              .every_ns = (uint64_t)every_ns,
                              .silent = silent != 0,
                              .damaged = damaged,
                              .jitter_ns = (uint64_t)jitter_ns,
                              .random = (uint64_t)link};
    trouble_change(&network->links[link].trouble, &trouble, 0);
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
    for (uint32_t k = network_first_address(network, ntohl(prefix.s_addr) & mask);
         k < network->address_count && ((network->addresses[k].ip ^ ntohl(prefix.s_addr)) & mask) == 0; k++) {
        if (bits > best[k]) {
            best[k] = (int8_t)bits;
            network->hosts[router].next[k] = (int32_t)link;
        }
    }
}

#define ROUTER_RULE_NAME(value, name) [value] = name,

static void add_choose(struct reader *reader, const char *line) {
    static const char *const kinds[] = {ROUTER_RULES(ROUTER_RULE_NAME)};
    struct choices *choices = &reader->network->choices;
    char kind[32];
    long long seed, parts, restored, gap_ns, escapes;
    if (sscanf(line, "%*s %31s %lld %lld %lld %lld %lld", kind, &seed, &parts, &restored, &gap_ns,
               &escapes) != 6 ||
        seed < 0 || !is_below(parts, MOST_PARTS) || !is_below(restored, 2) ||
        !is_below(gap_ns, (uint64_t)most_latency_ns) || !is_below(escapes, 2))
        wrong(reader, "expected: choose KIND SEED PARTS RESTORED GAP_NS ESCAPES");
    *choices = (struct choices){.seed = (uint64_t)seed,
                                .random = (uint64_t)seed,
                                .parts = (uint32_t)parts,
                                .restored = restored != 0,
                                .gap_ns = (uint64_t)gap_ns,
                                .escapes = escapes != 0};
    for (enum choose i = CHOOSE_HASHED; i < CHOOSE_COUNT; i++)
        if (strcmp(kind, kinds[i]) == 0)
            choices->choose = i;
    if (choices->choose == CHOOSE_FIXED || (choices->choose >= CHOOSE_VALIANT) != (parts > 0))
        wrong(reader, "expected a kind of choice, and parts with valiant and ugal alone");
}

static struct link_set *sets_of(const struct reader *reader, struct host *host, bool via) {
    uint32_t count = via ? reader->network->choices.parts : reader->network->host_count;
    struct link_set **sets = via ? &host->vias : &host->ways;
    if (*sets == NULL)
        *sets = zeroed(count, sizeof **sets);
    return *sets;
}

static void add_way(struct reader *reader, const char *line, bool via) {
    struct network *network = reader->network;
    struct choices *choices = &network->choices;
    long long router, target, link;
    int length = 0;
    uint64_t targets = via ? choices->parts : network->host_count;
    if (choices->choose == CHOOSE_FIXED || sscanf(line, "%*s %lld %lld%n", &router, &target, &length) != 2 ||
        !is_below(router, network->host_count) || network->hosts[router].node || !is_below(target, targets))
        wrong(reader, "expected: way ROUTER ROUTER LINK ..., or via ROUTER PART LINK ...");
    struct link_set *set = &sets_of(reader, &network->hosts[router], via)[target];
    if (set->count && set->first + set->count != choices->pool_count)
        wrong(reader, "expected all ways of a pair one behind the other");
    set->first = set->count ? set->first : choices->pool_count;
    for (line += length; sscanf(line, "%lld%n", &link, &length) == 1; line += length) {
        if (!is_below(link, network->link_count) || network->links[link].source != router ||
            network->links[link].down || network->hosts[network->links[link].target].node)
            wrong(reader, "expected numbers of live links that lead from the router to routers");
        choices->pool = grown(choices->pool, choices->pool_count + 1, sizeof *choices->pool);
        choices->pool[choices->pool_count++] = (uint32_t)link;
        set->count++;
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
        wrong(reader, "neither cell, buffer, nic, node, router, in, address, link, trouble, choose, fair, "
                      "route, way nor "
                      "via, or a size out of range");
    }
}

static void read_line(struct reader *reader, const char *line) {
    if (strncmp(line, "route ", 6) == 0) {
        add_route(reader, line);
    } else if (strncmp(line, "way ", 4) == 0 || strncmp(line, "via ", 4) == 0) {
        add_way(reader, line, line[0] == 'v');
    } else if (reader->bits != NULL) {
        wrong(reader, "expected only routes after the first one");
    } else if (strncmp(line, "link ", 5) == 0) {
        add_link(reader, line);
    } else if (strncmp(line, "trouble ", 8) == 0) {
        add_trouble(reader, line);
    } else if (strncmp(line, "choose ", 7) == 0) {
        add_choose(reader, line);
    } else if (strcmp(line, "fair\n") == 0) {
        reader->network->fair = true;
    } else if (strncmp(line, "address ", 8) == 0) {
        add_address(reader, line);
    } else if (strncmp(line, "in ", 3) == 0) {
        struct network *network = reader->network;
        long long host, machine;
        if (sscanf(line, "%*s %lld %lld", &host, &machine) != 2 || !is_below(host, network->host_count) ||
            !is_below(machine, network->peers == NULL ? MOST_PARTS : network->peers->count))
            wrong(reader, "expected: in HOST MACHINE");
        network->hosts[host].machine = (uint32_t)machine;
    } else if (strncmp(line, "node ", 5) == 0 || strncmp(line, "router ", 7) == 0) {
        bool node = line[0] == 'n';
        struct network *network = reader->network;
        network->hosts = grown(network->hosts, network->host_count + 1, sizeof *network->hosts);
        struct host *host = &network->hosts[network->host_count++];
        struct in_addr ip = {0};
        *host = (struct host){.node = node};
        if (sscanf(line, "%*s %47s %255s", host->name, host->netns) != 2 ||
            (!node && inet_pton(AF_INET, host->netns, &ip) != 1))
            wrong(reader, node ? "expected: node NAME NETNS" : "expected: router NAME A.B.C.D");
        host->ip = ntohl(ip.s_addr);
    } else {
        read_sizes(reader, line);
    }
}

/* Exit with one line: `what` is wrong from one host to another, or to another part.
 */
static void refuse(const struct reader *reader, const char *what, uint32_t from, uint32_t to) {
    fprintf(stderr, "railyard-router: %s: %s from %s to %s\n", reader->path, what,
            reader->network->hosts[from].name,
            to == UINT32_MAX ? "another part" : reader->network->hosts[to].name);
    exit(EXIT_FAILURE);
}

/* Where a walk is: at a router, by a link on a channel, or by NO_LINK where it begins there. */
struct at {
    uint32_t router;
    int32_t link;
    uint8_t channel;
};

/* Stamps of walks, for each link and channel: where a walk to that address has been, the rest is known. */
struct stamps {
    uint64_t *of;
    uint64_t first, now; /* of the first walk to this address, and of this walk */
};

/* Follow the usual route to an address, up to its node or where an earlier walk has been, or to the first
 * router of `part` unless that is NO_PART. The channels must be below `channels`. With FIRST_ADAPTIVE the
 * walk is that of an escaped cell: pair, ring and upper channel then only rise, so that escape channels form
 * no circle. */
static struct at follow(const struct reader *reader, struct at at, uint32_t address, int32_t part,
                        uint8_t channels, struct stamps *stamps) {
    const struct network *network = reader->network;
    static const struct link none = {.ring = NO_RING};
    uint32_t start = at.router, node = network->addresses[address].node;
    for (uint32_t hops = 0; !network->hosts[at.router].node; hops++) {
        const struct host *host = &network->hosts[at.router];
        if (part != NO_PART && host->vias[part].count == 0)
            return at;
        int32_t next = host->next[address];
        if (next == NO_LINK || hops > network->host_count || network->links[next].down)
            refuse(reader, "no way", at.router, node);
        const struct link *after = &network->links[next];
        at.channel = channel_after(at.link == NO_LINK ? &none : &network->links[at.link], at.channel, after);
        if (at.channel >= channels)
            refuse(reader, "too many turns for the escape channels", start, node);
        at.link = next;
        at.router = (uint32_t)after->target;
        if (stamps == NULL)
            continue;
        uint64_t *stamp = &stamps->of[(size_t)next * CHANNELS + at.channel];
        if (*stamp >= stamps->first && *stamp != stamps->now)
            return at;
        *stamp = stamps->now;
    }
    if (at.router != node)
        refuse(reader, "no way", (uint32_t)network->links[at.link].source, node);
    return at;
}

/* Check the usual routes from some places to every address; their time grows with links times addresses. */
static void follow_all(const struct reader *reader, const struct at *starts, size_t count, uint8_t channels) {
    const struct network *network = reader->network;
    struct stamps stamps = {.of = zeroed((size_t)network->link_count * CHANNELS, sizeof *stamps.of),
                            .now = 1};
    for (uint32_t k = 0; k < network->address_count; k++) {
        stamps.first = stamps.now;
        for (size_t i = 0; i < count; i++, stamps.now++)
            follow(reader, starts[i], k, NO_PART, channels, &stamps);
    }
    free(stamps.of);
}

/* Checks of chosen routes. */

/* Return the links of the longest way, or exit where ways form a circle or end elsewhere. `steps` has what is
 * known: 0 nothing, UINT32_MAX that the walk is inside. `part` is NO_PART for ways to the router `end`. */
static uint32_t longest(const struct reader *reader, uint32_t here, int32_t part, uint32_t end,
                        uint32_t *steps) {
    const struct network *network = reader->network;
    const struct host *host = &network->hosts[here];
    if (here == end)
        return 0;
    if (steps[here] == UINT32_MAX)
        refuse(reader, "ways form a circle", here, end);
    if (steps[here])
        return steps[here];
    const struct link_set *sets = part == NO_PART ? host->ways : host->vias;
    struct link_set set = {0};
    if (sets != NULL)
        set = sets[part == NO_PART ? end : (uint32_t)part];
    if (set.count == 0 && part != NO_PART)
        return 0;
    if (set.count == 0)
        refuse(reader, "no way", here, end);
    uint32_t most = 0;
    steps[here] = UINT32_MAX;
    for (uint32_t i = 0; i < set.count; i++) {
        uint32_t next = (uint32_t)network->links[network->choices.pool[set.first + i]].target;
        uint32_t rest = longest(reader, next, part, end, steps);
        most = rest > most ? rest : most;
    }
    return steps[here] = most + 1;
}

/* Walk all ways of escape: from every router, by every part and without one, to every address. */
static void check_escapes(const struct reader *reader) {
    const struct network *network = reader->network;
    uint8_t *seen = zeroed(network->link_count, 1); /* a bit for each channel by which a walk went on */
    struct at *starts = zeroed(network->host_count + (size_t)network->link_count * CHANNELS, sizeof *starts);
    size_t count = 0;
    for (uint32_t i = 0; i < network->host_count; i++) {
        if (network->hosts[i].node)
            continue;
        struct at start = starts[count++] = (struct at){.router = i, .link = NO_LINK};
        for (uint32_t part = 0; part < network->choices.parts; part++) {
            struct at in = follow(reader, start, network->choices.part_address[part], (int32_t)part,
                                  FIRST_ADAPTIVE, NULL);
            if (in.link == NO_LINK || seen[in.link] & 1U << in.channel)
                continue;
            seen[in.link] |= (uint8_t)(1U << in.channel);
            starts[count++] = in;
        }
    }
    follow_all(reader, starts, count, FIRST_ADAPTIVE);
    free(starts);
    free(seen);
}

/* Follow every way that a hashed cell may take; `seen` has a bit for each channel of each link. */
static void walk_hashed(const struct reader *reader, uint32_t index, uint8_t channel, uint32_t end,
                        uint8_t *seen) {
    const struct network *network = reader->network;
    const struct link *link = &network->links[index];
    const struct host *host = &network->hosts[link->target];
    if (seen[index] & 1U << channel || (uint32_t)link->target == end)
        return;
    seen[index] |= (uint8_t)(1U << channel);
    struct link_set set = host->ways[end];
    bool straight = false;
    for (int pass = 0; pass < 2 && !straight; pass++) {
        for (uint32_t i = 0; i < set.count && !straight; i++) {
            uint32_t next = network->choices.pool[set.first + i];
            const struct link *after = &network->links[next];
            if (pass == 0 && (link->ring == NO_RING || after->ring != link->ring))
                continue;
            straight = pass == 0;
            if (turns_back(link, channel, after) && channel / 2 + 1 == PAIRS)
                refuse(reader, "too many turns for the virtual channels", (uint32_t)link->source, end);
            walk_hashed(reader, next, channel_after(link, channel, after), end, seen);
        }
    }
}

/* Check the ways to the router behind a NIC, from the routers of all NICs on its rail. */
static void check_ways(const struct reader *reader, uint32_t nic, uint32_t *steps, uint8_t *seen) {
    const struct network *network = reader->network;
    uint32_t end = (uint32_t)network->links[nic].target, address = 0;
    while (address < network->address_count &&
           network->addresses[address].node != (uint32_t)network->links[nic].source)
        address++;
    memset(steps, 0, network->host_count * sizeof *steps);
    memset(seen, 0, network->link_count);
    for (uint32_t i = 0; address < network->address_count && i < network->link_count; i++) {
        const struct link *link = &network->links[i];
        if (!network->hosts[link->source].node || end_router(network, link, address) != end)
            continue;
        longest(reader, (uint32_t)link->target, NO_PART, end, steps);
        if (network->choices.choose == CHOOSE_HASHED)
            walk_hashed(reader, i, 0, end, seen);
    }
}

static void check_choices(const struct reader *reader) {
    const struct network *network = reader->network;
    uint32_t *steps = zeroed(network->host_count, sizeof *steps);
    uint8_t *seen = zeroed(network->link_count, 1);
    for (uint32_t i = 0; i < network->link_count; i++)
        if (network->hosts[network->links[i].source].node)
            check_ways(reader, i, steps, seen);
    for (uint32_t part = 0; part < network->choices.parts; part++) {
        memset(steps, 0, network->host_count * sizeof *steps);
        for (uint32_t i = 0; i < network->host_count; i++)
            if (!network->hosts[i].node)
                longest(reader, i, (int32_t)part, UINT32_MAX, steps);
    }
    if (is_adaptive(network))
        check_escapes(reader);
    free(steps);
    free(seen);
}

static void check(const struct reader *reader) {
    const struct network *network = reader->network;
    if (network->cell_bytes == 0 || network->buffer_bytes < network->cell_bytes || network->nic_bytes == 0 ||
        network->port_bytes == 0 || network->address_count == 0 || reader->bits == NULL) {
        wrong(reader,
              "expected cell, a buffer of at least one cell, nic, addresses and routes before the end");
    }
    /* Queues are numbered in 32 bits: one for each input and output of each host. */
    uint64_t *inputs = zeroed(network->host_count, sizeof *inputs), queues = 0;
    for (uint32_t i = 0; i < network->link_count; i++)
        inputs[network->links[i].target]++;
    for (uint32_t i = 0; i < network->link_count; i++)
        queues += inputs[network->links[i].source];
    free(inputs);
    if (queues > MOST_QUEUES)
        wrong(reader, "too many links at one host");
    /* Check the usual routes from every NIC to every address. */
    struct at *starts = zeroed(network->link_count, sizeof *starts);
    size_t count = 0;
    for (uint32_t i = 0; i < network->link_count; i++) {
        uint32_t router = (uint32_t)network->links[i].target;
        bool is_first = count == 0 || starts[count - 1].router != router; /* of the NICs at a router */
        if (is_first && network->hosts[network->links[i].source].node)
            starts[count++] = (struct at){.router = router, .link = (int32_t)i};
    }
    follow_all(reader, starts, count, CHANNELS);
    free(starts);
    if (network->choices.choose != CHOOSE_FIXED) {
        for (uint32_t i = 0; i < network->host_count; i++) {
            if (network->hosts[i].node)
                continue;
            sets_of(reader, &network->hosts[i], false);
            if (network->choices.parts)
                sets_of(reader, &network->hosts[i], true);
        }
        choices_prepare(reader->network);
        check_choices(reader);
    }
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
