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
 * Where a user-space router carries the packets (router.c) the same lines come from its counters,
 * and a snapshot has two lines more:
 *
 *   r process chunks_read delivered lost unroutable write_errors in_flight flight_ns
 *   h late_ns|late_ppm count sum max START:COUNT...           a histogram, buckets that are not empty
 *   s HOST INTERFACE input_stall_ns output_stall_ns replays chunks    of each link, after its lines i and q
 *
 * Without an interval: two snapshots, one after the other. With one: a snapshot; a line `t` for each
 * interval, with the time of the processors that this process may use, the interface that sent the largest
 * share of its rate, and the time of the one processor that spent most on packets (hot); a line `b` with how
 * long ranks took timed samples and the interface that sent the largest share of its rate meanwhile; then two
 * snapshots.
 * Left out: the loopback and management interfaces and the head, which carry no measured traffic.
 */
#define _GNU_SOURCE
#include "ranks.h"
#include "router.h"

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
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_CANNOT = 1, NAME_BYTES = 64, REPLY_BYTES = 1 << 16, FIND_EVERY = 3 };

struct interface {
    int index;
    char name[NAME_BYTES];
    struct rtnl_link_stats64 stats;
    uint64_t rate_byte_s;
    uint64_t bytes, packets;
    uint64_t bytes_before, packets_before;
    uint64_t timed_bytes; /* while ranks took timed samples */
    struct gnet_stats_queue queue;
};

struct host {
    char name[NAME_BYTES];
    int socket;
    struct interface *interfaces;
    size_t count;
};

struct torus {
    struct host *hosts;
    size_t count;
    struct ranks *ranks;
    struct routed *routed; /* the user-space router's counters; if it is used, hosts are not read */
};

struct processor {
    uint64_t total, idle, softirq, steal;
};

struct processors {
    struct processor all;
    struct processor each[CPU_SETSIZE];
};

static void fail(const char *what, const char *name) {
    fprintf(stderr, "railyard-counters: cannot %s %s: %s\n", what, name, strerror(errno));
    exit(EXIT_CANNOT);
}

/* Netlink.
 * --------------------------------------------------------------------------------------------------- */

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

static struct interface *find(struct host *host, int index) {
    for (size_t i = 0; i < host->count; i++)
        if (host->interfaces[i].index == index)
            return &host->interfaces[i];
    return NULL;
}

static struct interface *add(struct host *host, int index) {
    host->interfaces = realloc(host->interfaces, (host->count + 1) * sizeof *host->interfaces);
    if (!host->interfaces)
        fail("remember the interfaces of", host->name);
    struct interface *added = &host->interfaces[host->count++];
    *added = (struct interface){.index = index};
    return added;
}

static void take_link(struct host *host, const struct nlmsghdr *message) {
    const struct ifinfomsg *body = NLMSG_DATA(message);
    const struct rtattr *first = IFLA_RTA(body);
    size_t length = IFLA_PAYLOAD(message);
    const struct rtattr *name = attribute(first, length, IFLA_IFNAME);
    if (!name || strcmp(RTA_DATA(name), "lo") == 0 || strcmp(RTA_DATA(name), "mgmt0") == 0)
        return;
    struct interface *match = find(host, body->ifi_index);
    if (!match)
        match = add(host, body->ifi_index);
    snprintf(match->name, sizeof match->name, "%s", (const char *)RTA_DATA(name));
    copy(&match->stats, sizeof match->stats, attribute(first, length, IFLA_STATS64));
}

static void take_queue(struct host *host, const struct nlmsghdr *message) {
    const struct tcmsg *body = NLMSG_DATA(message);
    struct interface *match = find(host, body->tcm_ifindex);
    const struct rtattr *first = TCA_RTA(body);
    size_t length = TCA_PAYLOAD(message);
    const struct rtattr *kind = attribute(first, length, TCA_KIND);
    if (!match || body->tcm_parent != TC_H_ROOT || !kind || strcmp(RTA_DATA(kind), "tbf") != 0)
        return;
    const struct rtattr *stats = attribute(first, length, TCA_STATS2);
    const struct rtattr *options = attribute(first, length, TCA_OPTIONS);
    struct gnet_stats_basic basic;
    struct tc_tbf_qopt tbf;
    copy(&basic, sizeof basic, inside(stats, TCA_STATS_BASIC));
    copy(&match->queue, sizeof match->queue, inside(stats, TCA_STATS_QUEUE));
    copy(&tbf, sizeof tbf, inside(options, TCA_TBF_PARMS));
    match->rate_byte_s = tbf.rate.rate;
    const struct rtattr *wide = inside(options, TCA_TBF_RATE64);
    if (wide)
        copy(&match->rate_byte_s, sizeof match->rate_byte_s, wide);
    match->bytes = basic.bytes;
    match->packets = basic.packets;
}

/* The torus.
 * ------------------------------------------------------------------------------------------------- */

static int socket_in(const char *path, const char *name) {
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, CLONE_NEWNET) != 0)
        fail("enter", name);
    close(namespace);
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (descriptor < 0)
        fail("open a socket in", name);
    return descriptor;
}

/* Ranks are on every host but the head. */
static struct ranks *open_ranks(const glob_t *paths, int prefix) {
    ino_t *inodes = calloc(paths->gl_pathc, sizeof *inodes);
    size_t count = 0;
    for (size_t i = 0; inodes != NULL && i < paths->gl_pathc; i++) {
        struct stat status;
        if (strcmp(paths->gl_pathv[i] + prefix, "head") != 0 && stat(paths->gl_pathv[i], &status) == 0)
            inodes[count++] = status.st_ino;
    }
    struct ranks *ranks = ranks_open(inodes, count);
    free(inodes);
    return ranks;
}

static struct torus open_torus(const char *name) {
    char pattern[256];
    int prefix = snprintf(pattern, sizeof pattern, "/run/netns/railyard.%s.*", name) - 1;
    glob_t paths;
    if (glob(pattern, 0, NULL, &paths) != 0) {
        fprintf(stderr, "railyard-counters: no torus %s\n", name);
        exit(EXIT_CANNOT);
    }
    struct torus torus = {.hosts = calloc(paths.gl_pathc, sizeof(struct host)), .routed = routed_open(name)};
    if (!torus.hosts)
        fail("remember", name);
    torus.ranks = open_ranks(&paths, prefix);
    for (size_t i = 0; torus.routed == NULL && i < paths.gl_pathc; i++) {
        const char *host = paths.gl_pathv[i] + prefix;
        if (strcmp(host, "head") != 0) {
            struct host *added = &torus.hosts[torus.count++];
            snprintf(added->name, sizeof added->name, "%s", host);
            added->socket = socket_in(paths.gl_pathv[i], added->name);
        }
    }
    globfree(&paths);
    return torus;
}

static void snapshot(struct torus *torus) {
    if (torus->routed)
        routed_snapshot(torus->routed);
    for (struct host *host = torus->hosts; host < torus->hosts + torus->count; host++) {
        dump(host, RTM_GETLINK, take_link);
        dump(host, RTM_GETQDISC, take_queue);
    }
    for (struct host *host = torus->hosts; host < torus->hosts + torus->count; host++) {
        for (struct interface *i = host->interfaces; i < host->interfaces + host->count; i++) {
            printf("i %s %s %llu %llu %llu %llu %llu %llu\n", host->name, i->name, i->stats.rx_bytes,
                   i->stats.rx_packets, i->stats.rx_dropped, i->stats.tx_bytes, i->stats.tx_packets,
                   i->stats.tx_dropped);
            printf("q %s %s %lu %lu %lu %u %u %u %u\n", host->name, i->name, i->rate_byte_s, i->bytes,
                   i->packets, i->queue.drops, i->queue.overlimits, i->queue.backlog, i->queue.qlen);
        }
    }
    puts(".");
}

/* Watching.
 * -------------------------------------------------------------------------------------------------- */

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

/* Ticks of the processor that spent most time on packets: one flow can saturate it while all others are idle.
 */
static struct processor hottest(const struct processors *after, const struct processors *before) {
    struct processor hot = {0};
    for (int i = 0; i < CPU_SETSIZE; i++) {
        struct processor one = since(&after->each[i], &before->each[i]);
        if (one.softirq > hot.softirq || hot.total == 0)
            hot = one;
    }
    return hot;
}

static void sweep(struct torus *torus, double seconds, bool timed, const struct processors *before,
                  const struct processors *after) {
    const struct host *busiest_host = NULL;
    const struct interface *busiest = NULL;
    double largest = 0;
    uint64_t packets = 0, bytes = 0;
    for (struct host *host = torus->hosts; host < torus->hosts + torus->count; host++) {
        dump(host, RTM_GETQDISC, take_queue);
        for (struct interface *i = host->interfaces; i < host->interfaces + host->count; i++) {
            double sent = (double)(i->bytes - i->bytes_before);
            double share = i->rate_byte_s ? sent / ((double)i->rate_byte_s * seconds) : 0;
            if (!busiest || share > largest) {
                busiest_host = host;
                busiest = i;
                largest = share;
            }
            packets += i->packets - i->packets_before;
            bytes += i->bytes - i->bytes_before;
            i->timed_bytes += timed ? i->bytes - i->bytes_before : 0;
            i->bytes_before = i->bytes;
            i->packets_before = i->packets;
        }
    }
    struct busiest sweep = {.share = largest, .packets = packets, .bytes = bytes};
    if (torus->routed) {
        sweep = routed_sweep(torus->routed, seconds, timed);
    } else if (busiest) {
        sweep.host = busiest_host->name;
        sweep.port = busiest->name;
    }
    struct processor all = since(&after->all, &before->all), hot = hottest(after, before);
    printf("t %.4f %lu %lu %lu %lu %.4f %s %s %lu %lu %lu %lu %lu\n", seconds, all.total, all.idle,
           all.softirq, all.steal, sweep.share, sweep.host ? sweep.host : "-", sweep.port ? sweep.port : "-",
           sweep.packets, sweep.bytes, hot.total, hot.idle, hot.softirq);
}

static void remember(struct torus *torus) {
    if (torus->routed)
        routed_sweep(torus->routed, 1, false);
    for (struct host *host = torus->hosts; host < torus->hosts + torus->count; host++) {
        for (struct interface *i = host->interfaces; i < host->interfaces + host->count; i++) {
            i->bytes_before = i->bytes;
            i->packets_before = i->packets;
        }
    }
}

static struct busiest busiest_timed(const struct torus *torus, double seconds) {
    struct busiest busiest = {.share = -1};
    for (const struct host *host = torus->hosts; host < torus->hosts + torus->count; host++) {
        for (const struct interface *i = host->interfaces; i < host->interfaces + host->count; i++) {
            double share = i->rate_byte_s ? (double)i->timed_bytes / ((double)i->rate_byte_s * seconds) : 0;
            if (share > busiest.share)
                busiest = (struct busiest){.host = host->name, .port = i->name, .share = share};
        }
    }
    return torus->routed ? routed_timed(torus->routed, seconds) : busiest;
}

/* One line for each interval, until standard input ends. */
static void watch(struct torus *torus, int interval_ms) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct processors before, after;
    read_processors(&before);
    double then = now_s(), timed_s = 0;
    remember(torus);
    unsigned sweeps = 0;
    for (char byte; poll(&input, 1, interval_ms) == 0 || read(STDIN_FILENO, &byte, 1) > 0;) {
        read_processors(&after);
        double now = now_s(), seconds = now - then;
        struct look look = ranks_look(torus->ranks);
        sweep(torus, seconds, look.timed > 0, &before, &after);
        printf("w %.4f %zu %" PRIu64 " %" PRIu64 " %" PRIu64 " %zu\n", seconds, look.ranks, look.run_ns,
               look.wait_ns, look.most_wait_ns, look.timed);
        timed_s += look.timed > 0 ? seconds : 0;
        if (++sweeps % FIND_EVERY == 0)
            ranks_find(torus->ranks);
        before = after;
        then = now;
    }
    if (timed_s > 0) {
        struct busiest busiest = busiest_timed(torus, timed_s);
        printf("b %.4f %.4f %s %s\n", timed_s, busiest.share, busiest.host, busiest.port);
    }
}

/* A torus has a socket per host; the usual soft limit of 1024 open files would end at some 1000 hosts. */
static void allow_many_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int count, char **arguments) {
    int interval_ms = count == 3 ? atoi(arguments[2]) : 0;
    if (count < 2 || count > 3 || (count == 3 && interval_ms < 1) || strchr(arguments[1], '/')) {
        fputs("usage: railyard-counters TORUS [INTERVAL_MS]\n", stderr);
        return EXIT_USAGE;
    }
    allow_many_files();
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
