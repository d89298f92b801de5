/* Explains bad links by components; see blame.h. */
#include "topobw/verdict/blame.h"

#include "lib/measure/sampling.h"
#include "lib/run/check.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const char *component_name(enum component component) {
    static const char *const names[] = {"link", "cable", "node", "router", "network"};
    return names[component];
}

/* One end of a transfer: its router and the index of the transfer. */
struct place {
    int router[TORUS_DIMENSIONS];
    int transfer;
};

enum { KINDS = 6, ENDS = 2 };

struct search {
    const struct plan *plan;
    const bool *bad;     /* whether each transfer is bad */
    const double *rates; /* rate of each transfer in GB/s */
    double tolerance;
    int *explained_by;    /* for each link, the index of its finding */
    struct place *places; /* both ends of every transfer, sorted by router, then transfer */
    int *most; /* [(transfer * ENDS + end) * KINDS + kind]: transfers that the suspect explains, at most */
    int *open; /* bad transfers that are not explained yet */
    int open_count;
    int count;
    struct finding *findings;
};

static bool same_router(const int *one, const int *other) {
    return memcmp(one, other, TORUS_DIMENSIONS * sizeof *one) == 0;
}

/* ---- transfers by router ---- */

static int compare_routers(const int *one, const int *other) {
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        if (one[d] != other[d])
            return one[d] < other[d] ? -1 : 1;
    return 0;
}

static int compare_places(const void *left, const void *right) {
    const struct place *a = left;
    const struct place *b = right;
    int order = compare_routers(a->router, b->router);
    return order ? order : a->transfer - b->transfer;
}

static int place_count(const struct search *search) {
    return ENDS * search->plan->transfer_count;
}

static int first_place(const struct search *search, const int *router) {
    int low = 0;
    int high = place_count(search);
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (compare_routers(search->places[middle].router, router) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the next transfer of a router from index *next on, and advances it; -1 after the last. */
static int next_transfer(const struct search *search, const int *router, int *place) {
    int at = *place;
    if (at == place_count(search) || !same_router(search->places[at].router, router))
        return -1;
    *place = at + 1;
    return search->places[at].transfer;
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

/* The rate of the fastest bad transfer of a suspect. */
static double limit_of(const struct search *search, const struct suspect *suspect) {
    double fastest = 0;
    int place = first_place(search, suspect->router);
    for (int t; (t = next_transfer(search, suspect->router, &place)) >= 0;)
        if (belongs(search, suspect, t) && search->bad[t] && search->rates[t] > fastest)
            fastest = search->rates[t];
    return fastest;
}

/* Returns how many transfers over unexplained links the suspect explains; 0 if one of its transfers is good
 * and faster than the bad ones, or if they are on too few links. If both nodes of a router are bad on all
 * links, the router explains more. */
static int explains(const struct search *search, const struct suspect *suspect) {
    int transfers = 0;
    int links = 0;
    int last = -1;
    int place = first_place(search, suspect->router);
    double limit = (1 + search->tolerance) * limit_of(search, suspect);
    for (int t; (t = next_transfer(search, suspect->router, &place)) >= 0;) {
        int link = search->plan->transfers[t].link;
        if (!belongs(search, suspect, t))
            continue;
        if (!search->bad[t] && search->rates[t] > limit)
            return 0;
        if (!search->bad[t])
            continue;
        transfers += search->explained_by[link] < 0;
        links += link != last && search->explained_by[link] < 0;
        last = link;
    }
    return links >= (suspect->direction == DIRECTION_ANY ? BLAME_MIN : BLAME_MIN_ONE_WAY) ? transfers : 0;
}

/* Returns whether every transfer of the router belongs to this node. */
static bool is_only_node(const struct search *search, const struct suspect *suspect) {
    struct suspect router = *suspect;
    router.component = COMPONENT_ROUTER;
    int place = first_place(search, suspect->router);
    for (int t; (t = next_transfer(search, suspect->router, &place)) >= 0;)
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
    int place = first_place(search, suspect->router);
    for (int t; (t = next_transfer(search, suspect->router, &place)) >= 0;) {
        int link = search->plan->transfers[t].link;
        if (belongs(search, suspect, t) && search->bad[t] && search->explained_by[link] < 0)
            explain(search, link, results, missing);
    }
    finding->missing = sampling_median(missing, finding->links);
    search->count++;
    free(missing);
}

/* Narrow ones first: of two that explain as much, the narrower is taken. */
static const struct {
    enum component component;
    enum direction direction;
} kinds[KINDS] = {{COMPONENT_NODE, DIRECTION_SENDING},     {COMPONENT_NODE, DIRECTION_RECEIVING},
                  {COMPONENT_NODE, DIRECTION_ANY},         {COMPONENT_ROUTER, DIRECTION_SENDING},
                  {COMPONENT_ROUTER, DIRECTION_RECEIVING}, {COMPONENT_ROUTER, DIRECTION_ANY}};

/* Takes the suspect of a transfer's end that explains more than the best. What a suspect explains only
 * becomes less, so one that explained no more before is not counted again. */
static void consider(struct search *search, int t, int end, struct suspect *best, int *most) {
    const struct transfer *transfer = &search->plan->transfers[t];
    const struct tested_link *link = &search->plan->links[transfer->link];
    for (int kind = 0; kind < KINDS; kind++) {
        int *known = &search->most[((size_t)t * ENDS + (size_t)end) * KINDS + (size_t)kind];
        struct suspect suspect = {
            kinds[kind].component, kinds[kind].direction, end ? transfer->to_rank : transfer->from_rank, {0}};
        if (*known <= *most)
            continue;
        memcpy(suspect.router, end ? link->to : link->from, sizeof suspect.router);
        *known = explains(search, &suspect);
        if (*known > *most) {
            *most = *known;
            *best = suspect;
        }
    }
}

/* The suspect that explains most; only ends of bad transfers can be one. Explained ones leave the list. */
static int find_suspect(struct search *search, struct suspect *best) {
    int most = 0;
    int left = 0;
    for (int i = 0; i < search->open_count; i++) {
        int t = search->open[i];
        if (search->explained_by[search->plan->transfers[t].link] >= 0)
            continue;
        search->open[left++] = t;
        for (int end = 0; end < ENDS; end++)
            consider(search, t, end, best, &most);
    }
    search->open_count = left;
    return most;
}

static int other_direction(const struct search *search, int link, const struct link_result *results) {
    const struct tested_link *links = search->plan->links;
    int place = first_place(search, links[link].to);
    for (int t; (t = next_transfer(search, links[link].to, &place)) >= 0;) {
        int i = search->plan->transfers[t].link;
        if (i != link && results[i].bad && search->explained_by[i] < 0 &&
            links[i].dimension == links[link].dimension && links[i].step == -links[link].step &&
            same_router(links[i].from, links[link].to) && same_router(links[i].to, links[link].from))
            return i;
    }
    return -1;
}

static int count_bad(const struct plan *plan, const struct link_result *results) {
    int bad = 0;
    for (int link = 0; link < plan->link_count; link++)
        bad += results[link].bad;
    return bad;
}

static void add_components(struct search *search, const struct link_result *results) {
    struct suspect suspect = {0};
    size_t suspects = (size_t)place_count(search) * KINDS;
    search->places = check_alloc((size_t)place_count(search), sizeof *search->places);
    for (int t = 0; t < search->plan->transfer_count; t++) {
        const struct tested_link *link = &search->plan->links[search->plan->transfers[t].link];
        const int *routers[ENDS] = {link->from, link->to};
        for (int end = 0; end < ENDS; end++) {
            struct place *place = &search->places[ENDS * t + end];
            place->transfer = t;
            memcpy(place->router, routers[end], sizeof place->router);
        }
    }
    qsort(search->places, (size_t)place_count(search), sizeof *search->places, compare_places);
    search->most = check_alloc(suspects, sizeof *search->most);
    for (size_t i = 0; i < suspects; i++)
        search->most[i] = INT_MAX;
    search->open = check_alloc((size_t)search->plan->transfer_count, sizeof *search->open);
    for (int t = 0; t < search->plan->transfer_count; t++)
        if (search->bad[t])
            search->open[search->open_count++] = t;
    while (find_suspect(search, &suspect) > 0)
        add_suspect(search, &suspect, results);
    for (int link = 0; link < search->plan->link_count; link++)
        if (results[link].bad && search->explained_by[link] < 0) {
            double missing[2];
            int other = other_direction(search, link, results);
            search->findings[search->count] =
                (struct finding){.component = other < 0 ? COMPONENT_LINK : COMPONENT_CABLE, .rank = -1};
            explain(search, link, results, missing);
            if (other >= 0)
                explain(search, other, results, missing);
            search->findings[search->count].missing =
                sampling_median(missing, search->findings[search->count].links);
            search->count++;
        }
    free(search->open);
    free(search->most);
    free(search->places);
}

struct finding *blame(const struct plan *plan, const struct link_result *results, const bool *transfer_bad,
                      const double *rates, double tolerance, int *count, int *explained_by) {
    struct search search = {.plan = plan,
                            .bad = transfer_bad,
                            .rates = rates,
                            .tolerance = tolerance,
                            .explained_by = explained_by};
    search.findings = check_alloc((size_t)plan->link_count, sizeof *search.findings);
    for (int link = 0; link < plan->link_count; link++)
        explained_by[link] = -1;
    if (plan->link_count >= BLAME_MIN && 2 * count_bad(plan, results) > plan->link_count) {
        double *missing = check_alloc((size_t)search.plan->link_count, sizeof *missing);
        struct finding *finding = &search.findings[search.count];
        *finding = (struct finding){.component = COMPONENT_NETWORK, .rank = -1};
        for (int link = 0; link < search.plan->link_count; link++)
            if (results[link].bad)
                explain(&search, link, results, missing);
        finding->missing = sampling_median(missing, finding->links);
        search.count++;
        free(missing);
    } else {
        add_components(&search, results);
    }
    *count = search.count;
    return search.findings;
}
