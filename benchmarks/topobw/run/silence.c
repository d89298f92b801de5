/* Probes both directions of links without an answer; see silence.h. */
#include "topobw/run/silence.h"

#include "lib/run/check.h"
#include "topobw/run/deadline.h"
#include "topobw/verdict/routeprobe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Sends this rank's datagrams and counts those that arrive; the mark of a datagram is its index in `arrived`.
 */
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

static void conclude(struct topobw *run, int link, bool there, bool back) {
    struct link_result *forward = &run->results[link], *reverse = way_back(run, link);
    if (back || reverse == NULL)
        return;
    reverse->seconds = INFINITY;
    reverse->state = LINK_SILENT;
    reverse->bad = true;
    reverse->missing = 1;
    if (there)
        *forward = (struct link_result){.routers = ROUTE_UNKNOWN, .state = LINK_UNTESTED};
}

void silence_probe(struct topobw *run) {
    struct route_probe probe = route_probe_open();
    struct end mine = {.rank = check_rank(), .port = probe.port};
    struct end *ends = check_rank() == 0 ? check_alloc((size_t)check_ranks(), sizeof *ends) : NULL;
    struct silent *silent = check_alloc(SILENT_MAX, sizeof *silent);
    int arrived[WAYS * SILENT_MAX] = {0}, all[WAYS * SILENT_MAX] = {0}, count = 0;
    evidence_host(mine.host);
    deadline_arm(run->limit_s);
    MPI_CHECK(MPI_Gather(&mine, sizeof mine, MPI_BYTE, ends, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD));
    if (check_rank() == 0 && !run->plan.is_listed)
        count = find_silent(run, ends, silent);
    MPI_CHECK(MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Bcast(silent, count * (int)sizeof *silent, MPI_BYTE, 0, MPI_COMM_WORLD));
    exchange(&probe, silent, count, arrived);
    MPI_CHECK(MPI_Reduce(arrived, all, WAYS * SILENT_MAX, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD));
    deadline_disarm();
    for (int i = 0; check_rank() == 0 && i < count; i++)
        conclude(run, silent[i].link, all[WAYS * i] == VOLLEY, all[WAYS * i + 1] == VOLLEY);
    route_probe_close(&probe);
    free(silent);
    free(ends);
}
