/* Ranks on a periodic process grid; see grid.h. */
#include "halo/grid.h"

#include "lib/input/textfile.h"
#include "lib/run/check.h"

#include <stdlib.h>

const char *const grid_orders[GRID_ORDERS] = {"row-major", "column-major", "mpi-cart", "mpi-dist-graph"};

size_t grid_size(const struct extents *extents) {
    size_t size = 1;
    for (int d = 0; d < extents->count; d++)
        size *= extents->length[d];
    return size;
}

struct extents grid_default(int ranks, int dimensions) {
    struct extents extents = {.count = dimensions};
    int lengths[PARSE_DIMENSIONS_MAX] = {0};
    MPI_CHECK(MPI_Dims_create(ranks, dimensions, lengths));
    for (int d = 0; d < dimensions; d++)
        extents.length[d] = (size_t)lengths[d];
    return extents;
}

static void coordinate_of(const struct extents *extents, size_t index, size_t *coordinate) {
    for (int d = extents->count - 1; d >= 0; d--) {
        coordinate[d] = index % extents->length[d];
        index /= extents->length[d];
    }
}

static size_t column_major_index(const struct extents *extents, const size_t *coordinate) {
    size_t index = 0;
    for (int d = extents->count - 1; d >= 0; d--)
        index = index * extents->length[d] + coordinate[d];
    return index;
}

static void grid_start(const struct extents *extents, struct grid *grid) {
    *grid = (struct grid){.extents = *extents, .rank_at = check_alloc(grid_size(extents), sizeof(int))};
}

static void find_position(struct grid *grid) {
    int rank = check_rank();
    while (grid->rank_at[grid->position] != rank)
        grid->position++;
    for (int at = 0; at < check_ranks(); at++)
        grid->is_renumbered = grid->is_renumbered || grid->rank_at[at] != at;
}

/* Collective. Each rank's place is its rank in the library's communicator. */
static void fill_by_mpi(MPI_Comm comm, struct grid *grid) {
    int own = 0;
    int *position_of = check_alloc((size_t)check_ranks(), sizeof *position_of);
    MPI_CHECK(MPI_Comm_rank(comm, &own));
    MPI_CHECK(MPI_Allgather(&own, 1, MPI_INT, position_of, 1, MPI_INT, MPI_COMM_WORLD));
    for (int rank = 0; rank < check_ranks(); rank++)
        grid->rank_at[position_of[rank]] = rank;
    free(position_of);
    MPI_CHECK(MPI_Comm_free(&comm));
}

void grid_fill(const struct extents *extents, enum grid_order order, struct grid *grid) {
    grid_start(extents, grid);
    size_t coordinate[PARSE_DIMENSIONS_MAX];
    for (size_t index = 0; index < grid_size(extents); index++) {
        coordinate_of(extents, index, coordinate);
        grid->rank_at[index] =
            (int)(order == GRID_COLUMN_MAJOR ? column_major_index(extents, coordinate) : index);
    }
    if (order == GRID_MPI_CART) {
        /* The library's own communicator of the grid; its ranks are row-major indices. */
        int lengths[PARSE_DIMENSIONS_MAX];
        int periods[PARSE_DIMENSIONS_MAX] = {1, 1, 1};
        MPI_Comm comm;
        for (int d = 0; d < extents->count; d++)
            lengths[d] = (int)extents->length[d];
        MPI_CHECK(MPI_Cart_create(MPI_COMM_WORLD, extents->count, lengths, periods, 1, &comm));
        fill_by_mpi(comm, grid);
    } else if (order == GRID_MPI_DIST_GRAPH) {
        /* The same by the graph of the grid's neighbours, in which vertex r has row-major index r. */
        int neighbours[2 * PARSE_DIMENSIONS_MAX];
        int weights[2 * PARSE_DIMENSIONS_MAX] = {1, 1, 1, 1, 1, 1};
        MPI_Comm comm;
        grid->position = check_rank();
        for (int n = 0; n < 2 * extents->count; n++) {
            int step[PARSE_DIMENSIONS_MAX] = {0};
            step[n / 2] = n % 2 ? 1 : -1;
            neighbours[n] = grid_neighbour(grid, step);
        }
        MPI_CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2 * extents->count, neighbours, weights,
                                                 2 * extents->count, neighbours, weights, MPI_INFO_NULL, 1,
                                                 &comm));
        fill_by_mpi(comm, grid);
    }
    grid->position = 0;
    find_position(grid);
}

static void read_entries(char *text, const char *path, struct grid *grid, struct problem *problem) {
    int ranks = check_ranks();
    bool *seen = check_alloc((size_t)ranks, sizeof *seen);
    int number = 0;
    int entries = 0;
    char *line;
    while (!problem_is_set(problem) && (line = textfile_line(&text, &number)) != NULL)
        if (entries == ranks) {
            problem_set(problem, "--rank-map %s: line %d: more than %d ranks", path, number, ranks);
        } else {
            /* Reads one rank into the map; sets a problem if it is not a rank or appears twice. */
            int *entry = &grid->rank_at[entries++];
            uint64_t rank = 0;
            if (!parse_number(line, &rank) || rank >= (uint64_t)ranks)
                problem_set(problem, "--rank-map %s: line %d: %s is not a rank; expected 0 to %d, each once",
                            path, number, line, ranks - 1);
            else if (seen[rank])
                problem_set(problem,
                            "--rank-map %s: line %d: rank %s is listed twice; expected 0 to %d, each once",
                            path, number, line, ranks - 1);
            else
                seen[rank] = true;
            *entry = (int)rank;
        }
    if (entries < ranks)
        problem_set(problem, "--rank-map %s: %d ranks; expected 0 to %d, each once", path, entries,
                    ranks - 1);
    free(seen);
}

void grid_read(const struct extents *extents, const char *path, struct grid *grid, struct problem *problem) {
    char *text = textfile_share(MPI_COMM_WORLD, path, "--rank-map", problem);
    grid_start(extents, grid);
    if (text)
        read_entries(text, path, grid, problem);
    if (text && !problem_is_set(problem))
        find_position(grid);
    free(text);
}

int grid_neighbour(const struct grid *grid, const int *step) {
    size_t coordinate[PARSE_DIMENSIONS_MAX];
    coordinate_of(&grid->extents, (size_t)grid->position, coordinate);
    for (int d = 0; d < grid->extents.count; d++) {
        size_t length = grid->extents.length[d];
        coordinate[d] = (coordinate[d] + (step[d] < 0 ? length - 1 : (size_t)step[d])) % length;
    }
    size_t index = 0;
    for (int d = 0; d < grid->extents.count; d++)
        index = index * grid->extents.length[d] + coordinate[d];
    return grid->rank_at[index];
}

void grid_free(struct grid *grid) {
    free(grid->rank_at);
}
