/* Gathers and prints what was counted; see report.h. */
#include "counters/report.h"

#include "lib/output/json.h"
#include "lib/run/check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a leader sends before its links and differences. */
struct heading {
    char label[SITE_NAME_BYTES];
    char host[SITE_NAME_BYTES];
    int links;
};

/* The headings, links and differences of all leaders, on rank 0. */
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

/* A leader's part, with room for as many links as any leader has: one message each, of one length, which MPI
 * passes along a tree. */
struct parts {
    size_t row_bytes;
    size_t links_at;
    size_t rows_at;
    size_t bytes;
};

static char *pack(const struct parts *parts, const struct counter_share *share) {
    char *packed = check_alloc(parts->bytes, 1);
    size_t count = (size_t)share->links->count;
    struct heading heading = {.links = share->links->count};
    (void)snprintf(heading.label, sizeof heading.label, "%s", share->site->label);
    (void)snprintf(heading.host, sizeof heading.host, "%.63s", share->host);
    memcpy(packed, &heading, sizeof heading);
    if (count == 0)
        return packed;
    memcpy(packed + parts->links_at, share->links->links, count * sizeof(struct counter_link));
    memcpy(packed + parts->rows_at, share->differences, count * parts->row_bytes);
    return packed;
}

static struct collection collect(MPI_Comm leaders, const struct counter_share *share) {
    struct collection all = {.group = share->group, .seconds = share->seconds};
    size_t most = (size_t)share->most_links;
    struct parts parts = {.row_bytes = (size_t)share->group->counter_count * sizeof(double)};
    parts.links_at = sizeof(struct heading);
    parts.rows_at = parts.links_at + most * sizeof(struct counter_link);
    parts.bytes = parts.rows_at + most * parts.row_bytes;
    char *mine = pack(&parts, share);
    char *packed = NULL;
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(leaders, &rank));
    MPI_CHECK(MPI_Comm_size(leaders, &all.leaders));
    if (rank == 0)
        packed = check_alloc((size_t)all.leaders, parts.bytes);
    MPI_CHECK(MPI_Gather(mine, (int)parts.bytes, MPI_BYTE, packed, (int)parts.bytes, MPI_BYTE, 0, leaders));
    if (rank == 0) {
        all.headings = check_alloc((size_t)all.leaders, sizeof *all.headings);
        for (int i = 0; i < all.leaders; i++) {
            memcpy(&all.headings[i], packed + (size_t)i * parts.bytes, sizeof(struct heading));
            all.links += all.headings[i].links;
        }
        all.link = check_alloc((size_t)all.links, sizeof *all.link);
        all.differences = check_alloc((size_t)all.links, parts.row_bytes);
        size_t done = 0;
        for (int i = 0; i < all.leaders; i++) {
            const char *part = packed + (size_t)i * parts.bytes;
            size_t count = (size_t)all.headings[i].links;
            memcpy(all.link + done, part + parts.links_at, count * sizeof *all.link);
            memcpy((char *)all.differences + done * parts.row_bytes, part + parts.rows_at,
                   count * parts.row_bytes);
            done += count;
        }
    }
    free(packed);
    free(mine);
    return all;
}

static const double *row_of(const struct collection *all, int link) {
    return all->differences + (size_t)link * (size_t)all->group->counter_count;
}

/* ---- text ---- */

static void print_link(FILE *file, const struct collection *all, int link) {
    const struct counter_link *printed = &all->link[link];
    const double *row = row_of(all, link);
    (void)fprintf(file, "%-7s %-14s", printed->name, *printed->remote ? printed->remote : "-");
    if (printed->rate_gbyte_s > 0)
        (void)fprintf(file, " %6.2f", printed->rate_gbyte_s);
    else
        (void)fprintf(file, " %6s", "-");
    for (int i = 0; i < all->group->counter_count; i++)
        isfinite(row[i]) ? (void)fprintf(file, " %16.0f", row[i]) : (void)fprintf(file, " %16s", "-");
    (void)fprintf(file, "\n");
}

static void print_text(FILE *file, const struct collection *all) {
    const struct counter_group *group = all->group;
    int link = 0;
    (void)fprintf(file, "# LEADER\n# LINK  REMOTE           GB/s");
    for (int i = 0; i < group->counter_count; i++)
        (void)fprintf(file, " %16s", group->counters[i].name);
    (void)fprintf(file, "\n");
    for (int leader = 0; leader < all->leaders; leader++) {
        (void)fprintf(file, "%s\n", all->headings[leader].label);
        for (int i = 0; i < all->headings[leader].links; i++)
            print_link(file, all, link++);
    }
    (void)fprintf(file, "# %d leaders, %d links, %.6f s\n", all->leaders, all->links, all->seconds);
    for (int metric = 0; metric < group->metric_count; metric++) {
        /* "-" where it is not known. */
        const struct group_metric *printed = &all->group->metrics[metric];
        /* A metric of the counters of all leaders' links: the formula of sums, not the sum of formulas. */
        double totals[GROUP_COUNTERS_MAX];
        counter_group_totals(all->group, all->links, all->differences, totals);
        double value = counter_group_value(all->group, metric, totals);
        if (isnan(value))
            (void)fprintf(file, "# total %s: - %s\n", printed->name, printed->unit);
        else
            (void)fprintf(file, "# total %s: %.0f %s\n", printed->name, value, printed->unit);
    }
    (void)fflush(file);
}

/* ---- JSON ---- */

static void write_link(struct json *json, const struct collection *all, int link) {
    const struct counter_link *written = &all->link[link];
    json_object(json);
    json_key_text(json, "link", written->name);
    json_key_text(json, "remote", *written->remote ? written->remote : NULL);
    json_key_double(json, "rate_gbyte_s", written->rate_gbyte_s > 0 ? written->rate_gbyte_s : (double)NAN);
    const struct counter_group *group = all->group;
    const double *row = row_of(all, link);
    json_key_object(json, "counters");
    for (int i = 0; i < group->counter_count; i++) {
        json_key(json, group->counters[i].name);
        if (!isfinite(row[i]))
            json_double(json, (double)NAN);
        else
            json_integer(json, (int64_t)row[i]);
    }
    json_object_end(json);
    json_key_object(json, "metrics");
    for (int i = 0; i < group->metric_count; i++)
        json_key_double(json, group->metrics[i].name, counter_group_value(group, i, row));
    json_object_end(json);
    json_object_end(json);
}

static void write_json(FILE *file, const struct collection *all, const char *group_name) {
    struct json json = json_start(file);
    int link = 0;
    json_object(&json);
    json_key_text(&json, "format", "railyard-counters-library/1");
    json_key_text(&json, "group", group_name);
    json_key_text(&json, "summary", all->group->summary);
    json_key_double(&json, "seconds", all->seconds);
    json_key_object(&json, "units");
    for (int i = 0; i < all->group->counter_count; i++)
        json_key_text(&json, all->group->counters[i].name, all->group->counters[i].unit);
    for (int i = 0; i < all->group->metric_count; i++)
        json_key_text(&json, all->group->metrics[i].name, all->group->metrics[i].unit);
    json_object_end(&json);
    json_key_array(&json, "leaders");
    for (int leader = 0; leader < all->leaders; leader++) {
        json_object(&json);
        json_key_text(&json, "leader", all->headings[leader].label);
        json_key_text(&json, "host", all->headings[leader].host);
        json_key_array(&json, "links");
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

void counter_report(MPI_Comm leaders, const struct counter_share *share, const char *group_name,
                    const char *output, const char *json, struct problem *problem) {
    int rank = 0;
    struct collection all = collect(leaders, share);
    MPI_CHECK(MPI_Comm_rank(leaders, &rank));
    if (rank == 0) {
        FILE *text = output ? open_for_writing(output, problem) : stdout;
        if (text)
            print_text(text, &all);
        if (text && output)
            close_written(text, output, problem);
        FILE *document = json ? open_for_writing(json, problem) : NULL;
        if (document) {
            write_json(document, &all, group_name);
            close_written(document, json, problem);
        }
    }
    free(all.headings);
    free(all.link);
    free(all.differences);
}
