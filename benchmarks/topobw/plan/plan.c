/* Makes the plan of a link test; see plan.h. */
#include "topobw/plan/plan.h"

#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- phases ---- */

const char *phase_name(enum phase phase) {
    static const char *const names[PHASES_PER_RING] = {"even plus",  "odd minus", "odd plus",
                                                       "even minus", "last plus", "first minus"};
    return names[phase];
}

int ring_step(int extent, int position, int step) {
    return (position + step + extent) % extent;
}

/* The cable between the last and the first position of a ring of odd length joins two even ones. */
static bool is_end_cable(int extent, int position, int step) {
    return extent % 2 == 1 && (step > 0 ? position == extent - 1 : position == 0);
}

int phase_step(int extent, int position, enum phase phase) {
    bool odd = phase == PHASE_ODD_MINUS || phase == PHASE_ODD_PLUS;
    int step = phase == PHASE_EVEN_PLUS || phase == PHASE_ODD_PLUS ? 1 : -1;
    if (phase == PHASE_LAST_PLUS || phase == PHASE_FIRST_MINUS) {
        step = phase == PHASE_LAST_PLUS ? 1 : -1;
        return extent > 1 && is_end_cable(extent, position, step) ? step : 0;
    }
    if (extent == 1 || (position % 2 == 1) != odd || is_end_cable(extent, position, step))
        return 0;
    if (extent == 2 && phase >= PHASE_ODD_PLUS)
        return 0; /* the one cable again, by its other name */
    return step;
}

/* ---- links ---- */

/* The lowest rank of each node, by router: router r has ranks[first[r]] to ranks[first[r + 1] - 1]. */
struct stations {
    const int *extents;
    size_t routers;
    int *first;
    int *ranks;
};

static void router_coordinate(const int *extents, size_t router, int *coordinate) {
    for (int d = TORUS_DIMENSIONS - 1; d >= 0; d--) {
        coordinate[d] = (int)(router % (size_t)extents[d]);
        router /= (size_t)extents[d];
    }
}

static int *lowest_ranks(const struct coordinates *coordinates) {
    int *lowest = check_alloc((size_t)coordinates->node_count, sizeof *lowest);
    for (int node = 0; node < coordinates->node_count; node++)
        lowest[node] = -1;
    for (int rank = check_ranks() - 1; rank >= 0; rank--)
        lowest[coordinates->node_of_rank[rank]] = rank;
    return lowest;
}

static size_t router_of_node(const struct coordinates *coordinates, int node) {
    return coordinates_index(coordinates->extents, coordinates->nodes[node].coordinate);
}

static int stations_at(const struct stations *stations, size_t router) {
    return stations->first[router + 1] - stations->first[router];
}

static void add_transfers(const struct stations *stations, size_t from, size_t to, struct plan *plan) {
    struct tested_link *link = &plan->links[plan->link_count];
    for (int k = 0; k < link->sharers; k++)
        plan->transfers[plan->transfer_count++] =
            (struct transfer){.link = plan->link_count,
                              .from_rank = stations->ranks[stations->first[from] + k],
                              .to_rank = stations->ranks[stations->first[to] + k]};
    plan->link_count++;
    plan->phases[link->phase] = true;
}

/* The link that leaves that router in that phase, if any: tested, or counted as absent. */
static void add_link(const struct stations *stations, const struct link_rates *rates, int dimension,
                     enum phase phase, size_t router, struct plan *plan) {
    struct tested_link link = {.phase = dimension * PHASES_PER_RING + (int)phase, .dimension = dimension};
    router_coordinate(stations->extents, router, link.from);
    link.step = phase_step(stations->extents[dimension], link.from[dimension], phase);
    if (link.step == 0)
        return;
    memcpy(link.to, link.from, sizeof link.to);
    link.to[dimension] = ring_step(stations->extents[dimension], link.from[dimension], link.step);
    size_t target = coordinates_index(stations->extents, link.to);
    int here = stations_at(stations, router);
    int there = stations_at(stations, target);
    link.sharers = here < there ? here : there;
    link.first_transfer = plan->transfer_count;
    link.rate = link_rate_of(rates, link.from, dimension, link.step);
    if (link.sharers == 0) {
        plan->absent[dimension]++;
        return;
    }
    plan->links[plan->link_count] = link;
    add_transfers(stations, router, target, plan);
}

/* ---- tests one by one ---- */

static int rank_of_host(const struct coordinates *coordinates, const int *lowest, const char *host) {
    int low = 0;
    int high = coordinates->node_count - 1;
    while (low <= high) {
        int middle = (low + high) / 2;
        int order = strcmp(host, coordinates->by_host[middle].host);
        if (order == 0)
            return lowest[coordinates->by_host[middle].node];
        if (order < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return -1;
}

static bool add_pair(const struct coordinates *coordinates, const int *lowest, char *pair,
                     struct plan *plan) {
    char *to = strchr(pair, '>');
    if (!to)
        return false;
    *to = '\0';
    struct transfer transfer = {.link = plan->link_count,
                                .from_rank = rank_of_host(coordinates, lowest, pair),
                                .to_rank = rank_of_host(coordinates, lowest, to + 1)};
    *to = '>';
    if (transfer.from_rank < 0 || transfer.to_rank < 0)
        return false;
    plan->transfers[plan->transfer_count++] = transfer;
    return true;
}

/* A test whose pairs all have ranks; with fewer pairs its link would not be loaded in full. */
static void add_listed(const struct coordinates *coordinates, const int *lowest,
                       const struct listed_test *test, struct plan *plan) {
    struct tested_link link = {.phase = test->phase,
                               .dimension = test->kind,
                               .step = 1,
                               .first_transfer = plan->transfer_count,
                               .rate = &test->rate,
                               .listed = test};
    bool whole = true;
    for (char *pair = test->pairs; pair && whole;) {
        char *comma = strchr(pair, ',');
        if (comma)
            *comma = '\0';
        whole = add_pair(coordinates, lowest, pair, plan);
        if (comma)
            *comma = ',';
        pair = comma ? comma + 1 : NULL;
    }
    if (!whole) {
        plan->transfer_count = link.first_transfer;
        plan->absent[test->kind]++;
        return;
    }
    link.sharers = plan->transfer_count - link.first_transfer;
    plan->links[plan->link_count++] = link;
    plan->phases[link.phase] = true;
}

static void plan_listed(const struct coordinates *coordinates, const struct listed *listed,
                        struct plan *plan) {
    int *lowest = lowest_ranks(coordinates);
    *plan = (struct plan){.is_listed = true};
    for (int kind = 0; kind < listed->kind_count; kind++)
        plan->kinds[kind] = listed->kinds[kind];
    plan->links = check_alloc((size_t)listed->count, sizeof *plan->links);
    size_t pairs = 0;
    for (int test = 0; test < listed->count; test++)
        for (const char *at = listed->tests[test].pairs; at; at = strchr(at + 1, ','))
            pairs++;
    plan->transfers = check_alloc(pairs, sizeof *plan->transfers);
    for (int test = 0; test < listed->count; test++)
        add_listed(coordinates, lowest, &listed->tests[test], plan);
    free(lowest);
}

void plan_make(const struct coordinates *coordinates, const struct link_rates *rates, struct plan *plan) {
    if (rates->listed.count > 0) {
        plan_listed(coordinates, &rates->listed, plan);
        return;
    }
    /* Sorts the nodes that have a rank by router (a stable counting sort). */
    const int *extents = coordinates->extents;
    struct stations stations = {.extents = extents};
    int *lowest = lowest_ranks(coordinates);
    stations.routers = coordinates_routers(extents);
    stations.first = check_alloc(stations.routers + 2, sizeof(int));
    stations.ranks = check_alloc((size_t)coordinates->node_count, sizeof(int));
    for (int node = 0; node < coordinates->node_count; node++)
        if (lowest[node] >= 0)
            stations.first[router_of_node(coordinates, node) + 2]++;
    for (size_t router = 2; router < stations.routers + 2; router++)
        stations.first[router] += stations.first[router - 1];
    for (int node = 0; node < coordinates->node_count; node++)
        if (lowest[node] >= 0)
            stations.ranks[stations.first[router_of_node(coordinates, node) + 1]++] = lowest[node];
    free(lowest);
    *plan = (struct plan){.kinds = {"X", "Y", "Z"}};
    /* Every station sends at most once in each direction of each dimension. */
    size_t room = 2 * TORUS_DIMENSIONS * (size_t)stations.first[stations.routers];
    plan->links = check_alloc(room, sizeof *plan->links);
    plan->transfers = check_alloc(room, sizeof *plan->transfers);
    for (int dimension = 0; dimension < TORUS_DIMENSIONS; dimension++)
        for (int phase = 0; phase < PHASES_PER_RING; phase++)
            for (size_t router = 0; router < stations.routers; router++)
                add_link(&stations, rates, dimension, (enum phase)phase, router, plan);
    free(stations.first);
    free(stations.ranks);
}

static struct role *all_roles(const struct plan *plan) {
    size_t count = (size_t)check_ranks() * PHASES_MAX;
    struct role *roles = check_alloc(count, sizeof *roles);
    for (size_t i = 0; i < count; i++)
        roles[i] = (struct role){.to = -1, .from = -1};
    for (int t = 0; t < plan->transfer_count; t++) {
        const struct transfer *transfer = &plan->transfers[t];
        const struct tested_link *link = &plan->links[transfer->link];
        int phase = link->phase;
        struct role *sender = &roles[transfer->from_rank * PHASES_MAX + phase];
        sender->to = transfer->to_rank;
        sender->sharers = link->sharers;
        sender->first_sharer = plan->transfers[link->first_transfer].from_rank;
        sender->is_traced = plan->is_listed;
        struct role *receiver = &roles[transfer->to_rank * PHASES_MAX + phase];
        receiver->from = transfer->from_rank;
        receiver->is_traced = plan->is_listed;
    }
    return roles;
}

void plan_share(const struct plan *plan, struct role *roles) {
    enum { INTS = PHASES_MAX * (int)(sizeof(struct role) / sizeof(int)) };
    struct role *all = check_rank() == 0 ? all_roles(plan) : NULL;
    MPI_CHECK(MPI_Scatter(all, INTS, MPI_INT, roles, INTS, MPI_INT, 0, MPI_COMM_WORLD));
    free(all);
}

int plan_routers(const struct tested_link *link) {
    return link->listed ? link->listed->routers : PLAN_NEIGHBOURS;
}

void plan_link_name(const struct tested_link *link, char *name) {
    if (link->listed) {
        plan_part_name(link->listed->name, name);
        return;
    }
    (void)snprintf(name, LINK_NAME_BYTES, "%c%c %d,%d,%d>%d,%d,%d", 'X' + link->dimension,
                   link->step > 0 ? '+' : '-', link->from[0], link->from[1], link->from[2], link->to[0],
                   link->to[1], link->to[2]);
}

void plan_part_name(const char *part, char *name) {
    (void)snprintf(name, LINK_NAME_BYTES, "%s", part);
    for (char *colon = strchr(name, ':'); colon; colon = strchr(colon, ':'))
        *colon = ' ';
}

void plan_free(struct plan *plan) {
    free(plan->links);
    free(plan->transfers);
}
