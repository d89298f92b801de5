/* Ranks on a periodic process grid; see grid.h. */
#include "halo/grid.h"

#include "lib/check.h"
#include "lib/textfile.h"

#include <stdlib.h>
#include <string.h>

static const char *const order_names[] = {"row-major", "column-major", "rank-map"};

const char *grid_order_name(enum grid_order order) {
    return order_names[order];
}

bool parse_grid_order(const char *text, void *field) {
    for (int order = GRID_ROW_MAJOR; order <= GRID_COLUMN_MAJOR; order++)
        if (strcmp(text, order_names[order]) == 0) {
            *(enum grid_order *)field = (enum grid_order)order;
            return true;
        }
    return false;
}

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

static size_t row_major_index(const struct extents *extents, const size_t *coordinate) {
    size_t index = 0;
    for (int d = 0; d < extents->count; d++)
        index = index * extents->length[d] + coordinate[d];
    return index;
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
}

void grid_fill(const struct extents *extents, enum grid_order order, struct grid *grid) {
    size_t coordinate[PARSE_DIMENSIONS_MAX];
    grid_start(extents, grid);
    for (size_t index = 0; index < grid_size(extents); index++) {
        coordinate_of(extents, index, coordinate);
        grid->rank_at[index] =
            (int)(order == GRID_COLUMN_MAJOR ? column_major_index(extents, coordinate) : index);
    }
    find_position(grid);
}

/* Reads one rank into the map; a problem when it is no rank, or stands there already. */
static void read_entry(const char *line, int number, const char *path, bool *seen, int *entry,
                       struct problem *problem) {
    uint64_t rank = 0;
    int ranks = check_ranks();
    if (!parse_number(line, &rank) || rank >= (uint64_t)ranks)
        problem_set(problem, "--rank-map %s: line %d: %s is not a rank; valid: 0 to %d, each once", path,
                    number, line, ranks - 1);
    else if (seen[rank])
        problem_set(problem, "--rank-map %s: line %d: rank %s stands there twice; valid: 0 to %d, each once",
                    path, number, line, ranks - 1);
    else
        seen[rank] = true;
    *entry = (int)rank;
}

static void read_entries(char *text, const char *path, struct grid *grid, struct problem *problem) {
    int ranks = check_ranks();
    bool *seen = check_alloc((size_t)ranks, sizeof *seen);
    int number = 0;
    int entries = 0;
    char *line;
    while (!problem_is_set(problem) && (line = textfile_line(&text, &number)) != NULL) {
        if (entries == ranks)
            problem_set(problem, "--rank-map %s: line %d: more than %d ranks", path, number, ranks);
        else
            read_entry(line, number, path, seen, &grid->rank_at[entries++], problem);
    }
    if (entries < ranks)
        problem_set(problem, "--rank-map %s: %d ranks; valid: 0 to %d, each once", path, entries, ranks - 1);
    free(seen);
}

void grid_read(const struct extents *extents, const char *path, struct grid *grid, struct problem *problem) {
    char *text = textfile_read(path, "rank-map", problem);
    grid_start(extents, grid);
    if (text)
        read_entries(text, path, grid, problem);
    if (text && !problem_is_set(problem))
        find_position(grid);
    free(text);
}

int grid_neighbour(const struct grid *grid, int dimension, int step) {
    size_t coordinate[PARSE_DIMENSIONS_MAX];
    size_t length = grid->extents.length[dimension];
    coordinate_of(&grid->extents, (size_t)grid->position, coordinate);
    coordinate[dimension] = (coordinate[dimension] + (step > 0 ? 1 : length - 1)) % length;
    return grid->rank_at[row_major_index(&grid->extents, coordinate)];
}

void grid_free(struct grid *grid) {
    free(grid->rank_at);
}
