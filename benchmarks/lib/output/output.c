/* Writes the JSON document of a run; see output.h. */
#include "lib/output/output.h"

#include "lib/output/whole.h"
#include "lib/run/check.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

void series_add_copy(struct series_list *list, struct series series, const double *samples) {
    series.samples = check_alloc((size_t)series.count, sizeof *samples);
    if (series.count > 0)
        memcpy(series.samples, samples, (size_t)series.count * sizeof *samples);
    series_add(list, series);
}

void series_add_one(struct series_list *list, struct series series, double sample) {
    series.count = 1;
    series_add_copy(list, series, &sample);
}

void series_free(struct series_list *list) {
    for (int i = 0; i < list->count; i++)
        free(list->series[i].samples);
    free(list->series);
    free(list->begun_s);
}

void series_begin_repeat(struct series_list *list, double date_s) {
    list->begun_s = check_grow(list->begun_s, list->begun_count, &list->begun_room, sizeof *list->begun_s);
    list->begun_s[list->begun_count++] = date_s;
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

void output_ranks(struct json *json, const struct evidence_list *list) {
    json_key_object(json, "ranks");
    json_key_array(json, "layouts");
    for (int i = 0; i < list->layout_count; i++) {
        const char *line = strchr(list->layouts[i], '\n') + 1;
        json_object(json);
        json_key_integer(json, "ranks", strtol(list->layouts[i], NULL, 10));
        line = write_line(json, "cpu", line);
        line = write_line(json, "allowed_cpus", line);
        line = write_line(json, "numa_node", line);
        json_key_array(json, "cpu_sets");
        while (*line)
            line = write_line(json, NULL, line);
        json_array_end(json);
        json_object_end(json);
    }
    json_array_end(json);
    json_key_array(json, "nodes");
    for (int row = 0; row < list->row_count; row++) {
        json_object(json);
        json_key_text(json, "host", list->rows[row].host);
        json_key_text(json, "ranks", list->rows[row].ranks);
        json_key_integer(json, "layout", list->rows[row].layout_number);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

/* ---- MPI and the libraries below it ---- */

enum { LINE_BYTES = 4096, PATH_BYTES = 2048, VERSION_BYTES = 64, LIBRARIES_MOST = 32 };

static const char *const library_names[] = {"libmpi",  "libmpich",          "libfabric", "libucp", "libpsm2",
                                            "libpsm3", "libpsm_infinipath", "libcxi",    "libopx", "libnccl",
                                            "librccl", "libpmix",           "libmpi_gtl"};

/* True for NAME.so..., NAME_more.so... and NAME-more.so... of a known name. */
static bool is_communication(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash || !strstr(slash, ".so"))
        return false;
    for (size_t i = 0; i < sizeof library_names / sizeof *library_names; i++) {
        size_t length = strlen(library_names[i]);
        if (strncmp(slash + 1, library_names[i], length) == 0 && strchr("._-", slash[1 + length]))
            return true;
    }
    return false;
}

typedef uint32_t fabric_version(void);
typedef const char *ucx_version(void);

static void find_version(const char *path, char version[VERSION_BYTES]) {
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    version[0] = '\0';
    if (!library)
        return;
    void *function = dlsym(library, "fi_version");
    if (function && strstr(path, "libfabric")) {
        fabric_version *ask = NULL;
        memcpy(&ask, &function, sizeof ask);
        (void)snprintf(version, VERSION_BYTES, "%u.%u", ask() >> 16, ask() & 0xffffU);
    }
    function = dlsym(library, "ucp_get_version_string");
    if (function && strstr(path, "libucp")) {
        ucx_version *ask = NULL;
        memcpy(&ask, &function, sizeof ask);
        (void)snprintf(version, VERSION_BYTES, "%s", ask());
    }
    (void)dlclose(library);
}

/* Writes the member `libraries`: path and version (empty where unknown) of each communication library that
 * this process has loaded, in the order of /proc/self/maps. After MPI_Init those that MPI loads itself (UCX,
 * libfabric, PSM2) are included. Leaves out: libraries that are linked into others, and versions of libraries
 * without a version function. */
static void write_libraries(struct json *json) {
    char line[LINE_BYTES];
    char last[PATH_BYTES] = "";
    int count = 0;
    FILE *map = fopen("/proc/self/maps", "r");
    json_key_array(json, "libraries");
    while (map && count < LIBRARIES_MOST && fgets(line, sizeof line, map)) {
        /* The path at the end of a line of the map; NULL where the line has none. A file has several lines in
         * a row. */
        line[strcspn(line, "\n")] = '\0';
        const char *path = strchr(line, '/');
        if (!path || !is_communication(path) || strcmp(path, last) == 0 || strlen(path) >= sizeof last)
            continue;
        (void)snprintf(last, sizeof last, "%s", path);
        char version[VERSION_BYTES];
        find_version(path, version);
        json_object(json);
        json_key_text(json, "path", path);
        json_key_text(json, "version", version);
        json_object_end(json);
        count++;
    }
    if (map)
        (void)fclose(map);
    json_array_end(json);
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
    write_libraries(json);
    json_object_end(json);
}

/* ---- parameters ---- */

static void write_sizes(struct json *json, const char *key, const size_t *values, int count) {
    json_key_array(json, key);
    for (int i = 0; i < count; i++)
        json_integer(json, (int64_t)values[i]);
    json_array_end(json);
}

void parameters_extents(struct json *json, const char *key, const struct extents *extents) {
    write_sizes(json, key, extents->length, extents->count);
}

void parameters_numbers(struct json *json, const char *key, const struct number_list *list) {
    write_sizes(json, key, list->value, list->count);
}

void parameters_integers(struct json *json, const char *key, const int *values, int count) {
    json_key_array(json, key);
    for (int i = 0; i < count; i++)
        json_integer(json, values[i]);
    json_array_end(json);
}

void parameters_torus(struct json *json, const char *path, const struct coordinates *coordinates) {
    json_key_text(json, "coordinates", path);
    parameters_integers(json, "torus", coordinates->extents, path ? TORUS_DIMENSIONS : 0);
}

void parameters_times(struct json *json, const struct sampling *sampling) {
    json_key_double(json, "warmup_time_s", sampling->warmup_s);
    json_key_double(json, "min_time_per_point_s", sampling->min_time_s);
}

void parameters_sampling(struct json *json, const struct sampling *sampling) {
    json_key_integer(json, "repeats", sampling->repeats);
    json_key_integer(json, "warmups", sampling->warmups);
    json_key_double(json, "max_time_per_point_s", sampling->point_time_s);
    json_key_unsigned(json, "seed", sampling->seed);
}

/* ---- the document ---- */

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

/* Writes the samples of the series that were measured, or why the others were not. */
static void write_series(struct json *json, const char *key, const struct series_list *list, bool measured) {
    json_key_array(json, key);
    for (int s = 0; s < list->count; s++) {
        const struct series *series = &list->series[s];
        if ((series->samples != NULL) != measured)
            continue;
        json_object(json);
        json_key_text(json, "fom", series->fom.name);
        write_labels(json, series);
        if (measured) {
            json_key_array(json, "samples");
            for (int i = 0; i < series->count; i++)
                json_double(json, series->samples[i]);
            json_array_end(json);
        } else
            json_key_text(json, "reason", series->reason);
        json_object_end(json);
    }
    json_array_end(json);
}

/* What write_document gets. */
struct written {
    const struct document *document;
    output_members *write_more;
};

static void write_document(FILE *file, const void *context) {
    const struct written *written = context;
    const struct document *document = written->document;
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
    if (document->list->begun_count > 0 && document->list->begun_s[0] > 0) {
        json_key_object(&json, "reported");
        json_key_array(&json, "sample_begun_s");
        for (int i = 0; i < document->list->begun_count; i++)
            json_double(&json, document->list->begun_s[i]);
        json_array_end(&json);
        json_object_end(&json);
    }
    if (written->write_more)
        written->write_more(&json, document->context);
    json_object_end(&json);
}

static void cannot_write(const char *path, const char *why, struct problem *problem) {
    problem_set(problem, "--json %s: cannot be written: %s", path, why);
}

void output_probe(const char *path, struct problem *problem) {
    char temporary[WHOLE_PATH_BYTES];
    if (!path || check_rank() != 0)
        return;
    /* The rename would replace a device or fail on a directory. */
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        cannot_write(path, "not a regular file", problem);
        return;
    }
    whole_temporary(path, temporary);
    FILE *file = fopen(temporary, "w");
    if (!file || fclose(file) != 0)
        cannot_write(path, strerror(errno), problem);
    (void)unlink(temporary);
}

void output_write(const char *path, const struct document *document, output_members *write_more,
                  struct problem *problem) {
    struct written written = {document, write_more};
    if (!document->verified)
        problem_set(problem, "--json %s: not written: no verify function found the data right", path);
    else if (!whole_write(path, write_document, &written))
        cannot_write(path, strerror(errno), problem);
}
