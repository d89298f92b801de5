/* Parallel lines of nodes; see lines.h. */
#include "pt2pt/lines.h"

#include <stdio.h>
#include <string.h>

enum { Y = 1, Z = 2 };

/* Returns the dimension along which parallel lines are adjacent. */
static int across(int dimension) {
    return dimension == Y ? Z : Y;
}

/* Returns the distance of the hops in lattice positions. */
static int stride(const struct lattice *lattice, int dimension, int hops) {
    return dimension == Y ? hops * lattice->nodes_per_router : hops;
}

/* Puts the ranks of all lines into the team; false where one is missing. */
static bool fill(const struct lattice *lattice, const int *origin, int dimension, int hops,
                 struct team *team) {
    int position[TORUS_DIMENSIONS];
    memcpy(position, origin, sizeof position);
    for (int path = 0; path < team->pairs; path++) {
        position[across(dimension)] = origin[across(dimension)] + path;
        position[dimension] = origin[dimension];
        team->pair[path].from = lattice_rank(lattice, position);
        position[dimension] += stride(lattice, dimension, hops);
        team->pair[path].to = lattice_rank(lattice, position);
        if (team->pair[path].from < 0 || team->pair[path].to < 0)
            return false;
    }
    return true;
}

/* Tries every rank on the first node of its router as the origin of the first line. */
static bool fill_anywhere(const struct lattice *lattice, const struct coordinates *coordinates, int ranks,
                          int dimension, int hops, struct team *team) {
    int origin[TORUS_DIMENSIONS];
    for (int rank = 0; rank < ranks; rank++) {
        lattice_position(lattice, coordinates, rank, origin);
        if (origin[Y] % lattice->nodes_per_router == 0 && fill(lattice, origin, dimension, hops, team))
            return true;
    }
    return false;
}

/* Returns why the torus has no such lines; empty if it has. */
static void check_torus(const struct lattice *lattice, const struct coordinates *coordinates, int dimension,
                        int hops, int paths, char *reason) {
    int extent = coordinates->extents[dimension];
    int lines = lattice->extents[across(dimension)];
    reason[0] = '\0';
    if (extent == 1)
        (void)snprintf(reason, LINES_REASON_BYTES, "extent 1: no hops in this dimension");
    else if (hops > extent / 2)
        (void)snprintf(reason, LINES_REASON_BYTES, "extent %d: at most %d hops", extent, extent / 2);
    else if (paths > lines)
        (void)snprintf(reason, LINES_REASON_BYTES, "at most %d parallel paths", lines);
}

struct team lines_find(const struct lattice *lattice, const struct coordinates *coordinates, int ranks,
                       int dimension, int hops, int paths, char *reason) {
    struct team team = {0};
    check_torus(lattice, coordinates, dimension, hops, paths, reason);
    if (reason[0])
        return team;
    team = team_make(paths);
    if (!fill_anywhere(lattice, coordinates, ranks, dimension, hops, &team)) {
        (void)snprintf(reason, LINES_REASON_BYTES, "no ranks at both ends of %d such path%s", paths,
                       paths == 1 ? "" : "s");
        team_free(&team);
        team = (struct team){0};
    }
    return team;
}
