/* railyard-counters TORUS [INTERVAL_MS]
 *
 * Prints what the kernel has counted at every interface of a virtual torus, and with an interval watches it
 * until standard input ends. C and not Python: a sweep over 128 namespaces takes some 3 ms, little enough to
 * be made ten times a second beside a measurement.
 *
 * Output, one line each, words separated by blanks:
 *
 *   i HOST INTERFACE rx_bytes rx_packets rx_dropped tx_bytes tx_packets tx_dropped
 *   q HOST INTERFACE rate_byte_s bytes packets drops throttled backlog_bytes backlog_packets
 *   .                                                                          end of a snapshot
 *   t seconds cpu_ticks idle_ticks softirq_ticks steal_ticks share HOST INTERFACE packets bytes
 *     hot_ticks hot_idle_ticks hot_softirq_ticks
 *   w seconds ranks run_ns wait_ns most_wait_ns timed         after each line t: see struct look in ranks.h
 *   b seconds share HOST INTERFACE                            once, where ranks took timed samples
 *
 * Where a user-space router carries the packets the same lines come from its counters (../router/counters.h),
 * and a snapshot has more lines:
 *
 *   r process chunks_read delivered lost unroutable write_errors in_flight flight_ns
 *   x cells late clock_error_ns                                from the routers of other machines
 *   h late_ns|late_ppm count sum max START:COUNT...           a histogram, buckets that are not empty
 *   s HOST INTERFACE input_stall_ns output_stall_ns replays outages outage_ns delayed_ns
 *     chunks                                                of each link, after its lines i and q
 *
 * Without an interval: two snapshots, one after the other. With one: a snapshot; a line `t` for each
 * interval, with the time of the processors that this process may use, the interface that sent the largest
 * share of its rate, and the time of the one processor that spent most on packets (hot); a line `b` with how
 * long ranks took timed samples and the interface that sent the largest share of its rate meanwhile; then two
 * snapshots.
 * Left out: the loopback and management interfaces and the head, which carry no measured traffic.
 */
#define _GNU_SOURCE
#include "../router/counters.h"
#include "../common.h"
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_USAGE = 2,
    EXIT_CANNOT = 1,
    NAME_BYTES = 64,
    REPLY_BYTES = 1 << 16,
    FIND_EVERY = 3,
    ATTEMPTS = 10000
};

/* A sending end: an interface of a host, or the near end of a link of the user-space router. */
struct port {
    char host[NAME_BYTES];
    char name[NAME_BYTES];
    int index; /* of the interface on its host */
    struct rtnl_link_stats64 stats;
    uint64_t rate_byte_s;
    uint64_t bytes, packets, drops, throttled, backlog_bytes, backlog_packets; /* of the shaper */
    uint64_t bytes_before, packets_before;                                     /* at the sweep before */
    uint64_t timed_bytes; /* while ranks took timed samples */
};

/* Ports that are read at once: those of a host, or all of the router's. */
struct host {
    char name[NAME_BYTES];
    int socket;
    struct port *ports;
    size_t count;
};

/* The counters of the user-space router. */
struct routed {
    const struct counters_header *live;
    struct counters_header *copy;
    size_t size;
    uint64_t *back; /* link -> the link the other way */
};

struct torus {
    struct host *hosts;
    size_t count;
    struct ranks *ranks;
    struct routed *routed; /* or NULL; if it is used, all ports are those of one host */
};

/* The port that sent the largest share of its rate in an interval, and what all ports sent. */
struct busiest {
    const struct port *port;
    double share;
    uint64_t packets, bytes;
};

struct processor {
    uint64_t total, idle, softirq, steal;
};

struct processors {
    struct processor all;
    struct processor each[CPU_SETSIZE];
};

const int failure_status = EXIT_CANNOT;

/* Netlink. */

typedef void take_message(struct host *host, const struct nlmsghdr *message);

/* Request a dump of a host's kernel tables and pass every message of the answer to `take`. */
static void dump(struct host *host, uint16_t type, take_message *take) {
    struct {
        struct nlmsghdr header;
        union {
            struct ifinfomsg link;
            struct tcmsg queue;
        } body;
    } request = {.header = {.nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
    request.header.nlmsg_len =
        NLMSG_LENGTH(type == RTM_GETLINK ? sizeof request.body.link : sizeof request.body.queue);
    if (send(host->socket, &request, request.header.nlmsg_len, 0) < 0)
        fail("ask the kernel about", host->name);
    static char reply[REPLY_BYTES];
    for (;;) {
        ssize_t received = recv(host->socket, reply, sizeof reply, 0);
        if (received <= 0)
            fail("read the kernel's answer about", host->name);
        size_t left = (size_t)received;
        for (struct nlmsghdr *m = (void *)reply; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
            if (m->nlmsg_type == NLMSG_DONE)
                return;
            if (m->nlmsg_type == NLMSG_ERROR) {
                errno = -((struct nlmsgerr *)NLMSG_DATA(m))->error;
                fail("read the counters of", host->name);
            }
            take(host, m);
        }
    }
}

static const struct rtattr *attribute(const struct rtattr *first, size_t length, unsigned short type) {
    for (const struct rtattr *a = first; RTA_OK(a, length); a = RTA_NEXT(a, length))
        if ((a->rta_type & NLA_TYPE_MASK) == type)
            return a;
    return NULL;
}

static const struct rtattr *inside(const struct rtattr *outer, unsigned short type) {
    return outer ? attribute(RTA_DATA(outer), RTA_PAYLOAD(outer), type) : NULL;
}

/* Copies what an attribute holds, as much as the kernel and we both know of it. */
static void copy(void *to, size_t size, const struct rtattr *from) {
    memset(to, 0, size);
    if (from)
        memcpy(to, RTA_DATA(from), RTA_PAYLOAD(from) < size ? RTA_PAYLOAD(from) : size);
}

static struct port *find(struct host *host, int index) {
    for (size_t i = 0; i < host->count; i++)
        if (host->ports[i].index == index)
            return &host->ports[i];
    return NULL;
}

static void take_link(struct host *host, const struct nlmsghdr *message) {
    const struct ifinfomsg *body = NLMSG_DATA(message);
    const struct rtattr *first = IFLA_RTA(body);
    size_t length = IFLA_PAYLOAD(message);
    const struct rtattr *name = attribute(first, length, IFLA_IFNAME);
    if (!name || strcmp(RTA_DATA(name), "lo") == 0 || strcmp(RTA_DATA(name), "mgmt0") == 0)
        return;
    struct port *match = find(host, body->ifi_index);
    if (!match) {
        host->ports = grown(host->ports, host->count + 1, sizeof *host->ports);
        struct port *added = &host->ports[host->count++];
        *added = (struct port){.index = body->ifi_index};
        snprintf(added->host, sizeof added->host, "%s", host->name);
        match = added;
    }
    snprintf(match->name, sizeof match->name, "%s", (const char *)RTA_DATA(name));
    copy(&match->stats, sizeof match->stats, attribute(first, length, IFLA_STATS64));
}

static void take_queue(struct host *host, const struct nlmsghdr *message) {
    const struct tcmsg *body = NLMSG_DATA(message);
    struct port *match = find(host, body->tcm_ifindex);
    const struct rtattr *first = TCA_RTA(body);
    size_t length = TCA_PAYLOAD(message);
    const struct rtattr *kind = attribute(first, length, TCA_KIND);
    if (!match || body->tcm_parent != TC_H_ROOT || !kind || strcmp(RTA_DATA(kind), "tbf") != 0)
        return;
    const struct rtattr *stats = attribute(first, length, TCA_STATS2);
    const struct rtattr *options = attribute(first, length, TCA_OPTIONS);
    struct gnet_stats_basic basic;
    struct gnet_stats_queue queue;
    struct tc_tbf_qopt tbf;
    copy(&basic, sizeof basic, inside(stats, TCA_STATS_BASIC));
    copy(&queue, sizeof queue, inside(stats, TCA_STATS_QUEUE));
    copy(&tbf, sizeof tbf, inside(options, TCA_TBF_PARMS));
    match->rate_byte_s = tbf.rate.rate;
    const struct rtattr *wide = inside(options, TCA_TBF_RATE64);
    if (wide)
        copy(&match->rate_byte_s, sizeof match->rate_byte_s, wide);
    match->bytes = basic.bytes;
    match->packets = basic.packets;
    match->drops = queue.drops;
    match->throttled = queue.overlimits;
    match->backlog_bytes = queue.backlog;
    match->backlog_packets = queue.qlen;
}

/* The user-space router. */

static const struct link_counters *links_of(const struct routed *routed) {
    return (const struct link_counters *)(routed->copy + 1);
}

/* Copy all at one moment between two steps of the router. One that died in the middle of a step leaves what
 * it had. */
static void take(struct routed *routed) {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t before = atomic_load_explicit(&routed->live->sequence, memory_order_acquire);
        memcpy(routed->copy, routed->live, routed->size);
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 && before == atomic_load_explicit(&routed->live->sequence, memory_order_relaxed))
            return;
        if (kill((pid_t)routed->live->pid, 0) != 0 && errno == ESRCH)
            return;
        usleep(20);
    }
}

/* Find the link the other way of every link. */
static void pair(struct routed *routed) {
    const struct link_counters *links = links_of(routed);
    uint64_t count = routed->copy->links;
    for (uint64_t i = 0; i < count; i++) {
        for (uint64_t k = i + 1; k < count; k++) {
            if (strcmp(links[i].host, links[k].far_host) == 0 &&
                strcmp(links[i].port, links[k].far_port) == 0) {
                routed->back[i] = k;
                routed->back[k] = i;
                break;
            }
        }
    }
}

/* Open the counters of a torus's router, or return NULL where the torus has none. */
static struct routed *open_routed(const char *torus) {
    char path[256];
    snprintf(path, sizeof path, "/run/railyard/%s/router.counters", torus);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    struct stat status;
    struct routed *routed = zeroed(1, sizeof *routed);
    if (fstat(file, &status) != 0 || (size_t)status.st_size < sizeof *routed->live)
        fail("read", "the counters of the router");
    routed->size = (size_t)status.st_size;
    routed->live = mmap(NULL, routed->size, PROT_READ, MAP_SHARED, file, 0);
    routed->copy = grown(NULL, routed->size, 1);
    size_t count = (routed->size - sizeof *routed->live) / sizeof(struct link_counters);
    routed->back = zeroed(count, sizeof *routed->back);
    errno = 0;
    if (routed->live == MAP_FAILED || routed->live->magic != COUNTERS_MAGIC || routed->live->links != count)
        fail("map", "the counters of the router");
    close(file);
    take(routed);
    pair(routed);
    return routed;
}

static void print_histogram(const char *name, const struct histogram *histogram) {
    printf("h %s %" PRIu64 " %" PRIu64 " %" PRIu64, name, histogram->count, histogram->sum, histogram->max);
    for (unsigned i = 0; i < LATENESS_BUCKETS; i++)
        if (histogram->buckets[i])
            printf(" %" PRIu64 ":%" PRIu64, bucket_start(i), histogram->buckets[i]);
    putchar('\n');
}

/* The torus. */

static struct torus open_torus(const char *name) {
    char pattern[256];
    int prefix = snprintf(pattern, sizeof pattern, "/run/netns/railyard.%s.*", name) - 1;
    glob_t paths;
    if (glob(pattern, 0, NULL, &paths) != 0) {
        fprintf(stderr, "railyard-counters: no torus %s\n", name);
        exit(EXIT_CANNOT);
    }
    struct torus torus = {.hosts = zeroed(paths.gl_pathc, sizeof(struct host)), .routed = open_routed(name)};
    /* Ranks are on every host but the head. */
    ino_t *inodes = zeroed(paths.gl_pathc, sizeof *inodes);
    size_t count = 0;
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        struct stat status;
        if (strcmp(paths.gl_pathv[i] + prefix, "head") != 0 && stat(paths.gl_pathv[i], &status) == 0)
            inodes[count++] = status.st_ino;
    }
    torus.ranks = ranks_open(inodes, count);
    free(inodes);
    if (torus.routed) {
        torus.hosts->count = torus.routed->copy->links;
        torus.hosts->ports = zeroed(torus.hosts->count, sizeof(struct port));
        torus.count = 1;
    }
    for (size_t i = 0; torus.routed == NULL && i < paths.gl_pathc; i++) {
        const char *host = paths.gl_pathv[i] + prefix;
        if (strcmp(host, "head") != 0) {
            struct host *added = &torus.hosts[torus.count++];
            snprintf(added->name, sizeof added->name, "%s", host);
            enter_network(paths.gl_pathv[i], added->name);
            int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
            if (descriptor < 0)
                fail("open a socket in", added->name);
            added->socket = descriptor;
        }
    }
    globfree(&paths);
    return torus;
}

/* Read all ports: the shapers of a kernel's, and with `all` the interfaces as well. */
static void read_ports(struct torus *torus, bool all) {
    if (torus->routed) {
        /* Read the ports of the router's links. Bytes on the wire count as received: the two ends of a link
         * then agree at any moment. */
        take(torus->routed);
        const struct link_counters *links = links_of(torus->routed);
        for (uint64_t i = 0; i < torus->routed->copy->links; i++) {
            const struct link_counters *link = &links[i], *back = &links[torus->routed->back[i]];
            struct port *port = &torus->hosts->ports[i];
            snprintf(port->host, sizeof port->host, "%s", link->host);
            snprintf(port->name, sizeof port->name, "%s", link->port);
            port->stats.rx_bytes = back->rx_bytes + back->wire_bytes;
            port->stats.rx_packets = back->rx_cells;
            port->stats.tx_bytes = port->bytes = link->tx_bytes;
            port->stats.tx_packets = port->packets = link->tx_cells;
            port->stats.tx_dropped = link->dropped;
            port->rate_byte_s = link->rate_byte_s;
            port->throttled = link->waited;
            port->backlog_bytes = link->backlog_bytes;
            port->backlog_packets = link->backlog_cells;
        }
    }
    for (struct host *host = torus->hosts; !torus->routed && host < torus->hosts + torus->count; host++) {
        if (all)
            dump(host, RTM_GETLINK, take_link);
        dump(host, RTM_GETQDISC, take_queue);
    }
}

static void snapshot(struct torus *torus) {
    read_ports(torus, true);
    for (const struct host *host = torus->hosts; host < torus->hosts + torus->count; host++) {
        for (const struct port *p = host->ports; p < host->ports + host->count; p++) {
            printf("i %s %s %llu %llu %llu %llu %llu %llu\n", p->host, p->name, p->stats.rx_bytes,
                   p->stats.rx_packets, p->stats.rx_dropped, p->stats.tx_bytes, p->stats.tx_packets,
                   p->stats.tx_dropped);
            printf("q %s %s %lu %lu %lu %lu %lu %lu %lu\n", p->host, p->name, p->rate_byte_s, p->bytes,
                   p->packets, p->drops, p->throttled, p->backlog_bytes, p->backlog_packets);
        }
    }
    if (torus->routed) {
        /* Print the lines of a snapshot that the router alone has. */
        const struct counters_header *h = torus->routed->copy;
        for (const struct link_counters *link = links_of(torus->routed);
             link < links_of(torus->routed) + h->links; link++)
            printf("s %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                   "\n",
                   link->host, link->port, link->input_stall_ns, link->output_stall_ns, link->replays,
                   link->outages, link->outage_ns, link->delayed_ns, link->tx_chunks);
        printf("r %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
               " %" PRIu64 "\n",
               h->pid, h->chunks_read, h->chunks_delivered, h->chunks_lost, h->chunks_unroutable,
               h->write_errors, h->in_flight, h->flight_ns);
        printf("x %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", h->crossed, h->crossed_late, h->clock_error_ns);
        print_histogram("late_ns", &h->late_ns);
        print_histogram("late_ppm", &h->late_ppm);
    }
    puts(".");
}

/* Watching. */

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Add a processor's line of /proc/stat: user nice system idle iowait irq softirq steal, in clock ticks. */
static void add_processor(struct processor *sum, const unsigned long long *v) {
    sum->idle += v[3] + v[4];
    sum->softirq += v[5] + v[6];
    sum->steal += v[7];
    for (int i = 0; i < 8; i++)
        sum->total += v[i];
}

/* Count only the processors that this process may use: idle processors elsewhere in a larger machine are of
 * no use to the torus. */
static void read_processors(struct processors *now) {
    memset(now, 0, sizeof *now);
    cpu_set_t usable;
    char line[512];
    FILE *file = fopen("/proc/stat", "re");
    if (!file || sched_getaffinity(0, sizeof usable, &usable) != 0)
        fail("read", "/proc/stat");
    while (fgets(line, sizeof line, file)) {
        unsigned cpu;
        unsigned long long v[8] = {0};
        if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &v[0], &v[1], &v[2], &v[3],
                   &v[4], &v[5], &v[6], &v[7]) == 9 &&
            cpu < CPU_SETSIZE && CPU_ISSET(cpu, &usable)) {
            add_processor(&now->all, v);
            add_processor(&now->each[cpu], v);
        }
    }
    fclose(file);
}

static struct processor since(const struct processor *after, const struct processor *before) {
    return (struct processor){
        .total = after->total - before->total,
        .idle = after->idle - before->idle,
        .softirq = after->softirq - before->softirq,
        .steal = after->steal - before->steal,
    };
}

/* Ticks of the processor that spent most time on packets: one flow can saturate it while others are idle. */
static struct processor hottest(const struct processors *after, const struct processors *before) {
    struct processor hot = {0};
    for (int i = 0; i < CPU_SETSIZE; i++) {
        struct processor one = since(&after->each[i], &before->each[i]);
        if (one.softirq > hot.softirq || hot.total == 0)
            hot = one;
    }
    return hot;
}

/* Make a port the busiest where `bytes` are a larger share of its rate. */
static void compare(struct busiest *busiest, const struct port *port, uint64_t bytes, double seconds) {
    double share = port->rate_byte_s ? (double)bytes / ((double)port->rate_byte_s * seconds) : 0;
    if (busiest->port == NULL || share > busiest->share) {
        busiest->port = port;
        busiest->share = share;
    }
}

/* Read what every port has sent since the sweep before. */
static struct busiest sweep(struct torus *torus, double seconds, bool timed) {
    struct busiest busiest = {0};
    read_ports(torus, false);
    for (struct host *host = torus->hosts; host < torus->hosts + torus->count; host++) {
        for (struct port *port = host->ports; port < host->ports + host->count; port++) {
            uint64_t bytes = port->bytes - port->bytes_before;
            compare(&busiest, port, bytes, seconds);
            busiest.bytes += bytes;
            busiest.packets += port->packets - port->packets_before;
            port->timed_bytes += timed ? bytes : 0;
            port->bytes_before = port->bytes;
            port->packets_before = port->packets;
        }
    }
    return busiest;
}

/* One line for each interval, until standard input ends. */
static void watch(struct torus *torus, int interval_ms) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct processors before, after;
    sweep(torus, 1, false);
    read_processors(&before);
    double then = now_s(), timed_s = 0;
    unsigned sweeps = 0;
    for (char byte; poll(&input, 1, interval_ms) == 0 || read(STDIN_FILENO, &byte, 1) > 0;) {
        read_processors(&after);
        double now = now_s(), seconds = now - then;
        struct look look = ranks_look(torus->ranks);
        struct busiest busiest = sweep(torus, seconds, look.timed > 0);
        struct processor all = since(&after.all, &before.all), hot = hottest(&after, &before);
        printf("t %.4f %lu %lu %lu %lu %.4f %s %s %lu %lu %lu %lu %lu\n", seconds, all.total, all.idle,
               all.softirq, all.steal, busiest.share, busiest.port ? busiest.port->host : "-",
               busiest.port ? busiest.port->name : "-", busiest.packets, busiest.bytes, hot.total, hot.idle,
               hot.softirq);
        printf("w %.4f %zu %" PRIu64 " %" PRIu64 " %" PRIu64 " %zu\n", seconds, look.ranks, look.run_ns,
               look.wait_ns, look.most_wait_ns, look.timed);
        timed_s += look.timed > 0 ? seconds : 0;
        if (++sweeps % FIND_EVERY == 0)
            ranks_find(torus->ranks);
        before = after;
        then = now;
    }
    struct busiest busiest = {0};
    for (const struct host *host = torus->hosts; host < torus->hosts + torus->count; host++)
        for (const struct port *port = host->ports; port < host->ports + host->count; port++)
            compare(&busiest, port, port->timed_bytes, timed_s);
    if (timed_s > 0 && busiest.port != NULL)
        printf("b %.4f %.4f %s %s\n", timed_s, busiest.share, busiest.port->host, busiest.port->name);
}

int main(int count, char **arguments) {
    int interval_ms = count == 3 ? atoi(arguments[2]) : 0;
    if (count < 2 || count > 3 || (count == 3 && interval_ms < 1) || strchr(arguments[1], '/')) {
        fputs("usage: railyard-counters TORUS [INTERVAL_MS]\n", stderr);
        return EXIT_USAGE;
    }
    allow_descriptors();
    struct torus torus = open_torus(arguments[1]);
    snapshot(&torus);
    if (interval_ms) {
        fflush(stdout);
        watch(&torus, interval_ms);
        snapshot(&torus);
    }
    snapshot(&torus);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_CANNOT;
}
