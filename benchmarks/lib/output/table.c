/* Aligned columns on stdout; see table.h. */
#include "lib/output/table.h"

#include "lib/measure/sampling.h"
#include "lib/run/check.h"

#include <stdlib.h>
#include <string.h>

enum { FIXED_COLUMNS = 6, COLUMNS_MAX = FIXED_COLUMNS + LABELS_MAX, CELL_BYTES = 272 };

static const char bytes_suffix[] = "_bytes";

void table_size(uint64_t bytes, char *text) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    while (unit < 3 && bytes > 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    (void)snprintf(text, SIZE_TEXT_BYTES, "%llu %s", (unsigned long long)bytes, units[unit]);
}

void table_heading(const char *program, const struct evidence_list *evidence) {
    int hosts = evidence_hosts(evidence);
    (void)printf("%s %s: %d rank%s on %d host%s", program, RAILYARD_VERSION, evidence->ranks,
                 evidence->ranks > 1 ? "s" : "", hosts, hosts > 1 ? "s" : "");
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* A sorted copy, to be freed. */
static double *sorted(const double *samples, int count) {
    double *copy = check_alloc((size_t)count, sizeof *copy);
    memcpy(copy, samples, (size_t)count * sizeof *copy);
    sampling_sort(copy, count);
    return copy;
}

double table_median(const double *samples, int count) {
    double *copy = sorted(samples, count);
    double median = sampling_median(copy, count);
    free(copy);
    return median;
}

struct row {
    char cells[COLUMNS_MAX][CELL_BYTES];
};

static void label_cell(const struct label *label, char *cell) {
    if (label->text)
        (void)snprintf(cell, CELL_BYTES, "%s", label->text);
    else if (ends_with(label->name, bytes_suffix))
        table_size((uint64_t)label->number, cell);
    else
        (void)snprintf(cell, CELL_BYTES, "%lld", (long long)label->number);
}

static void number_cell(double value, char *cell) {
    (void)snprintf(cell, CELL_BYTES, value < 1 ? "%.6f" : value < 100 ? "%.3f" : "%.2f", value);
}

static void series_row(const struct series *series, struct row *row) {
    double *samples = sorted(series->samples, series->count);
    int column = 0;
    strcpy(row->cells[column++], series->fom.name);
    for (int i = 0; i < series->label_count; i++)
        label_cell(&series->labels[i], row->cells[column++]);
    strcpy(row->cells[column++], series->fom.unit);
    (void)snprintf(row->cells[column++], CELL_BYTES, "%d", series->count);
    number_cell(sampling_median(samples, series->count), row->cells[column++]);
    number_cell(samples[0], row->cells[column++]);
    number_cell(samples[series->count - 1], row->cells[column++]);
    free(samples);
}

static void widen(const struct row *row, int columns, int *widths) {
    for (int c = 0; c < columns; c++)
        if ((int)strlen(row->cells[c]) > widths[c])
            widths[c] = (int)strlen(row->cells[c]);
}

/* Words to the left; sizes and numbers to the right. */
static bool to_the_right(const struct series *series, int column) {
    if (column >= 1 && column <= series->label_count)
        return series->labels[column - 1].text == NULL;
    return column > series->label_count + 1;
}

static void print_row(const struct row *row, const struct series *series, const int *widths) {
    int columns = FIXED_COLUMNS + series->label_count;
    for (int c = 0; c < columns; c++)
        (void)printf("%s%*s", c ? "  " : "", to_the_right(series, c) ? widths[c] : -widths[c], row->cells[c]);
    (void)printf("\n");
}

static bool is_row(const struct series *series) {
    return series->samples && !series->detail;
}

static const struct series *first_measured(const struct series_list *list) {
    for (int i = 0; i < list->count; i++)
        if (is_row(&list->series[i]))
            return &list->series[i];
    return NULL;
}

static void print_measured(const struct series_list *list, const struct series *first) {
    int widths[COLUMNS_MAX] = {0};
    int columns = FIXED_COLUMNS + first->label_count;
    struct row *heading = check_alloc(1, sizeof *heading);
    struct row *rows = check_alloc((size_t)list->count, sizeof *rows);
    static const char *const fixed[FIXED_COLUMNS] = {"fom", "unit", "samples", "median", "min", "max"};
    int column = 0;
    strcpy(heading->cells[column++], fixed[0]);
    for (int i = 0; i < first->label_count; i++) {
        size_t length = strlen(first->labels[i].name);
        if (ends_with(first->labels[i].name, bytes_suffix))
            length -= strlen(bytes_suffix);
        (void)snprintf(heading->cells[column++], CELL_BYTES, "%.*s", (int)length, first->labels[i].name);
    }
    for (int i = 1; i < FIXED_COLUMNS; i++)
        strcpy(heading->cells[column++], fixed[i]);
    widen(heading, columns, widths);
    for (int i = 0; i < list->count; i++)
        if (is_row(&list->series[i])) {
            series_row(&list->series[i], &rows[i]);
            widen(&rows[i], columns, widths);
        }
    print_row(heading, first, widths);
    for (int i = 0; i < list->count; i++)
        if (is_row(&list->series[i]))
            print_row(&rows[i], first, widths);
    free(rows);
    free(heading);
}

void table_print(const struct series_list *list) {
    const struct series *first = first_measured(list);
    if (first)
        print_measured(list, first);
    for (int i = 0; i < list->count; i++)
        if (!list->series[i].samples) {
            char cell[CELL_BYTES];
            (void)printf("not measured: %s", list->series[i].fom.name);
            for (int k = 0; k < list->series[i].label_count; k++) {
                label_cell(&list->series[i].labels[k], cell);
                (void)printf(", %s %s", list->series[i].labels[k].name, cell);
            }
            (void)printf(": %s\n", list->series[i].reason);
        }
    (void)fflush(stdout);
}
