/* The block that the ranks fill, and its rows and planes; see splits.h. */
#include "rowcol/splits.h"

#include "lib/run/check.h"

#include <stdlib.h>

const struct split_way split_ways[SPLIT_WAYS] = {
    {"X", {true, false, false}}, {"Y", {false, true, false}}, {"Z", {false, false, true}},
    {"XY", {true, true, false}}, {"XZ", {true, false, true}}, {"YZ", {false, true, true}},
    {"all", {true, true, true}},
};

/* ---- the block ---- */

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

/* The lowest rank at a position in the box. */
static int box_rank(const struct box *box, const struct lattice *lattice, const int *position) {
    int at[TORUS_DIMENSIONS];
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        at[d] = box->origin[d] + position[d];
    return lattice_rank(lattice, at);
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

void box_find(const struct lattice *lattice, const struct coordinates *coordinates, int ranks,
              const char *path, struct box *box, struct problem *problem) {
    for (int d = 0; d < TORUS_DIMENSIONS; d++) {
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
    if (!problem_is_set(problem))
        check_full(lattice, path, box, problem);
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

/* ---- its rows and planes ---- */

/* Nodes in the box along the dimensions that are, or are not, those of the way. */
static int nodes_along(const struct standing *standing, int way, bool along) {
    int nodes = 1;
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        if (split_ways[way].along[d] == along)
            nodes *= standing->box.length[d];
    return nodes;
}

int split_count(const struct standing *standing, int way) {
    return way == SPLIT_ALL ? 1 : nodes_along(standing, way, false);
}

int split_ranks(const struct standing *standing, int way) {
    return way == SPLIT_ALL ? check_ranks() : nodes_along(standing, way, true) * standing->box.ranks_per_node;
}

/* The position of a split's first or last node. */
static void corner(const struct standing *standing, int way, int index, bool last, int *position) {
    for (int d = TORUS_DIMENSIONS - 1; d >= 0; d--) {
        int length = standing->box.length[d];
        if (split_ways[way].along[d]) {
            position[d] = last ? length - 1 : 0;
        } else {
            position[d] = index % length;
            index /= length;
        }
    }
}

static int corner_rank(const struct standing *standing, int way, int index, bool last) {
    int position[TORUS_DIMENSIONS];
    if (!standing->path || way == SPLIT_ALL)
        return last ? check_ranks() - 1 : 0;
    corner(standing, way, index, last, position);
    return box_rank(&standing->box, &standing->lattice, position);
}

int split_first(const struct standing *standing, int way, int index) {
    return corner_rank(standing, way, index, false);
}

int split_last(const struct standing *standing, int way, int index) {
    return corner_rank(standing, way, index, true);
}

static int own_index(const struct standing *standing, int way, bool along) {
    int position[TORUS_DIMENSIONS];
    if (!standing->path)
        return 0;
    /* A rank's position in the box. */
    lattice_position(&standing->lattice, &standing->coordinates, check_rank(), position);
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        position[d] = (position[d] - standing->box.origin[d] + standing->lattice.extents[d]) %
                      standing->lattice.extents[d];
    /* The row-major index of a position among the dimensions that are, or are not, those of the way. */
    int index = 0;
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        if (split_ways[way].along[d] == along)
            index = index * standing->box.length[d] + position[d];
    return index;
}

int split_mine(const struct standing *standing, int way) {
    return own_index(standing, way, false);
}

MPI_Comm split_comm(const struct standing *standing, int way) {
    MPI_Comm comm;
    /* All ranks together stay in the placement's order. */
    int order = way == SPLIT_ALL ? check_rank() : own_index(standing, way, true);
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, split_mine(standing, way), order, &comm));
    MPI_CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    return comm;
}
