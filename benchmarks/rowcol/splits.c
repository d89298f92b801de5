/* Rows, planes, all; see splits.h. */
#include "rowcol/splits.h"

#include "lib/input/options.h"
#include "lib/run/check.h"

static const struct split_way ways[SPLIT_WAYS] = {
    {"X", {true, false, false}}, {"Y", {false, true, false}}, {"Z", {false, false, true}},
    {"XY", {true, true, false}}, {"XZ", {true, false, true}}, {"YZ", {false, true, true}},
    {"all", {true, true, true}},
};

const struct split_way *split_ways(void) {
    return ways;
}

bool parse_split_ways(const char *text, void *field) {
    const char *names[SPLIT_WAYS];
    for (int i = 0; i < SPLIT_WAYS; i++)
        names[i] = ways[i].name;
    return options_choose(text, names, SPLIT_WAYS, field);
}

/* Nodes in the box along the dimensions that are, or are not, those of the way. */
static int nodes_along(const struct standing *standing, int way, bool along) {
    int nodes = 1;
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        if (ways[way].along[d] == along)
            nodes *= standing->box.length[d];
    return nodes;
}

int split_count(const struct standing *standing, int way) {
    return way == SPLIT_ALL ? 1 : nodes_along(standing, way, false);
}

int split_ranks(const struct standing *standing, int way) {
    return way == SPLIT_ALL ? check_ranks() : nodes_along(standing, way, true) * standing->box.ranks_per_node;
}

/* The row-major index of a position among the dimensions that are, or are not, those of the way. */
static int index_along(const struct standing *standing, int way, bool along, const int *position) {
    int index = 0;
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        if (ways[way].along[d] == along)
            index = index * standing->box.length[d] + position[d];
    return index;
}

/* The position of a split's first or last node. */
static void corner(const struct standing *standing, int way, int index, bool last, int *position) {
    for (int d = TORUS_DIMENSIONS - 1; d >= 0; d--) {
        int length = standing->box.length[d];
        if (ways[way].along[d]) {
            position[d] = last ? length - 1 : 0;
        } else {
            position[d] = index % length;
            index /= length;
        }
    }
}

static int corner_rank(const struct standing *standing, int way, int index, bool last) {
    int position[TORUS_DIMENSIONS];
    if (!standing->path)
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
    box_position(&standing->box, &standing->lattice, &standing->coordinates, check_rank(), position);
    return index_along(standing, way, along, position);
}

int split_mine(const struct standing *standing, int way) {
    return own_index(standing, way, false);
}

MPI_Comm split_comm(const struct standing *standing, int way) {
    MPI_Comm comm;
    int order = own_index(standing, way, true);
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, split_mine(standing, way), order, &comm));
    MPI_CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    return comm;
}
