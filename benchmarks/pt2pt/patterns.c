/* The table of patterns; see patterns.h. To add one: a function and a row. */
#include "pt2pt/patterns.h"

#include <stddef.h>
#include <string.h>

/* ---- whoever the nodes are ---- */

static bool ring(const struct layout *layout, int step, int i, struct node_pair *pair) {
    (void)step;
    *pair = (struct node_pair){i, (i + 1) % layout->nodes.count};
    return true;
}

static bool shift(const struct layout *layout, int step, int i, struct node_pair *pair) {
    *pair = (struct node_pair){i, (i + step) % layout->nodes.count};
    return pair->from != pair->to;
}

/* Along the cycle of a random order: no node meets itself. */
static bool random_permutation(const struct layout *layout, int step, int i, struct node_pair *pair) {
    (void)step;
    *pair = (struct node_pair){layout->shuffled[i], layout->shuffled[(i + 1) % layout->nodes.count]};
    return true;
}

static bool incast(const struct layout *layout, int step, int i, struct node_pair *pair) {
    (void)layout;
    (void)step;
    *pair = (struct node_pair){i, 0};
    return i > 0;
}

static bool fan_out(const struct layout *layout, int step, int i, struct node_pair *pair) {
    (void)layout;
    (void)step;
    *pair = (struct node_pair){0, i};
    return i > 0;
}

/* ---- by the torus, where it is known ---- */

/* Returns the node at this offset along each dimension; -1 if there is none. */
static int node_away(const struct layout *layout, int node, const int *steps) {
    size_t index = 0;
    for (int d = 0; d < TORUS_DIMENSIONS; d++) {
        int extent = layout->extents[d];
        index = index * (size_t)extent + (size_t)((layout->position[node][d] + steps[d]) % extent);
    }
    return layout->node_at[index];
}

/* A pair, where both nodes are there. */
static bool meet(int node, int other, struct node_pair *pair) {
    *pair = (struct node_pair){node, other};
    return other >= 0 && other != node;
}

static int longest_dimension(const struct layout *layout) {
    int longest = 0;
    for (int d = 1; d < TORUS_DIMENSIONS; d++)
        if (layout->extents[d] > layout->extents[longest])
            longest = d;
    return longest;
}

/* Half way round the longest dimension: all data cross the middle of the machine, its narrowest cut. */
static bool bisection(const struct layout *layout, int step, int i, struct node_pair *pair) {
    int steps[TORUS_DIMENSIONS] = {0};
    int half = layout->nodes.count / 2;
    (void)step;
    if (!layout->position)
        return i < half && meet(i, i + half, pair);
    int d = longest_dimension(layout);
    steps[d] = layout->extents[d] / 2;
    return layout->position[i][d] < steps[d] && meet(i, node_away(layout, i, steps), pair);
}

static bool nearest(const struct layout *layout, int step, int i, struct node_pair *pair) {
    int steps[TORUS_DIMENSIONS] = {0};
    (void)step;
    if (!layout->position)
        return i % 2 == 0 && i + 1 < layout->nodes.count && meet(i, i + 1, pair);
    int d = longest_dimension(layout);
    steps[d] = 1;
    return layout->position[i][d] % 2 == 0 && meet(i, node_away(layout, i, steps), pair);
}

static bool farthest(const struct layout *layout, int step, int i, struct node_pair *pair) {
    int steps[TORUS_DIMENSIONS];
    (void)step;
    if (!layout->position)
        return i < layout->nodes.count / 2 && meet(i, layout->nodes.count - 1 - i, pair);
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        steps[d] = layout->extents[d] / 2;
    return node_away(layout, i, steps) > i && meet(i, node_away(layout, i, steps), pair);
}

static const struct pattern table[] = {
    {"ring", "each node to the next", ring, ONE_STEP},
    {"shift", "node i to node i + k, for each k of --steps", shift, CHOSEN_STEPS},
    {"all", "every node to every other, one shift after the other, as mpiGraph", shift, ALL_STEPS},
    {"random", "a random permutation without fixed points, another for each of --steps", random_permutation,
     CHOSEN_STEPS},
    {"bisection", "each node with one on the other side of the middle of the longest dimension", bisection,
     ONE_STEP},
    {"nearest", "neighbours along the longest dimension", nearest, ONE_STEP},
    {"farthest", "each node with the one half way round every dimension", farthest, ONE_STEP},
    {"incast", "all nodes to the first", incast, ONE_STEP},
    {"fan-out", "the first node to all others", fan_out, ONE_STEP},
};

bool parse_pattern(const char *text, void *field) {
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(text, table[i].name) == 0) {
            *(const struct pattern **)field = &table[i];
            return true;
        }
    return false;
}
