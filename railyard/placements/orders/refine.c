/*
 * Refinement of a placement by swaps: the inner loop of railyard/placements/orders/optimiser.py.
 *
 * A link's load is stored in seconds. A trial exchanges two ranks (or all ranks of two nodes), follows the
 * routes of their messages before and after, and is accepted if it lowers the sum over links of (seconds /
 * scale)^power, or raises it by less than a limit: with a power of 8 and more that sum is the slowest links'
 * and nearly a maximum, but unlike the maximum it also sees progress on the second slowest. Ranks on the
 * slowest links' routes are tried more often.
 *
 * Routes come from a table: the links from each switch to each chosen node. That of a large torus would be
 * too large: its routes are X, then Y, then Z, the shortest way, ties by the parity of the coordinate. All
 * state belongs to the caller; the same arguments give the same result on every machine with IEEE arithmetic.
 */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS = 3, PORTS = 6, MAX_EXTENT = 256, MOST_HOPS = DIMENSIONS * MAX_EXTENT / 2 };

/* The constant input. Links of a torus are numbered ((x * Y + y) * Z + z) * 6 + 2 * dimension + (direction is
 * minus). */
struct problem {
    int32_t extents[DIMENSIONS]; /* of a torus; else 0 */
    int32_t nodes_per_router;
    int32_t nodes;            /* of the topology */
    int32_t links;            /* between routers */
    int32_t longest;          /* links of a route in the table at most; 0 without a table */
    const int32_t *routes;    /* -1 after a route's last link; shape (switches, chosen, longest) */
    const int32_t *switch_of; /* router of each chosen node, or row of the table; shape (chosen,) */
    const int32_t (*near)[4]; /* of each chosen node: first and end of its switch's and its group's nodes */
    const int32_t *by_switch; /* the chosen nodes, sorted by group and switch: what `near` counts */
    int32_t chosen;           /* nodes that ranks may take */
    int32_t slots;            /* places on each chosen node */
    int32_t ranks;            /* chosen x slots: those beyond the program's have no messages */
    const int32_t *where;     /* node number of each chosen node; shape (chosen,) */
    const int64_t *first;     /* messages of rank r are first[r] .. first[r + 1] - 1; shape (ranks + 1,) */
    const int32_t *other;     /* the rank at the other end */
    const double *out;        /* wire bytes on the route to it */
    const double *in;         /* wire bytes on the route from it */
    const double *link_s;     /* seconds per byte of each link; shape (routers * 6,) */
    double host_s;            /* seconds per byte of a link between node and router */
};

struct search {
    const struct problem *p;
    int32_t *at;      /* chosen node of each rank */
    int32_t *slot;    /* rank in each slot of each chosen node */
    int32_t *slot_of; /* slot of each rank, counted over all chosen nodes */
    double *load;     /* seconds by link, then out of each node, then into each node */
    double *delta;
    int32_t *touched;
    int32_t touched_count;
    bool *is_touched;
    int16_t (*place)[DIMENSIONS]; /* coordinate of each chosen node */
    double *heat;                 /* of each rank: what its messages contribute to the sum's slope */
    int32_t links;
    int32_t everything; /* links and both directions of every node */
    double limit;       /* seconds above which no exchange may raise a link */
    uint64_t random;
};

static uint64_t next_random(struct search *s) {
    uint64_t z = (s->random += 0x9E3779B97F4A7C15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static int32_t random_below(struct search *s, int32_t limit) {
    return (int32_t)(((next_random(s) >> 32) * (uint64_t)limit) >> 32);
}

static int32_t wrapped(int32_t position, int32_t extent) {
    return position < 0 ? position + extent : position >= extent ? position - extent : position;
}

/* The way along one dimension: how many steps, and whether backwards. */
static int32_t steps(int32_t from, int32_t to, int32_t extent, bool *minus) {
    const int32_t ahead = wrapped(to - from, extent);
    *minus = 2 * ahead > extent || (2 * ahead == extent && (from & 1));
    return *minus ? extent - ahead : ahead;
}

static void touch(struct search *s, int32_t link, double seconds) {
    if (!s->is_touched[link]) {
        s->is_touched[link] = true;
        s->touched[s->touched_count++] = link;
    }
    s->delta[link] += seconds;
}

/* The links of a torus between two chosen nodes, in order; returns how many. */
static int32_t dimension_order(const struct search *s, int32_t from, int32_t to, int32_t *links) {
    const struct problem *p = s->p;
    const int32_t stride[DIMENSIONS] = {p->extents[1] * p->extents[2] * PORTS, p->extents[2] * PORTS, PORTS};
    int32_t router = p->switch_of[from] * PORTS, count = 0;
    for (int d = 0; d < DIMENSIONS; d++) {
        bool minus;
        int32_t position = s->place[from][d];
        const int32_t extent = p->extents[d];
        int32_t left = steps(position, s->place[to][d], extent, &minus);
        const int32_t port = 2 * d + minus;
        for (; left > 0; left--) {
            links[count++] = router + port;
            const int32_t moved = wrapped(minus ? position - 1 : position + 1, extent);
            router += (moved - position) * stride[d];
            position = moved;
        }
    }
    return count;
}

/* The links between two chosen nodes of two routers, and how many; `scratch` has room for MOST_HOPS. */
static const int32_t *route(const struct search *s, int32_t from, int32_t to, int32_t *scratch,
                            int32_t *count) {
    const struct problem *p = s->p;
    if (!p->longest) {
        *count = dimension_order(s, from, to, scratch);
        return scratch;
    }
    const int64_t row = (int64_t)p->switch_of[from] * p->chosen + to;
    const int32_t *links = p->routes + row * p->longest;
    for (*count = 0; *count < p->longest && links[*count] >= 0;)
        ++*count;
    return links;
}

/* Calls touch() for every link between two chosen nodes, hosts included. */
static void touch_route(struct search *s, int32_t from, int32_t to, double bytes) {
    const struct problem *p = s->p;
    if (from == to || bytes == 0.0)
        return;
    if (p->host_s > 0.0) {
        touch(s, s->links + p->where[from], bytes * p->host_s);
        touch(s, s->links + p->nodes + p->where[to], bytes * p->host_s);
    }
    if (p->switch_of[from] == p->switch_of[to])
        return;
    int32_t scratch[MOST_HOPS], count;
    const int32_t *links = route(s, from, to, scratch, &count);
    for (int32_t k = 0; k < count; k++)
        touch(s, links[k], bytes * p->link_s[links[k]]);
}

/* Adds (sign +1) or removes (-1) all messages of a rank that is placed on a chosen node. */
static void touch_rank(struct search *s, int32_t rank, int32_t node, double sign) {
    const struct problem *p = s->p;
    for (int64_t m = p->first[rank]; m < p->first[rank + 1]; m++) {
        const int32_t there = s->at[p->other[m]];
        touch_route(s, node, there, sign * p->out[m]);
        touch_route(s, there, node, sign * p->in[m]);
    }
}

static void move_rank(struct search *s, int32_t rank, int32_t to) {
    touch_rank(s, rank, s->at[rank], -1.0);
    s->at[rank] = to;
    touch_rank(s, rank, to, 1.0);
}

static double raised(double x, int power) {
    for (int squared = 1; squared < power; squared *= 2)
        x *= x;
    return x;
}

/* Returns the change of the sum from the touched links' deltas; infinite if one rises above the limit. */
static double change(const struct search *s, double scale, int power) {
    double sum = 0.0;
    for (int32_t k = 0; k < s->touched_count; k++) {
        const int32_t link = s->touched[k];
        const double before = s->load[link], after = before + s->delta[link];
        if (after > s->limit && after > before)
            return HUGE_VAL;
        sum += raised(after * scale, power) - raised(before * scale, power);
    }
    return sum;
}

static void settle(struct search *s, bool keep) {
    for (int32_t k = 0; k < s->touched_count; k++) {
        const int32_t link = s->touched[k];
        if (keep)
            s->load[link] += s->delta[link];
        s->delta[link] = 0.0;
        s->is_touched[link] = false;
    }
    s->touched_count = 0;
}

static void exchange_slots(struct search *s, int32_t one, int32_t other) {
    const int32_t slot = s->slot_of[one];
    s->slot_of[one] = s->slot_of[other];
    s->slot_of[other] = slot;
    s->slot[s->slot_of[one]] = one;
    s->slot[s->slot_of[other]] = other;
}

static void exchange(struct search *s, int32_t one, int32_t other) {
    const int32_t here = s->at[one], there = s->at[other];
    move_rank(s, one, there);
    move_rank(s, other, here);
}

static double slowest(const struct search *s) {
    double most = 0.0;
    for (int32_t link = 0; link < s->links; link++)
        most = s->load[link] > most ? s->load[link] : most;
    return most;
}

/* Recomputes all loads, which also removes accumulated rounding. */
static void load_all(struct search *s) {
    memset(s->load, 0, (size_t)s->everything * sizeof *s->load);
    for (int32_t rank = 0; rank < s->p->ranks; rank++)
        for (int64_t m = s->p->first[rank]; m < s->p->first[rank + 1]; m++)
            touch_route(s, s->at[rank], s->at[s->p->other[m]], s->p->out[m]);
    settle(s, true);
}

/* Adds up what each rank's messages contribute to the slope of the sum. */
static void find_heat(struct search *s, double scale, int power) {
    for (int32_t rank = 0; rank < s->p->ranks; rank++) {
        touch_rank(s, rank, s->at[rank], 1.0);
        for (int32_t k = 0; k < s->touched_count; k++) {
            const int32_t link = s->touched[k];
            const double t = s->load[link] * scale;
            if (link < s->links && t > 0.0)
                s->heat[rank] += s->delta[link] * raised(t, power) / t;
        }
        settle(s, false);
    }
}

/* The hottest of a few. */
static int32_t pick_hot(struct search *s, int drawn) {
    int32_t best = random_below(s, s->p->ranks);
    for (int k = 1; k < drawn; k++) {
        const int32_t rank = random_below(s, s->p->ranks);
        best = s->heat[rank] > s->heat[best] ? rank : best;
    }
    return best;
}

/* For a network that is not a torus: returns a chosen node of the same switch, of the same group, or any. */
static int32_t pick_by_group(struct search *s, int32_t near) {
    const struct problem *p = s->p;
    const int32_t drawn = random_below(s, 4);
    if (drawn == 0)
        return random_below(s, p->chosen);
    const int32_t *bounds = p->near[near] + (drawn == 1 ? 0 : 2);
    return p->by_switch[bounds[0] + random_below(s, bounds[1] - bounds[0])];
}

/* A chosen node near one of those that a rank talks to; now and then any. */
static int32_t pick_node(struct search *s, int32_t rank, const int32_t *chosen_of) {
    const struct problem *p = s->p;
    const int64_t messages = p->first[rank + 1] - p->first[rank];
    if (messages == 0 || random_below(s, 16) == 0)
        return random_below(s, p->chosen);
    const int64_t m = p->first[rank] + random_below(s, (int32_t)messages);
    const int32_t near = s->at[random_below(s, 4) ? p->other[m] : rank];
    if (!p->extents[0])
        return pick_by_group(s, near);
    for (int tries = 0; tries < 8; tries++) {
        int32_t router = 0;
        for (int d = 0; d < DIMENSIONS; d++) {
            const int32_t position = s->place[near][d] + random_below(s, 3) - 1;
            router = router * p->extents[d] + wrapped(position, p->extents[d]);
        }
        const int32_t node = chosen_of[router * p->nodes_per_router + random_below(s, p->nodes_per_router)];
        if (node >= 0)
            return node;
    }
    return near;
}

/* Exchanges pairs of ranks, or all ranks of two nodes, unless that raises the sum by `allowed` or more. */
static void try_pairs(struct search *s, const int32_t *mine, const int32_t *theirs, int32_t pairs,
                      double scale, int power, double allowed) {
    for (int32_t k = 0; k < pairs; k++)
        exchange(s, mine[k], theirs[k]);
    const bool keep = change(s, scale, power) < allowed;
    settle(s, keep);
    for (int32_t k = 0; k < pairs; k++) {
        const int32_t one = mine[k], other = theirs[k], here = s->at[one];
        if (keep) {
            exchange_slots(s, one, other);
        } else {
            s->at[one] = s->at[other];
            s->at[other] = here;
        }
    }
}

/* All arrays in one piece of zeroed memory, which the caller frees; those of the widest entries come first.
 */
static void *allocate(struct search *s, int32_t **chosen_of) {
    const struct problem *p = s->p;
    const size_t everything = (size_t)s->everything, ranks = (size_t)p->ranks, chosen = (size_t)p->chosen;
    const size_t numbers = 2 * ranks + everything + (size_t)p->nodes;
    void *memory = calloc(1, sizeof(double) * (2 * everything + ranks) + sizeof(int32_t) * numbers +
                                 sizeof *s->place * chosen + sizeof(bool) * everything);
    if (!memory)
        return NULL;
    s->load = memory;
    s->delta = s->load + everything;
    s->heat = s->delta + everything;
    s->slot = (void *)(s->heat + ranks);
    s->slot_of = s->slot + ranks;
    s->touched = s->slot_of + ranks;
    *chosen_of = s->touched + everything;
    s->place = (void *)(*chosen_of + p->nodes);
    s->is_touched = (void *)(s->place + chosen);
    return memory;
}

/* Fills the coordinates of the chosen nodes, and the ranks in their slots. */
static void lay_out(struct search *s, int32_t *chosen_of) {
    const struct problem *p = s->p;
    for (int32_t node = 0; node < p->nodes; node++)
        chosen_of[node] = -1;
    for (int32_t k = 0; k < p->chosen; k++) {
        int32_t router = p->where[k] / p->nodes_per_router;
        chosen_of[p->where[k]] = k;
        for (int d = DIMENSIONS - 1; d >= 0 && p->extents[0]; d--) {
            s->place[k][d] = (int16_t)(router % p->extents[d]);
            router /= p->extents[d];
        }
    }
    for (int32_t rank = 0; rank < p->ranks; rank++) {
        int32_t slot = s->at[rank] * p->slots + s->touched[s->at[rank]]++;
        s->slot[slot] = rank;
        s->slot_of[rank] = slot;
    }
    memset(s->touched, 0, (size_t)s->everything * sizeof *s->touched);
}

/*
 * Tries `trials` exchanges; `at` (chosen node of each rank) is improved in place.
 *
 * `power` is a power of two; `share_of_nodes` of 1024 trials exchange whole nodes. The first exchanges may
 * add `allowed` to the sum, which falls to 0 at the last (threshold accepting). None raises a link above
 * `limit` seconds. Returns the slowest link's seconds, or -1 without memory; with 0 trials it only evaluates.
 * `others` gets the slowest host link's seconds and the sum of those of all links between routers.
 */
double railyard_refine(const struct problem *p, int32_t *at, int64_t trials, int power, int share_of_nodes,
                       uint64_t seed, double allowed, double limit, double others[2]) {
    struct search s = {.p = p, .at = at, .limit = limit, .random = seed};
    s.links = p->links;
    s.everything = s.links + 2 * p->nodes;
    int32_t *chosen_of = NULL;
    double longest_s = -1.0;
    void *memory = allocate(&s, &chosen_of);
    if (memory) {
        lay_out(&s, chosen_of);
        load_all(&s);
        const double scale = slowest(&s) > 0.0 ? 1.0 / slowest(&s) : 0.0;
        if (trials > 0 && scale > 0.0)
            find_heat(&s, scale, power);
        for (int64_t k = 0; k < trials && scale > 0.0; k++) {
            const double threshold = allowed * (double)(trials - k) / (double)trials;
            const int32_t one = pick_hot(&s, 4);
            const int32_t node = pick_node(&s, one, chosen_of);
            if (node == at[one])
                continue;
            const int32_t *theirs = s.slot + (int64_t)node * p->slots;
            if (random_below(&s, 1024) < share_of_nodes) {
                const int32_t *mine = s.slot + (int64_t)at[one] * p->slots;
                try_pairs(&s, mine, theirs, p->slots, scale, power, threshold);
            } else {
                const int32_t other = theirs[random_below(&s, p->slots)];
                try_pairs(&s, &one, &other, 1, scale, power, threshold);
            }
        }
        longest_s = slowest(&s);
        for (int32_t k = 0; k < s.links; k++)
            others[1] += s.load[k];
        for (int32_t k = s.links; k < s.everything; k++)
            others[0] = s.load[k] > others[0] ? s.load[k] : others[0];
    }
    free(memory);
    return longest_s;
}
