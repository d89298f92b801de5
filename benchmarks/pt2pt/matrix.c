/* Matrices of pairs in a file; see matrix.h. */
#include "pt2pt/matrix.h"

#include "lib/measure/clock.h"
#include "lib/output/json.h"
#include "lib/output/table.h"
#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[16] = {'r', 'a', 'i', 'l', 'y', 'a', 'r', 'd',
                               '-', 'p', 'a', 'i', 'r', 's', '/', '1'};
static const double write_every_s = 5;

static void find_own(struct matrix *matrix, const struct nodes *nodes) {
    matrix->node_of_rank = check_alloc((size_t)check_ranks(), sizeof *matrix->node_of_rank);
    for (int rank = 0; rank < check_ranks(); rank++)
        matrix->node_of_rank[rank] = -1;
    for (int node = 0; node < nodes->count; node++)
        matrix->node_of_rank[nodes_rank(nodes, node, 0)] = node;
    matrix->own = matrix->node_of_rank[check_rank()];
}

static void describe(FILE *file, const struct nodes *nodes, const struct engine_config *config,
                     const struct evidence_list *evidence) {
    struct point *point = check_alloc(POINTS_MAX, sizeof *point);
    int points = points_list(&config->points, point);
    struct json json = json_start(file);
    json.one_line = true;
    json_object(&json);
    json_key_array(&json, "nodes");
    for (int node = 0; node < nodes->count; node++)
        json_text(&json, evidence_host_of(evidence, nodes_rank(nodes, node, 0)));
    json_array_end(&json);
    json_key_array(&json, "points");
    for (int i = 0; i < points; i++) {
        const struct figure *figure = &figures[point[i].figure];
        json_object(&json);
        json_key_text(&json, "test", figure->name);
        json_key_text(&json, "fom", figure->fom);
        json_key_text(&json, "unit", figure->unit);
        json_key_text(&json, "better", figure->directions ? "higher" : "lower");
        json_key_integer(&json, "size_bytes", (int64_t)point[i].bytes);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    free(point);
}

/* Returns the offset of the first matrix, 0 if the head cannot be written. */
static MPI_Offset write_head(MPI_File file, const struct nodes *nodes, const struct engine_config *config,
                             const struct evidence_list *evidence) {
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (memory == NULL)
        return 0;
    describe(memory, nodes, config, evidence);
    (void)fclose(memory);
    unsigned char sizes[8];
    for (size_t i = 0; i < sizeof sizes; i++)
        sizes[i] = (unsigned char)((uint64_t)length >> 8 * i);
    bool good = MPI_File_write_at(file, 0, magic, sizeof magic, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
                MPI_File_write_at(file, sizeof magic, sizes, sizeof sizes, MPI_BYTE, MPI_STATUS_IGNORE) ==
                    MPI_SUCCESS &&
                MPI_File_write_at(file, sizeof magic + sizeof sizes, text, (int)length, MPI_BYTE,
                                  MPI_STATUS_IGNORE) == MPI_SUCCESS;
    free(text);
    size_t data = sizeof magic + sizeof sizes + length;
    return good ? (MPI_Offset)((data + sizeof(float) - 1) / sizeof(float) * sizeof(float)) : 0;
}

struct matrix *matrix_open(const char *path, const struct nodes *nodes, const struct engine_config *config,
                           const struct evidence_list *evidence, struct problem *problem) {
    struct matrix *matrix = check_alloc(1, sizeof *matrix);
    struct point *point = check_alloc(POINTS_MAX, sizeof *point);
    matrix->nodes = nodes->count;
    matrix->points = points_list(&config->points, point);
    free(point);
    find_own(matrix, nodes);
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &matrix->file) != MPI_SUCCESS) {
        matrix->file = MPI_FILE_NULL;
        problem_set(problem, "--pairs %s: cannot be written; expected a path that all ranks can write", path);
        return matrix;
    }
    MPI_CHECK(MPI_File_set_size(matrix->file, 0));
    if (check_rank() == 0)
        matrix->data = write_head(matrix->file, nodes, config, evidence);
    MPI_CHECK(MPI_Bcast(&matrix->data, 1, MPI_OFFSET, 0, MPI_COMM_WORLD));
    if (matrix->data == 0)
        problem_set(problem, "--pairs %s: cannot be written", path);
    MPI_Offset row = (MPI_Offset)matrix->nodes * (MPI_Offset)sizeof(float);
    MPI_CHECK(MPI_File_set_size(matrix->file, matrix->data + matrix->points * matrix->nodes * row));
    if (matrix->own >= 0)
        matrix->rows = check_alloc((size_t)matrix->points * (size_t)matrix->nodes, sizeof *matrix->rows);
    return matrix;
}

void matrix_note(struct matrix *matrix, const struct engine_config *config, const struct point *point,
                 int number, int to, const double *unit_s, int count) {
    matrix->rows[(size_t)number * (size_t)matrix->nodes + (size_t)matrix->node_of_rank[to]] =
        (float)point_value(config, point, table_median(unit_s, count));
    matrix->is_new = true;
}

static void write_rows(struct matrix *matrix) {
    MPI_Offset row = (MPI_Offset)matrix->nodes * (MPI_Offset)sizeof(float);
    for (int i = 0; matrix->is_new && i < matrix->points; i++)
        MPI_CHECK(MPI_File_write_at(
            matrix->file, matrix->data + ((MPI_Offset)i * matrix->nodes + matrix->own) * row,
            matrix->rows + (size_t)i * (size_t)matrix->nodes, matrix->nodes, MPI_FLOAT, MPI_STATUS_IGNORE));
    matrix->is_new = false;
    matrix->written_s = clock_now_s();
}

void matrix_write(struct matrix *matrix) {
    if (clock_now_s() - matrix->written_s > write_every_s)
        write_rows(matrix);
}

void matrix_close(struct matrix *matrix) {
    if (matrix == NULL)
        return;
    write_rows(matrix);
    if (matrix->file != MPI_FILE_NULL)
        MPI_CHECK(MPI_File_close(&matrix->file));
    free(matrix->rows);
    free(matrix->node_of_rank);
    free(matrix);
}
