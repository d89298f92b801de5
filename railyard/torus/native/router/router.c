/* railyard-router [--help] DESCRIPTION COUNTERS NETNS [NAME=SOCKET ...]
 * railyard-router --simulate DESCRIPTION < MESSAGES
 *
 * Forwards the packets of a virtual torus: one process for all links and routers. Every NIC of a node is a
 * TAP device; what a node sends is read as one chunk, crosses the network of network.h in virtual time, and
 * is written to the destination's NIC when it is due. The process lives in the network namespace NETNS (a
 * path), so it ends with its torus. It prints `ready` when all NICs exist. SIGHUP makes it read DESCRIPTION
 * again (rates, dead links, routes), and DESCRIPTION.hidden (description.h); `generation` of COUNTERS then is
 * that of the description.
 *
 * Leaves out: the start of the torus, addresses and routes in the nodes (railyard/torus/engines/router.py).
 */
#define _GNU_SOURCE
#include "../common.h"
#include "nics.h"
#include "peers.h"
#include "simulate.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_USAGE = 2,
    NS_PER_S = 1000000000,
    READY_NICS = 64,
    MOST_WAIT_MS = 60000,
    CHUNKS_PER_TURN = 16,
    SLACK_SHARE =
        20, /* how late an event may be seen, as a share of the largest cell's time on the fastest link */
    SLACK_MIN_NS = 10000,
    SLACK_MAX_NS = 200000,
    AT_ONCE_NS = 5000, /* a wait that was shorter did not sleep */
    SIGNALS = UINT32_MAX,
    PEERS = 1 << 30 /* the first peer's number among those of events */
};

const int failure_status = EXIT_FAILURE;

struct router {
    const char *path;
    struct network network;
    struct nics nics;
    struct link_name *names;
    int poll;
    int signals;
    uint64_t peers_ns; /* when other machines' routers must be written to */
    bool *paused;      /* a NIC that has read ahead as much as it may */
    uint32_t paused_count;
    uint64_t slack_ns;
    bool stop;
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Counters. */

/* Start. */

static uint64_t slack_of(const struct network *network) {
    double fastest = network->links[0].ns_per_byte;
    for (uint32_t i = 0; i < network->link_count; i++)
        fastest = network->links[i].ns_per_byte < fastest ? network->links[i].ns_per_byte : fastest;
    double slack_ns = network->cell_bytes * fastest / SLACK_SHARE;
    return slack_ns < SLACK_MIN_NS   ? SLACK_MIN_NS
           : slack_ns > SLACK_MAX_NS ? SLACK_MAX_NS
                                     : (uint64_t)slack_ns;
}

/* Before all others where that is allowed: a late router makes every rank late. */
static uint64_t take_precedence(void) {
    const struct sched_param priority = {.sched_priority = 1};
    (void)prctl(PR_SET_TIMERSLACK, 1);
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) == 0)
        return 1;
    (void)setpriority(PRIO_PROCESS, 0, -20);
    return 0;
}

static void watch(const struct router *router, int descriptor, uint32_t number, uint32_t events, int how) {
    struct epoll_event event = {.events = events, .data.u32 = number};
    if (epoll_ctl(router->poll, how, descriptor, &event) != 0)
        fail("watch", "a NIC");
}

static void start_polling(struct router *router) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    router->poll = epoll_create1(EPOLL_CLOEXEC);
    router->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (router->poll < 0 || router->signals < 0)
        fail("wait for", "signals");
    watch(router, router->signals, SIGNALS, EPOLLIN, EPOLL_CTL_ADD);
    router->paused = zeroed(router->network.link_count, sizeof *router->paused);
    for (uint32_t i = 0; i < router->network.link_count; i++)
        if (router->nics.devices[i] >= 0)
            watch(router, router->nics.devices[i], i, EPOLLIN, EPOLL_CTL_ADD);
    const struct peers *peers = router->network.peers;
    router->peers_ns = peers == NULL ? NEVER : 0;
    for (uint32_t i = 0; peers != NULL && i < peers->count; i++)
        if (i != peers->own)
            watch(router, peers->peers[i].socket, PEERS + i, EPOLLIN, EPOLL_CTL_ADD);
}

/* Work. */

static void deliver(struct router *router, uint64_t until_ns) {
    struct network *network = &router->network;
    while (events_next_ns(&network->deliveries) <= until_ns) {
        struct chunk *chunk = events_take(&network->deliveries).subject;
        nics_write(&router->nics, network, chunk);
        uint64_t at_ns = now_ns();
        uint64_t late_ns = at_ns - chunk->due_ns + chunk->waited_ns;
        uint64_t flight_ns = at_ns - chunk->entered_ns + chunk->waited_ns;
        histogram_add(&network->header->late_ns, late_ns);
        histogram_add(&network->header->late_ppm, flight_ns ? late_ns * 1000000 / flight_ns : 0);
        network->header->flight_ns += flight_ns;
        network->header->in_flight--;
        free(chunk);
    }
}

static void pause_nic(struct router *router, uint32_t link, bool pause) {
    watch(router, router->nics.devices[link], link, pause ? 0 : EPOLLIN, EPOLL_CTL_MOD);
    router->paused[link] = pause;
    router->paused_count += pause ? 1U : -1U;
}

static void read_nic(struct router *router, uint32_t link, uint64_t at_ns, uint64_t waited_ns) {
    struct network *network = &router->network;
    bool empty = false;
    for (int i = 0; i < CHUNKS_PER_TURN && !empty; i++) {
        if (network->links[link].nic->pending_bytes >= network->nic_bytes) {
            pause_nic(router, link, true);
            return;
        }
        struct chunk *chunk = nics_read(&router->nics, network, link, &empty);
        if (chunk != NULL) {
            chunk->waited_ns = waited_ns;
            network_send(network, link, chunk, at_ns);
        }
    }
}

static void reload(struct router *router) {
    struct network changed = {.peers = router->network.peers};
    struct link_name *names;
    description_read(router->path, &changed, &names);
    description_hide(router->path, &changed, names);
    if (!description_alike(&router->network, &changed)) {
        errno = 0;
        fail("change into another torus", router->path);
    }
    network_change(&router->network, &changed, now_ns());
    router->slack_ns = slack_of(&router->network);
    atomic_store(&router->network.header->generation, changed.generation);
    network_free(&changed);
    free(names);
}

static void take_event(struct router *router, const struct epoll_event *event, uint64_t at_ns,
                       uint64_t waited_ns) {
    if (event->data.u32 == SIGNALS) {
        struct signalfd_siginfo signal;
        while (read(router->signals, &signal, sizeof signal) == (ssize_t)sizeof signal)
            if (signal.ssi_signo == SIGHUP)
                reload(router);
            else
                router->stop = true;
    } else if (event->data.u32 >= PEERS) {
        peers_read(&router->network, event->data.u32 - PEERS, at_ns);
    } else if (event->events & (EPOLLERR | EPOLLHUP)) {
        errno = 0;
        fail("read a NIC", router->names[event->data.u32].port);
    } else {
        read_nic(router, event->data.u32, at_ns, waited_ns);
    }
}

/* The C libraries of RHEL 8 and 9 and SLES 15 lack epoll_pwait2; there a wait lasts whole milliseconds. */
#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 35)
static int wait_for_events(int poll, struct epoll_event *ready, struct timespec wait) {
    int64_t ms = (int64_t)wait.tv_sec * 1000 + wait.tv_nsec / 1000000;
    return epoll_wait(poll, ready, READY_NICS, ms < MOST_WAIT_MS ? (int)ms : MOST_WAIT_MS);
}
#else
static int wait_for_events(int poll, struct epoll_event *ready, struct timespec wait) {
    return epoll_pwait2(poll, ready, READY_NICS, &wait, NULL);
}
#endif

static void run(struct router *router) {
    struct counters_header *header = router->network.header;
    uint64_t read_ns = now_ns();
    while (!router->stop) {
        struct epoll_event ready[READY_NICS];
        uint64_t inside = events_next_ns(&router->network.events),
                 due = events_next_ns(&router->network.deliveries);
        uint64_t next = inside == NEVER ? NEVER : inside + router->slack_ns, now = now_ns();
        next = due < next ? due : next;
        next = router->peers_ns < next ? router->peers_ns : next;
        uint64_t wait_ns = next == NEVER ? NS_PER_S : next > now ? next - now : 0;
        struct timespec wait =
            (struct timespec){.tv_sec = (time_t)(wait_ns / NS_PER_S), .tv_nsec = (long)(wait_ns % NS_PER_S)};
        uint64_t before_ns = now_ns();
        int count = wait_for_events(router->poll, ready, wait);
        uint64_t at_ns = now_ns();
        uint64_t waited_ns = at_ns - before_ns > AT_ONCE_NS ? 0 : at_ns - read_ns;
        read_ns = at_ns;
        atomic_fetch_add_explicit(&header->sequence, 1, memory_order_acq_rel);
        network_run(&router->network, at_ns);
        for (int i = 0; i < count; i++)
            take_event(router, &ready[i], at_ns, waited_ns);
        deliver(router, at_ns);
        const struct network *network = &router->network;
        for (uint32_t i = 0; router->paused_count > 0 && i < network->link_count; i++)
            if (router->paused[i] && network->links[i].nic->pending_bytes < network->nic_bytes / 2)
                pause_nic(router, i, false);
        if (router->peers_ns != NEVER)
            router->peers_ns = peers_write(&router->network, at_ns);
        atomic_fetch_add_explicit(&header->sequence, 1, memory_order_release);
    }
}

static void usage(FILE *file) {
    fputs(
        "usage: railyard-router DESCRIPTION COUNTERS NETNS [NAME=SOCKET ...]\n"
        "       railyard-router --simulate DESCRIPTION < MESSAGES\n"
        "\n"
        "Forwards the packets of a virtual torus. DESCRIPTION: its hosts, links and routes (description.h).\n"
        "COUNTERS: the file to write counters to. NETNS: the path of the network namespace to run in.\n"
        "NAME=SOCKET: the routers of the torus on several machines, in the order of its parts, each with an\n"
        "open connection; the own one without.\n"
        "With --simulate no packet is forwarded: MESSAGES has lines AT_NS LINK ADDRESS BYTES "
        "(simulate.h).\n",
        file);
}

static int simulated(const char *path) {
    struct router router = {.path = path};
    description_read(path, &router.network, &router.names);
    network_prepare(&router.network, counters_new(NULL, &router.network, router.names), 0);
    bool arrived = simulate(&router.network, stdin);
    if (!arrived) {
        fprintf(stderr, "railyard-router: %llu messages never arrive\n",
                (unsigned long long)router.network.header->in_flight);
    }
    return arrived ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "--help") == 0) {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    if (count == 3 && strcmp(arguments[1], "--simulate") == 0)
        return simulated(arguments[2]);
    if (count < 4 || count == 5) {
        usage(stderr);
        return EXIT_USAGE;
    }
    struct router router = {.path = arguments[1]};
    enter_network(arguments[3], arguments[3]);
    allow_descriptors();
    if (count > 4)
        router.network.peers = peers_new((uint32_t)count - 4, arguments + 4, now_ns());
    description_read(router.path, &router.network, &router.names);
    network_prepare(&router.network, counters_new(arguments[2], &router.network, router.names), now_ns());
    nics_open(&router.nics, &router.network, router.names);
    start_polling(&router);
    router.slack_ns = slack_of(&router.network);
    router.network.header->realtime_priority = take_precedence();
    atomic_store(&router.network.header->generation, router.network.generation);
    puts("ready");
    if (fflush(stdout) != 0)
        fail("write to", "standard output");
    run(&router);
    return EXIT_SUCCESS;
}
