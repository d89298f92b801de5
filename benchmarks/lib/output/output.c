/* Writes the JSON document of a run; see output.h. */
#include "lib/output/output.h"

#include "lib/output/libraries.h"
#include "lib/run/check.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPORARY_EXTRA_BYTES = 32 };

void series_label(struct series *series, const char *name, const char *text, int64_t number) {
    assert(series->label_count < LABELS_MAX);
    series->labels[series->label_count++] = (struct label){name, text, number};
}

void series_add(struct series_list *list, struct series series) {
    if (!series.fom.name || !series.fom.unit) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "figure of merit %s: no unit; expected .fom = {NAME, UNIT, BETTER_...}",
                       series.fom.name ? series.fom.name : "without a name");
        check_stop(text, __FILE__, __LINE__);
    }
    list->series = check_grow(list->series, list->count, &list->room, sizeof series);
    list->series[list->count++] = series;
}

void series_free(struct series_list *list) {
    for (int i = 0; i < list->count; i++)
        free(list->series[i].samples);
    free(list->series);
}

/* Writes the next line of a layout as a member; where it ended. */
static const char *write_line(struct json *json, const char *key, const char *line) {
    size_t length = strcspn(line, "\n");
    char *text = check_alloc(length + 1, 1);
    memcpy(text, line, length);
    if (key)
        json_key_text(json, key, text);
    else
        json_text(json, text);
    free(text);
    return line[length] ? line + length + 1 : line + length;
}

static void write_layout(struct json *json, const char *layout) {
    const char *line = strchr(layout, '\n') + 1;
    json_object(json);
    json_key_integer(json, "ranks", strtol(layout, NULL, 10));
    line = write_line(json, "cpu", line);
    line = write_line(json, "allowed_cpus", line);
    line = write_line(json, "numa_node", line);
    json_key_array(json, "cpu_sets");
    while (*line)
        line = write_line(json, NULL, line);
    json_array_end(json);
    json_object_end(json);
}

static void write_row(struct json *json, const struct evidence_row *row) {
    json_object(json);
    json_key_text(json, "host", row->host);
    json_key_text(json, "ranks", row->ranks);
    json_key_integer(json, "layout", row->layout_number);
    json_object_end(json);
}

void output_ranks(struct json *json, const struct evidence_list *list) {
    json_key_object(json, "ranks");
    json_key_array(json, "layouts");
    for (int i = 0; i < list->layout_count; i++)
        write_layout(json, list->layouts[i]);
    json_array_end(json);
    json_key_array(json, "nodes");
    for (int row = 0; row < list->row_count; row++)
        write_row(json, &list->rows[row]);
    json_array_end(json);
    json_object_end(json);
}

void output_mpi(struct json *json, int ranks) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    char standard[32];
    int length = 0;
    int version = 0;
    int subversion = 0;
    MPI_CHECK(MPI_Get_library_version(library, &length));
    MPI_CHECK(MPI_Get_version(&version, &subversion));
    (void)snprintf(standard, sizeof standard, "%d.%d", version, subversion);
    library[strcspn(library, "\n")] = '\0'; /* MPICH adds lines about its build */
    json_key_object(json, "mpi");
    json_key_text(json, "library", library);
    json_key_text(json, "standard", standard);
    json_key_integer(json, "ranks", ranks);
    libraries_write(json);
    json_object_end(json);
}

static void write_labels(struct json *json, const struct series *series) {
    json_key_object(json, "labels");
    for (int i = 0; i < series->label_count; i++) {
        const struct label *label = &series->labels[i];
        if (label->text)
            json_key_text(json, label->name, label->text);
        else
            json_key_integer(json, label->name, label->number);
    }
    json_object_end(json);
}

static void write_measured(struct json *json, const struct series *series) {
    json_object(json);
    json_key_text(json, "fom", series->fom.name);
    write_labels(json, series);
    json_key_array(json, "samples");
    for (int i = 0; i < series->count; i++)
        json_double(json, series->samples[i]);
    json_array_end(json);
    json_object_end(json);
}

static void write_not_measured(struct json *json, const struct series *series) {
    json_object(json);
    json_key_text(json, "fom", series->fom.name);
    write_labels(json, series);
    json_key_text(json, "reason", series->reason);
    json_object_end(json);
}

static bool is_declared(const struct fom *foms, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(foms[i].name, name) == 0)
            return true;
    return false;
}

/* The unit and the direction of each figure of merit, once. */
static void write_figures(struct json *json, const struct series_list *list) {
    static const char *const directions[] = {"neither", "lower", "higher"};
    struct fom *foms = NULL;
    int count = 0;
    int room = 0;
    json_key_object(json, "figures");
    for (int i = 0; i < list->count; i++) {
        const struct fom *fom = &list->series[i].fom;
        if (is_declared(foms, count, fom->name))
            continue;
        foms = check_grow(foms, count, &room, sizeof *foms);
        foms[count++] = *fom;
        json_key_object(json, fom->name);
        json_key_text(json, "unit", fom->unit);
        json_key_text(json, "better", directions[fom->better]);
        json_object_end(json);
    }
    json_object_end(json);
    free(foms);
}

static void write_series(struct json *json, const char *key, const struct series_list *list, bool measured) {
    json_key_array(json, key);
    for (int i = 0; i < list->count; i++)
        if ((list->series[i].samples != NULL) == measured)
            (measured ? write_measured : write_not_measured)(json, &list->series[i]);
    json_array_end(json);
}

static void write_document(FILE *file, const struct document *document, output_members *write_more) {
    struct json json = json_start(file);
    json_object(&json);
    json_key_text(&json, "format", "railyard-benchmark/3");
    json_key_text(&json, "benchmark", document->benchmark);
    json_key_text(&json, "version", RAILYARD_VERSION);
    json_key_object(&json, "parameters");
    document->write_parameters(&json, document->context);
    json_object_end(&json);
    output_mpi(&json, document->evidence->ranks);
    json_key_bool(&json, "verified", document->verified);
    output_ranks(&json, document->evidence);
    write_figures(&json, document->list);
    write_series(&json, "series", document->list, true);
    write_series(&json, "not_measured", document->list, false);
    if (write_more)
        write_more(&json, document->context);
    json_object_end(&json);
}

static char *temporary_name(const char *path) {
    size_t bytes = strlen(path) + TEMPORARY_EXTRA_BYTES;
    char *name = check_alloc(bytes, 1);
    (void)snprintf(name, bytes, "%s.%ld.tmp", path, (long)getpid());
    return name;
}

static void cannot_write(const char *path, struct problem *problem) {
    problem_set(problem, "--json %s: cannot be written: %s", path, strerror(errno));
}

/* The rename would replace a device or fail on a directory. */
static bool is_special(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

void output_probe(const char *path, struct problem *problem) {
    if (!path || check_rank() != 0)
        return;
    char *temporary = temporary_name(path);
    if (is_special(path)) {
        problem_set(problem, "--json %s: cannot be written: not a regular file", path);
        goto out;
    }
    FILE *file = fopen(temporary, "w");
    if (!file || fclose(file) != 0)
        cannot_write(path, problem);
    (void)unlink(temporary);
out:
    free(temporary);
}

/* True when every byte has reached the file system. */
static bool close_whole(FILE *file) {
    bool good = !ferror(file) && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int error = errno;
    if (fclose(file) == 0)
        errno = error;
    else
        good = false;
    return good;
}

void output_write(const char *path, const struct document *document, struct problem *problem) {
    output_write_more(path, document, NULL, problem);
}

void output_write_more(const char *path, const struct document *document, output_members *write_more,
                       struct problem *problem) {
    if (!document->verified) {
        problem_set(problem, "--json %s: not written: no verify function found the data right", path);
        return;
    }
    char *temporary = temporary_name(path);
    FILE *file = fopen(temporary, "w");
    if (!file) {
        cannot_write(path, problem);
        goto out;
    }
    write_document(file, document, write_more);
    if (!close_whole(file) || rename(temporary, path) != 0) {
        cannot_write(path, problem);
        (void)unlink(temporary);
    }
out:
    free(temporary);
}
