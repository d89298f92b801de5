/* Asks for the routers on the ways of packets, and which direction of a silent link is dead; see run.h. */
#include "lib/run/check.h"
#include "topobw/run/deadline.h"
#include "topobw/run/run.h"
#include "topobw/verdict/routeprobe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_PROBE = 31, PROBE_TIMEOUT_MS = 2000, PROBE_TRIES = 3 };

struct probe_target {
    int port;
    char host[EVIDENCE_HOST_BYTES];
};

static void tell_target(const struct route_probe *probe, int sender) {
    struct probe_target target = {.port = probe->port};
    memcpy(target.host, probe->host, sizeof target.host);
    MPI_CHECK(MPI_Send(&target, (int)sizeof target, MPI_BYTE, sender, TAG_PROBE, MPI_COMM_WORLD));
}

/* Asks the routers on the way from this rank for their addresses. */
static void trace_way(struct topobw *run, const struct route_probe *probe, const struct probe_target *target,
                      int phase) {
    if (run->routers > run->hops)
        run->routers = run->hops;
    if (run->routers > 0)
        route_probe_trace(probe, target->host, target->port, (unsigned char)phase, run->routers,
                          PROBE_TIMEOUT_MS, topobw_hops(run, run->own, phase));
}

static void probe_target(struct topobw *run, const struct route_probe *probe, int receiver, int phase) {
    struct probe_target target;
    MPI_CHECK(MPI_Recv(&target, (int)sizeof target, MPI_BYTE, receiver, TAG_PROBE, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
    route_probe_send(probe, target.host, target.port, (unsigned char)phase);
    if (!run->roles[phase].is_traced)
        return;
    MPI_CHECK(MPI_Recv(&run->routers, 1, MPI_INT, receiver, TAG_PROBE, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    tell_target(probe, receiver);
    trace_way(run, probe, &target, phase);
}

/* Returns how much of the ways of this phase this rank does not know yet, or does know: the number of routers
 * on the way to it, and the routers on the way from it. */
static int count_ways(const struct topobw *run, int phase, bool known) {
    const struct role *role = &run->roles[phase];
    int count = role->from >= 0 && (*topobw_routers(run, run->own, phase) != ROUTE_UNKNOWN) == known;
    for (int i = 0; i < run->routers; i++)
        count += (topobw_hops(run, run->own, phase)[i] != 0) == known;
    return count;
}

static void probe_phase(struct topobw *run, const struct route_probe *probe, int phase) {
    const struct role *role = &run->roles[phase];
    run->routers = ROUTE_UNKNOWN;
    if (role->from >= 0)
        tell_target(probe, role->from);
    if (role->to >= 0)
        probe_target(run, probe, role->to, phase);
    if (role->from >= 0) {
        /* Counts the routers on the way to this rank. If it is traced, the sender asks each of them for its
         * address, and this rank as many on the way of its answers. */
        double *counted = topobw_routers(run, run->own, phase);
        if (*counted == ROUTE_UNKNOWN)
            *counted = route_probe_receive(probe, (unsigned char)phase, PROBE_TIMEOUT_MS);
        if (role->is_traced) {
            struct probe_target sender;
            run->routers = (int)*counted;
            MPI_CHECK(MPI_Send(&run->routers, 1, MPI_INT, role->from, TAG_PROBE, MPI_COMM_WORLD));
            MPI_CHECK(MPI_Recv(&sender, (int)sizeof sender, MPI_BYTE, role->from, TAG_PROBE, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
            trace_way(run, probe, &sender, phase);
        }
    }
}

void topobw_probe_routes(struct topobw *run, uint64_t phases) {
    struct route_probe probe = route_probe_open(run->config.nic_suffix);
    bool shows = true;
    for (int phase = 0; phase < PHASES_MAX && !run->stuck && shows; phase++) {
        bool more = phases >> phase & 1;
        for (int i = 0; more && i < PROBE_TRIES && !run->stuck; i++) {
            deadline_arm(run->limit_s + 2e-3 * PROBE_TIMEOUT_MS);
            probe_phase(run, &probe, phase);
            run->stuck = topobw_meet(run);
            shows = topobw_on_any(run, count_ways(run, phase, true));
            more = topobw_on_any(run, count_ways(run, phase, false));
        }
    }
    route_probe_close(&probe);
}

/* ---- silent links ---- */

enum { SILENT_MAX = 32, VOLLEY = 8, VOLLEY_BYTES = 1024, VOLLEY_TIMEOUT_MS = 3000, WAYS = 2 };

struct end {
    int rank;
    int port;
    char host[EVIDENCE_HOST_BYTES];
};

/* A transfer that was cancelled. */
struct silent {
    int link;
    struct end ends[WAYS]; /* sender, receiver */
};

static int find_silent(const struct topobw *run, const struct end *ends, struct silent *silent) {
    int count = 0;
    for (int t = 0; t < run->plan.transfer_count && count < SILENT_MAX; t++) {
        const struct transfer *transfer = &run->plan.transfers[t];
        if (run->results[transfer->link].state == LINK_SILENT)
            silent[count++] =
                (struct silent){transfer->link, {ends[transfer->from_rank], ends[transfer->to_rank]}};
    }
    return count;
}

/* Sends this rank's datagrams and counts arrivals; the mark of a datagram is its index in `arrived`. */
static void exchange(const struct route_probe *probe, const struct silent *silent, int count, int *arrived) {
    int expected = 0;
    for (int way = 0; way < WAYS * count; way++) {
        const struct end *ends = silent[way / WAYS].ends;
        const struct end *from = &ends[way % WAYS], *to = &ends[1 - way % WAYS];
        if (check_rank() == from->rank)
            route_probe_volley(probe, to->host, to->port, (unsigned char)way, VOLLEY_BYTES, VOLLEY);
        expected += check_rank() == to->rank ? VOLLEY : 0;
    }
    route_probe_count(probe, arrived, WAYS * count, expected, VOLLEY_TIMEOUT_MS);
}

static struct link_result *way_back(struct topobw *run, int link) {
    const struct tested_link *links = run->plan.links;
    for (int i = 0; i < run->plan.link_count; i++)
        if (links[i].dimension == links[link].dimension &&
            memcmp(links[i].from, links[link].to, sizeof links[i].from) == 0 &&
            memcmp(links[i].to, links[link].from, sizeof links[i].to) == 0)
            return &run->results[i];
    return NULL;
}

void topobw_probe_silence(struct topobw *run) {
    struct route_probe probe = route_probe_open(run->config.nic_suffix);
    struct end mine = {.rank = check_rank(), .port = probe.port};
    struct end *ends = check_rank() == 0 ? check_alloc((size_t)check_ranks(), sizeof *ends) : NULL;
    struct silent *silent = check_alloc(SILENT_MAX, sizeof *silent);
    int arrived[WAYS * SILENT_MAX] = {0}, all[WAYS * SILENT_MAX] = {0}, count = 0;
    memcpy(mine.host, probe.host, sizeof mine.host);
    deadline_arm(run->limit_s);
    MPI_CHECK(MPI_Gather(&mine, sizeof mine, MPI_BYTE, ends, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD));
    if (check_rank() == 0 && !run->plan.is_listed)
        count = find_silent(run, ends, silent);
    MPI_CHECK(MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Bcast(silent, count * (int)sizeof *silent, MPI_BYTE, 0, MPI_COMM_WORLD));
    exchange(&probe, silent, count, arrived);
    MPI_CHECK(MPI_Reduce(arrived, all, WAYS * SILENT_MAX, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD));
    deadline_disarm();
    for (int i = 0; check_rank() == 0 && i < count; i++) {
        struct link_result *forward = &run->results[silent[i].link], *reverse = way_back(run, silent[i].link);
        if ((all[WAYS * i + 1] != VOLLEY) && reverse != NULL) {
            reverse->seconds = INFINITY;
            reverse->state = LINK_SILENT;
            reverse->bad = true;
            reverse->missing = 1;
            if (all[WAYS * i] == VOLLEY)
                *forward = (struct link_result){.routers = ROUTE_UNKNOWN, .state = LINK_UNTESTED};
        }
    }
    route_probe_close(&probe);
    free(silent);
    free(ends);
}
