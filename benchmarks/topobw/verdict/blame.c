/* Explains bad links by components; see blame.h. */
#include "topobw/verdict/blame.h"

#include "lib/run/check.h"

#include <stdlib.h>
#include <string.h>

const char *component_name(enum component component) {
    static const char *const names[] = {"link", "cable", "node", "router", "network"};
    return names[component];
}

struct search {
    const struct plan *plan;
    const bool *bad;   /* of each transfer */
    int *explained_by; /* of each link */
    int count;
    struct finding *findings;
};

static bool same_router(const int *one, const int *other) {
    return memcmp(one, other, TORUS_DIMENSIONS * sizeof *one) == 0;
}

/* ---- what belongs to a candidate ---- */

/* A node or router under suspicion. The router is where that node is. */
struct suspect {
    enum component component;
    enum direction direction;
    int rank;
    int router[TORUS_DIMENSIONS];
};

static bool is_end(const struct suspect *suspect, int rank, const int *router) {
    return suspect->component == COMPONENT_NODE ? rank == suspect->rank
                                                : same_router(router, suspect->router);
}

static bool belongs(const struct search *search, const struct suspect *suspect, int t) {
    const struct transfer *transfer = &search->plan->transfers[t];
    const struct tested_link *link = &search->plan->links[transfer->link];
    bool sends = is_end(suspect, transfer->from_rank, link->from);
    bool receives = is_end(suspect, transfer->to_rank, link->to);
    return (sends && suspect->direction != DIRECTION_RECEIVING) ||
           (receives && suspect->direction != DIRECTION_SENDING);
}

/* How many links not yet explained the suspect explains; 0 when one of its transfers is good. */
static int explains(const struct search *search, const struct suspect *suspect) {
    int links = 0;
    int last = -1;
    for (int t = 0; t < search->plan->transfer_count; t++) {
        int link = search->plan->transfers[t].link;
        if (!belongs(search, suspect, t))
            continue;
        if (!search->bad[t])
            return 0;
        links += link != last && search->explained_by[link] < 0;
        last = link;
    }
    return links >= (suspect->direction == DIRECTION_ANY ? BLAME_MIN : BLAME_MIN_ONE_WAY) ? links : 0;
}

/* Whether every transfer of the router is this node's. */
static bool is_only_node(const struct search *search, const struct suspect *suspect) {
    struct suspect router = *suspect;
    router.component = COMPONENT_ROUTER;
    for (int t = 0; t < search->plan->transfer_count; t++)
        if (belongs(search, &router, t) && !belongs(search, suspect, t))
            return false;
    return true;
}

/* ---- findings ---- */

static void explain(struct search *search, int link, const struct link_result *results, double *missing) {
    struct finding *finding = &search->findings[search->count];
    search->explained_by[link] = search->count;
    if (finding->links == 0)
        finding->link = link;
    missing[finding->links++] = results[link].missing;
}

static void add_suspect(struct search *search, const struct suspect *suspect,
                        const struct link_result *results) {
    double *missing = check_alloc((size_t)search->plan->link_count, sizeof *missing);
    struct finding *finding = &search->findings[search->count];
    struct suspect node = *suspect;
    node.component = COMPONENT_NODE;
    *finding = (struct finding){.component = suspect->component,
                                .direction = suspect->direction,
                                .rank = suspect->rank,
                                .only_node = is_only_node(search, &node)};
    for (int t = 0; t < search->plan->transfer_count; t++) {
        int link = search->plan->transfers[t].link;
        if (belongs(search, suspect, t) && search->explained_by[link] < 0)
            explain(search, link, results, missing);
    }
    finding->missing = verdict_median(missing, finding->links);
    search->count++;
    free(missing);
}

/* Narrow ones first: of two that explain as much, the narrower is taken. */
static const struct {
    enum component component;
    enum direction direction;
} kinds[] = {{COMPONENT_NODE, DIRECTION_SENDING},     {COMPONENT_NODE, DIRECTION_RECEIVING},
             {COMPONENT_NODE, DIRECTION_ANY},         {COMPONENT_ROUTER, DIRECTION_SENDING},
             {COMPONENT_ROUTER, DIRECTION_RECEIVING}, {COMPONENT_ROUTER, DIRECTION_ANY}};

static void consider(const struct search *search, int rank, const int *router, struct suspect *best,
                     int *most) {
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        struct suspect suspect = {kinds[kind].component, kinds[kind].direction, rank, {0}};
        memcpy(suspect.router, router, sizeof suspect.router);
        int links = explains(search, &suspect);
        if (links > *most) {
            *most = links;
            *best = suspect;
        }
    }
}

/* The suspect that explains most; only ends of bad transfers can be one. */
static int find_suspect(const struct search *search, struct suspect *best) {
    int most = 0;
    for (int t = 0; t < search->plan->transfer_count; t++) {
        const struct transfer *transfer = &search->plan->transfers[t];
        const struct tested_link *link = &search->plan->links[transfer->link];
        if (!search->bad[t] || search->explained_by[transfer->link] >= 0)
            continue;
        consider(search, transfer->from_rank, link->from, best, &most);
        consider(search, transfer->to_rank, link->to, best, &most);
    }
    return most;
}

static int other_direction(const struct search *search, int link, const struct link_result *results) {
    const struct tested_link *links = search->plan->links;
    for (int i = 0; i < search->plan->link_count; i++)
        if (i != link && (verdict_is_bad(&results[i]) || results[i].state == LINK_DETOUR) &&
            search->explained_by[i] < 0 && links[i].dimension == links[link].dimension &&
            links[i].step == -links[link].step && same_router(links[i].from, links[link].to) &&
            same_router(links[i].to, links[link].from))
            return i;
    return -1;
}

static void add_link(struct search *search, int link, const struct link_result *results) {
    double missing[2];
    int other = other_direction(search, link, results);
    search->findings[search->count] =
        (struct finding){.component = other < 0 ? COMPONENT_LINK : COMPONENT_CABLE, .rank = -1};
    explain(search, link, results, missing);
    if (other >= 0)
        explain(search, other, results, missing);
    search->findings[search->count].missing = verdict_median(missing, search->findings[search->count].links);
    search->count++;
}

static int count_bad(const struct plan *plan, const struct link_result *results) {
    int bad = 0;
    for (int link = 0; link < plan->link_count; link++)
        bad += verdict_is_bad(&results[link]);
    return bad;
}

static void add_network(struct search *search, const struct link_result *results) {
    double *missing = check_alloc((size_t)search->plan->link_count, sizeof *missing);
    struct finding *finding = &search->findings[search->count];
    *finding = (struct finding){.component = COMPONENT_NETWORK, .rank = -1};
    for (int link = 0; link < search->plan->link_count; link++)
        if (verdict_is_bad(&results[link]))
            explain(search, link, results, missing);
    finding->missing = verdict_median(missing, finding->links);
    search->count++;
    free(missing);
}

static void add_components(struct search *search, const struct link_result *results) {
    struct suspect suspect = {0};
    while (find_suspect(search, &suspect) > 0)
        add_suspect(search, &suspect, results);
    for (int link = 0; link < search->plan->link_count; link++)
        if (verdict_is_bad(&results[link]) && search->explained_by[link] < 0)
            add_link(search, link, results);
}

struct finding *blame(const struct plan *plan, const struct link_result *results, const bool *transfer_bad,
                      int *count, int *explained_by) {
    struct search search = {.plan = plan, .bad = transfer_bad, .explained_by = explained_by};
    search.findings = check_alloc((size_t)plan->link_count, sizeof *search.findings);
    for (int link = 0; link < plan->link_count; link++)
        explained_by[link] = -1;
    if (plan->link_count >= BLAME_MIN && 2 * count_bad(plan, results) > plan->link_count)
        add_network(&search, results);
    else
        add_components(&search, results);
    *count = search.count;
    return search.findings;
}
