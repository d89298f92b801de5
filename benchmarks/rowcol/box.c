/* The block that the ranks fill; see box.h. */
#include "rowcol/box.h"

#include "lib/run/check.h"

#include <stdlib.h>

/* Finds the contiguous range of used positions along a dimension, with wrap-around; false if there is more
 * than one. */
static bool find_stretch(const bool *used, int extent, int *origin, int *length) {
    int starts = 0;
    *origin = 0;
    *length = 0;
    for (int i = 0; i < extent; i++) {
        *length += used[i];
        if (used[i] && !used[(i + extent - 1) % extent]) {
            *origin = i;
            starts++;
        }
    }
    return starts <= 1;
}

static void find_along(const struct lattice *lattice, const struct coordinates *coordinates, int ranks, int d,
                       const char *path, struct box *box, struct problem *problem) {
    int position[TORUS_DIMENSIONS];
    int extent = lattice->extents[d];
    bool *used = check_alloc((size_t)extent, sizeof *used);
    for (int rank = 0; rank < ranks; rank++) {
        lattice_position(lattice, coordinates, rank, position);
        used[position[d]] = true;
    }
    if (!find_stretch(used, extent, &box->origin[d], &box->length[d]))
        problem_set(
            problem,
            "--coordinates %s: the ranks' nodes are not contiguous along %c; expected a block of nodes "
            "without a gap",
            path, 'X' + d);
    free(used);
}

static void check_full(const struct lattice *lattice, const char *path, const struct box *box,
                       struct problem *problem) {
    int at[TORUS_DIMENSIONS];
    for (at[0] = 0; at[0] < box->length[0]; at[0]++)
        for (at[1] = 0; at[1] < box->length[1]; at[1]++)
            for (at[2] = 0; at[2] < box->length[2]; at[2]++)
                if (box_rank(box, lattice, at) < 0) {
                    problem_set(problem,
                                "--coordinates %s: the ranks' nodes span %dx%dx%d, but none runs on position "
                                "%d,%d,%d of them; expected a block of nodes without a gap",
                                path, box->length[0], box->length[1], box->length[2], at[0], at[1], at[2]);
                    return;
                }
}

static void check_even(const struct coordinates *coordinates, int ranks, const char *path, struct box *box,
                       struct problem *problem) {
    int *ranks_on = check_alloc((size_t)coordinates->node_count, sizeof(int));
    for (int rank = 0; rank < ranks; rank++)
        ranks_on[coordinates->node_of_rank[rank]]++;
    box->ranks_per_node = ranks_on[coordinates->node_of_rank[0]];
    for (int i = 0; i < coordinates->node_count; i++)
        if (ranks_on[i] > 0 && ranks_on[i] != box->ranks_per_node)
            problem_set(problem,
                        "--coordinates %s: %d ranks on %s, %d on %s; expected equal ranks on each node", path,
                        ranks_on[i], coordinates->nodes[i].host, box->ranks_per_node,
                        coordinates->nodes[coordinates->node_of_rank[0]].host);
    free(ranks_on);
}

void box_find(const struct lattice *lattice, const struct coordinates *coordinates, int ranks,
              const char *path, struct box *box, struct problem *problem) {
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        find_along(lattice, coordinates, ranks, d, path, box, problem);
    if (!problem_is_set(problem))
        check_full(lattice, path, box, problem);
    check_even(coordinates, ranks, path, box, problem);
}

void box_position(const struct box *box, const struct lattice *lattice, const struct coordinates *coordinates,
                  int rank, int *position) {
    lattice_position(lattice, coordinates, rank, position);
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        position[d] = (position[d] - box->origin[d] + lattice->extents[d]) % lattice->extents[d];
}

int box_rank(const struct box *box, const struct lattice *lattice, const int *position) {
    int at[TORUS_DIMENSIONS];
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        at[d] = box->origin[d] + position[d];
    return lattice_rank(lattice, at);
}
