/*
 * The pure end of topobw on a torus of any size, without its launch: every link's verdict, then what is to
 * blame.
 *
 *     blame_program X Y Z NODES_PER_ROUTER SLOW_NODES SEED Y_RATE
 *
 * All links have a rate of 1, but those along Y. No transfer of a slow node is faster than 0.5. One line for
 * each finding: component, rank, links.
 */
#include "lib/run/check.h"
#include "topobw/verdict/blame.h"
#include "topobw/verdict/routeprobe.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int extents[TORUS_DIMENSIONS];
static int nodes_per_router;

static int router_at(const int *at) {
    return (at[0] * extents[1] + at[1]) * extents[2] + at[2];
}

static void add_link(struct plan *plan, const int *from, int dimension, int step) {
    struct tested_link *link = &plan->links[plan->link_count];
    *link = (struct tested_link){.dimension = dimension,
                                 .step = step,
                                 .phase = dimension * PHASES_PER_RING + (from[dimension] % 2 ? 1 : 0),
                                 .first_transfer = plan->transfer_count,
                                 .sharers = nodes_per_router};
    memcpy(link->from, from, sizeof link->from);
    memcpy(link->to, from, sizeof link->to);
    link->to[dimension] = (from[dimension] + step + extents[dimension]) % extents[dimension];
    for (int node = 0; node < nodes_per_router; node++)
        plan->transfers[plan->transfer_count++] =
            (struct transfer){plan->link_count, router_at(link->from) * nodes_per_router + node,
                              router_at(link->to) * nodes_per_router + node};
    plan->link_count++;
}

static struct plan make_plan(void) {
    size_t links = (size_t)extents[0] * (size_t)extents[1] * (size_t)extents[2] * 2 * TORUS_DIMENSIONS;
    struct plan plan = {.links = check_alloc(links, sizeof *plan.links)};
    plan.transfers = check_alloc(links * (size_t)nodes_per_router, sizeof *plan.transfers);
    int at[TORUS_DIMENSIONS];
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        for (int step = -1; step <= 1; step += 2)
            for (at[0] = 0; at[0] < extents[0]; at[0]++)
                for (at[1] = 0; at[1] < extents[1]; at[1]++)
                    for (at[2] = 0; at[2] < extents[2]; at[2]++)
                        add_link(&plan, at, d, step);
    return plan;
}

int main(int argc, char **argv) {
    if (argc != 8)
        return 2;
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        extents[d] = atoi(argv[1 + d]);
    nodes_per_router = atoi(argv[4]);
    int slow = atoi(argv[5]);
    srand((unsigned)atoi(argv[6]));
    double y_rate = atof(argv[7]);

    struct plan plan = make_plan();
    int ranks = extents[0] * extents[1] * extents[2] * nodes_per_router;
    bool *slow_rank = check_alloc((size_t)ranks, sizeof *slow_rank);
    bool *bad = check_alloc((size_t)plan.transfer_count, sizeof *bad);
    double *rates = check_alloc((size_t)plan.transfer_count, sizeof *rates);
    struct link_result *results = check_alloc((size_t)plan.link_count, sizeof *results);
    int *explained_by = check_alloc((size_t)plan.link_count, sizeof *explained_by);
    for (int i = 0; i < slow; i++)
        slow_rank[rand() % ranks] = true;
    for (int link = 0; link < plan.link_count; link++)
        results[link] =
            (struct link_result){.seconds = 1, .rate_gbyte_s = 1, .routers = ROUTE_UNKNOWN, .proven = true};
    for (int t = 0; t < plan.transfer_count; t++) {
        const struct transfer *transfer = &plan.transfers[t];
        double rate = plan.links[transfer->link].dimension == 1 ? y_rate : 1;
        bad[t] = rate > 0.5 && (slow_rank[transfer->from_rank] || slow_rank[transfer->to_rank]);
        rates[t] = bad[t] ? 0.5 : rate;
        if (rates[t] < results[transfer->link].rate_gbyte_s)
            results[transfer->link].rate_gbyte_s = rates[t];
    }
    struct verdict_config config = {.tolerance = 0.03};
    verdict_judge(&config, &plan, results);
    int count = 0;
    struct finding *findings = blame(&plan, results, bad, rates, config.tolerance, &count, explained_by);
    for (int i = 0; i < count; i++)
        printf("%s %d %d\n", component_name(findings[i].component), findings[i].rank, findings[i].links);
    return 0;
}
