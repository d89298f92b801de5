/* Gathers and prints what was counted; see counter_report.h. */
#include "lib/counter_report.h"

#include "lib/check.h"
#include "lib/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is gathered of a leader beside its links and differences. */
struct heading {
    char label[SITE_NAME_BYTES];
    char host[SITE_NAME_BYTES];
    int links;
};

/* All of it, on rank 0. */
struct collection {
    const struct counter_group *group;
    int leaders;
    int links;
    struct heading *headings;
    struct counter_link *link;
    double *differences;
    double seconds;
};

/* ---- gather ---- */

/* Gathers counts[i] items of each leader. */
static void gather_parts(MPI_Comm leaders, const void *mine, int my_links, const struct collection *all,
                         size_t item_bytes, void *parts) {
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(leaders, &rank));
    size_t room = rank == 0 ? (size_t)all->leaders : 1;
    int *counts = check_alloc(room, sizeof *counts);
    int *offsets = check_alloc(room, sizeof *offsets);
    for (int i = 0; rank == 0 && i < all->leaders; i++) {
        counts[i] = all->headings[i].links;
        offsets[i] = i ? offsets[i - 1] + counts[i - 1] : 0;
    }
    MPI_Datatype item;
    MPI_CHECK(MPI_Type_contiguous((int)item_bytes, MPI_BYTE, &item));
    MPI_CHECK(MPI_Type_commit(&item));
    MPI_CHECK(MPI_Gatherv(mine, my_links, item, parts, counts, offsets, item, 0, leaders));
    MPI_CHECK(MPI_Type_free(&item));
    free(offsets);
    free(counts);
}

static struct collection collect(MPI_Comm leaders, const struct counter_share *share) {
    struct collection all = {.group = share->group, .seconds = share->seconds};
    struct heading heading = {.links = share->links->count};
    size_t row_bytes = (size_t)share->group->counter_count * sizeof(double);
    int rank = 0;
    (void)snprintf(heading.label, sizeof heading.label, "%s", share->site->label);
    (void)snprintf(heading.host, sizeof heading.host, "%.63s", share->host);
    MPI_CHECK(MPI_Comm_rank(leaders, &rank));
    MPI_CHECK(MPI_Comm_size(leaders, &all.leaders));
    if (rank == 0)
        all.headings = check_alloc((size_t)all.leaders, sizeof heading);
    MPI_CHECK(MPI_Gather(&heading, (int)sizeof heading, MPI_BYTE, all.headings, (int)sizeof heading, MPI_BYTE,
                         0, leaders));
    for (int i = 0; rank == 0 && i < all.leaders; i++)
        all.links += all.headings[i].links;
    if (rank == 0) {
        all.link = check_alloc((size_t)all.links, sizeof *all.link);
        all.differences = check_alloc((size_t)all.links, row_bytes);
    }
    gather_parts(leaders, share->links->links, share->links->count, &all, sizeof *all.link, all.link);
    gather_parts(leaders, share->differences, share->links->count, &all, row_bytes, all.differences);
    return all;
}

static void free_collection(struct collection *all) {
    free(all->headings);
    free(all->link);
    free(all->differences);
}

static const double *row_of(const struct collection *all, int link) {
    return all->differences + (size_t)link * (size_t)all->group->counter_count;
}

/* ---- text ---- */

static void print_columns(FILE *file, const struct counter_group *group) {
    (void)fprintf(file, "# LEADER\n# LINK  REMOTE           GB/s");
    for (int i = 0; i < group->counter_count; i++)
        (void)fprintf(file, " %16s", group->counters[i].name);
    (void)fprintf(file, "\n");
}

static void print_link(FILE *file, const struct collection *all, int link) {
    const struct counter_link *printed = &all->link[link];
    const double *row = row_of(all, link);
    (void)fprintf(file, "%-7s %-14s", printed->name, *printed->remote ? printed->remote : "-");
    if (printed->rate_gbyte_s > 0)
        (void)fprintf(file, " %6.2f", printed->rate_gbyte_s);
    else
        (void)fprintf(file, " %6s", "-");
    for (int i = 0; i < all->group->counter_count; i++)
        isnan(row[i]) ? (void)fprintf(file, " %16s", "-") : (void)fprintf(file, " %16.0f", row[i]);
    (void)fprintf(file, "\n");
}

/* Over all links of all leaders; NaN where one is. */
static double total(const struct collection *all, int metric) {
    double sum = 0;
    for (int link = 0; link < all->links; link++)
        sum += counter_group_value(all->group, metric, row_of(all, link));
    return sum;
}

static void print_text(FILE *file, const struct collection *all) {
    const struct counter_group *group = all->group;
    int link = 0;
    print_columns(file, group);
    for (int leader = 0; leader < all->leaders; leader++) {
        (void)fprintf(file, "%s\n", all->headings[leader].label);
        for (int i = 0; i < all->headings[leader].links; i++)
            print_link(file, all, link++);
    }
    (void)fprintf(file, "# %d leaders, %d links, %.6f s\n", all->leaders, all->links, all->seconds);
    for (int metric = 0; metric < group->metric_count; metric++)
        (void)fprintf(file, "# total %s: %.0f %s\n", group->metrics[metric].name, total(all, metric),
                      group->metrics[metric].unit);
    (void)fflush(file);
}

/* ---- JSON ---- */

static void write_units(struct json *json, const struct counter_group *group) {
    json_key(json, "units");
    json_object(json);
    for (int i = 0; i < group->counter_count; i++)
        json_key_text(json, group->counters[i].name, group->counters[i].unit);
    for (int i = 0; i < group->metric_count; i++)
        json_key_text(json, group->metrics[i].name, group->metrics[i].unit);
    json_object_end(json);
}

static void write_values(struct json *json, const struct collection *all, int link) {
    const struct counter_group *group = all->group;
    const double *row = row_of(all, link);
    json_key(json, "counters");
    json_object(json);
    for (int i = 0; i < group->counter_count; i++) {
        json_key(json, group->counters[i].name);
        if (isnan(row[i]))
            json_double(json, row[i]);
        else
            json_integer(json, (int64_t)row[i]);
    }
    json_object_end(json);
    json_key(json, "metrics");
    json_object(json);
    for (int i = 0; i < group->metric_count; i++) {
        json_key(json, group->metrics[i].name);
        json_double(json, counter_group_value(group, i, row));
    }
    json_object_end(json);
}

static void write_link(struct json *json, const struct collection *all, int link) {
    const struct counter_link *written = &all->link[link];
    json_object(json);
    json_key_text(json, "link", written->name);
    json_key_text(json, "remote", *written->remote ? written->remote : NULL);
    json_key(json, "rate_gbyte_s");
    json_double(json, written->rate_gbyte_s > 0 ? written->rate_gbyte_s : (double)NAN);
    write_values(json, all, link);
    json_object_end(json);
}

static void write_json(FILE *file, const struct collection *all, const char *group_name) {
    struct json json = json_start(file);
    int link = 0;
    json_object(&json);
    json_key_text(&json, "format", "railyard-counters-library/1");
    json_key_text(&json, "group", group_name);
    json_key_text(&json, "summary", all->group->summary);
    json_key(&json, "seconds");
    json_double(&json, all->seconds);
    write_units(&json, all->group);
    json_key(&json, "leaders");
    json_array(&json);
    for (int leader = 0; leader < all->leaders; leader++) {
        json_object(&json);
        json_key_text(&json, "leader", all->headings[leader].label);
        json_key_text(&json, "host", all->headings[leader].host);
        json_key(&json, "links");
        json_array(&json);
        for (int i = 0; i < all->headings[leader].links; i++)
            write_link(&json, all, link++);
        json_array_end(&json);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
}

/* ---- both ---- */

static FILE *open_for_writing(const char *path, struct problem *problem) {
    FILE *file = fopen(path, "w");
    if (!file)
        problem_set(problem, "counters: %s: cannot be written: %s", path, strerror(errno));
    return file;
}

static void close_written(FILE *file, const char *path, struct problem *problem) {
    bool bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad)
        problem_set(problem, "counters: %s: cannot be written", path);
}

static void write_both(const struct collection *all, const char *group_name, const char *output,
                       const char *json, struct problem *problem) {
    FILE *text = output ? open_for_writing(output, problem) : stdout;
    if (text)
        print_text(text, all);
    if (text && output)
        close_written(text, output, problem);
    FILE *document = json ? open_for_writing(json, problem) : NULL;
    if (document) {
        write_json(document, all, group_name);
        close_written(document, json, problem);
    }
}

void counter_report(MPI_Comm leaders, const struct counter_share *share, const char *group_name,
                    const char *output, const char *json, struct problem *problem) {
    int rank = 0;
    struct collection all = collect(leaders, share);
    MPI_CHECK(MPI_Comm_rank(leaders, &rank));
    if (rank == 0)
        write_both(&all, group_name, output, json, problem);
    free_collection(&all);
}
