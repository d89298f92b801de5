/* The library's calls; see railyard-counters.h. */
#include "counters/railyard-counters.h"

#include "counters/leaders.h"
#include "counters/report.h"
#include "counters/torus.h"
#include "lib/check.h"
#include "lib/evidence.h"
#include "lib/textfile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef RAILYARD_COUNTERS_SOURCE
#define RAILYARD_COUNTERS_SOURCE    "counters"
#define RAILYARD_COUNTERS_INSTALLED "counters"
#endif

static const char program[] = "railyard-counters";

enum { READINGS = 2, GROUP_NAME_BYTES = 256, SHORT_TEXT_BYTES = 4096 };

struct railyard_counters {
    MPI_Comm comm;
    MPI_Comm leaders; /* MPI_COMM_NULL: this rank does not lead */
    struct counter_group group;
    char group_name[GROUP_NAME_BYTES];
    struct counter_site site;
    struct counter_links links;
    int most_links; /* of any leader */
    char host[EVIDENCE_HOST_BYTES];
    char *root;
    char *coordinates;
    char *interconnect;
    char *output;
    char *json;
    double *values[READINGS]; /* the older, the newer */
    double time_s[READINGS];
    int readings;
};

/* ---- options ---- */

static const char *choose(const char *given, const char *variable, const char *fallback) {
    const char *set = getenv(variable);
    if (given)
        return given;
    return set && *set ? set : fallback;
}

/* A copy with "%h" replaced by the host; NULL stays NULL. */
static char *expand(const char *path, const char *host) {
    size_t room = path ? strlen(path) + 1 : 1;
    for (const char *at = path; at && (at = strstr(at, "%h")) != NULL; at += 2)
        room += strlen(host);
    char *copy = path ? check_alloc(room, 1) : NULL;
    size_t used = 0;
    while (path && *path) {
        bool mark = strncmp(path, "%h", 2) == 0;
        used += (size_t)snprintf(copy + used, room - used, "%.*s", mark ? (int)strlen(host) : 1,
                                 mark ? host : path);
        path += mark ? 2 : 1;
    }
    return copy;
}

static void take_options(const struct railyard_counters_options *given, struct railyard_counters *counters) {
    static const struct railyard_counters_options none = {0};
    const struct railyard_counters_options *options = given ? given : &none;
    const char *host = counters->host;
    (void)snprintf(counters->group_name, GROUP_NAME_BYTES, "%s",
                   choose(options->group, "RAILYARD_COUNTERS_GROUP", "linux-net"));
    counters->root = expand(choose(options->root, "RAILYARD_COUNTERS_ROOT", ""), host);
    counters->coordinates = expand(choose(options->coordinates, "RAILYARD_COUNTERS_COORDINATES", NULL), host);
    counters->interconnect =
        expand(choose(options->interconnect, "RAILYARD_COUNTERS_INTERCONNECT", "interconnect.txt"), host);
    counters->output = expand(choose(options->output, "RAILYARD_COUNTERS_OUTPUT", NULL), host);
    counters->json = expand(choose(options->json, "RAILYARD_COUNTERS_JSON", NULL), host);
}

/* ---- files that rank 0 reads for all ---- */

static int rank_in(MPI_Comm comm) {
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    return rank;
}

/* How long a text is, and all of it when it is short: a group's file then takes one broadcast. */
struct short_text {
    int bytes; /* -1: there is none */
    char text[SHORT_TEXT_BYTES];
};

/* Collective. A text of rank 0 on all ranks; NULL, where rank 0 has a problem. */
static char *share_text(MPI_Comm comm, const char *path, const char *label, struct problem *problem) {
    struct short_text first = {.bytes = -1};
    size_t length = 0;
    char *text = rank_in(comm) == 0 ? textfile_load(path, label, &length, problem) : NULL;
    if (text) {
        first.bytes = (int)length;
        memcpy(first.text, text, length < SHORT_TEXT_BYTES ? length : SHORT_TEXT_BYTES);
    }
    MPI_CHECK(MPI_Bcast(&first, (int)sizeof first, MPI_BYTE, 0, comm));
    if (first.bytes < 0)
        return NULL;
    if (!text) {
        text = check_alloc((size_t)first.bytes + 1, 1);
        memcpy(text, first.text, (size_t)(first.bytes < SHORT_TEXT_BYTES ? first.bytes : SHORT_TEXT_BYTES));
    }
    if (first.bytes > SHORT_TEXT_BYTES)
        MPI_CHECK(MPI_Bcast(text, first.bytes, MPI_CHAR, 0, comm));
    text[first.bytes] = '\0';
    return text;
}

/* Where groups are found by name: the environment's folder, else the sources', where they still are, else the
 * installed one. */
static const char *groups_folder(void) {
    const char *built_in =
        access(RAILYARD_COUNTERS_SOURCE, R_OK) == 0 ? RAILYARD_COUNTERS_SOURCE : RAILYARD_COUNTERS_INSTALLED;
    return choose(NULL, "RAILYARD_COUNTERS_FOLDER", built_in);
}

/* A name without a slash is a file NAME.txt in the groups' folder. */
static void group_path(const char *name, char *path) {
    if (strchr(name, '/'))
        (void)snprintf(path, COUNTER_PATH_BYTES, "%s", name);
    else
        (void)snprintf(path, COUNTER_PATH_BYTES, "%s/%s.txt", groups_folder(), name);
}

/* Collective. True on all ranks when all have the group; else false on all, and rank 0 has a problem. */
static bool read_group(struct railyard_counters *counters, struct problem *problem) {
    char path[COUNTER_PATH_BYTES];
    group_path(counters->group_name, path);
    char *text = share_text(counters->comm, path, "counter group", problem);
    if (text)
        counter_group_parse(path, text, &counters->group, problem);
    return text && !problem_is_set(problem);
}

/* ---- who leads, and what it reads ---- */

static void site_by_node(struct railyard_counters *counters) {
    (void)snprintf(counters->site.key, SITE_NAME_BYTES, "%.63s", counters->host);
    memcpy(counters->site.label, counters->site.key, SITE_NAME_BYTES);
}

static void site_by_torus(struct railyard_counters *counters, struct problem *problem) {
    if (!counters->coordinates) {
        problem_set(problem, "counter group %s: leaders of routers need RAILYARD_COUNTERS_COORDINATES",
                    counters->group_name);
        return;
    }
    char *text = share_text(counters->comm, counters->coordinates, "coordinates file", problem);
    if (text)
        counter_torus_site(counters->coordinates, text, counters->host, &counters->site, problem);
    free(text);
}

static void find_site(struct railyard_counters *counters, struct problem *problem) {
    if (!counters->group.by_router)
        site_by_node(counters);
    else if (counters->group.source == SOURCE_GPCD)
        counter_gemini_site(counters->root, &counters->site, problem);
    else
        site_by_torus(counters, problem);
}

static void find_links(struct railyard_counters *counters, struct problem *problem) {
    if (counters->leaders == MPI_COMM_NULL)
        return;
    if (counters->group.source == SOURCE_GPCD)
        counter_gemini_find(counters->leaders, &counters->group, counters->root, counters->interconnect,
                            &counters->site, &counters->links, problem);
    else
        counter_files_find(&counters->group, counters->root, &counters->site, &counters->links, problem);
    for (int i = 0; i < READINGS; i++)
        counters->values[i] = check_alloc(
            (size_t)counters->links.count * (size_t)counters->group.counter_count, sizeof(double));
}

/* Collective. False on all ranks, after a message, when any step had a problem. */
static bool good_on_all(const struct railyard_counters *counters, const struct problem *problem) {
    return !problem_agree_on(counters->comm, problem, program);
}

static bool set_up(struct railyard_counters *counters) {
    struct problem problem = {0};
    if (read_group(counters, &problem))
        find_site(counters, &problem);
    /* An empty key says that this rank has a problem: there are no leaders then, and all agree below. */
    const char *key = problem_is_set(&problem) ? "" : counters->site.key;
    if (counter_leaders(counters->comm, key, &counters->leaders))
        find_links(counters, &problem);
    int fewest = -counters->links.count;
    bool bad = problem_agree_least(counters->comm, &problem, program, &fewest);
    counters->most_links = -fewest;
    return !bad;
}

/* ---- the calls ---- */

int railyard_counters_init(MPI_Comm comm, const struct railyard_counters_options *options,
                           railyard_counters **counters) {
    *counters = check_alloc(1, sizeof **counters);
    (*counters)->leaders = MPI_COMM_NULL;
    (*counters)->comm = comm; /* not duplicated: the library makes collective calls alone */
    evidence_host((*counters)->host);
    take_options(options, *counters);
    if (set_up(*counters))
        return 0;
    railyard_counters_free(counters);
    return 1;
}

int railyard_counters_read(railyard_counters *counters) {
    struct problem problem = {0};
    double *oldest = counters->values[0];
    counters->values[0] = counters->values[1];
    counters->values[1] = oldest;
    counters->time_s[0] = counters->time_s[1];
    counters->time_s[1] = MPI_Wtime();
    counters->readings++;
    if (counters->leaders != MPI_COMM_NULL)
        counter_source_read(&counters->group, &counters->links, counters->values[1], &problem);
    return good_on_all(counters, &problem) ? 0 : 1;
}

/* What one counter counted; NaN when it went backwards. */
static double difference(const struct railyard_counters *counters, int at) {
    double counted = counters->values[1][at] - counters->values[0][at];
    return counted < 0 ? (double)NAN : counted;
}

static double *all_differences(const struct railyard_counters *counters) {
    int count = counters->links.count * counters->group.counter_count;
    double *differences = check_alloc((size_t)count, sizeof *differences);
    for (int i = 0; i < count; i++)
        differences[i] = difference(counters, i);
    return differences;
}

static void report(const struct railyard_counters *counters, struct problem *problem) {
    double *differences = all_differences(counters);
    struct counter_share share = {.group = &counters->group,
                                  .site = &counters->site,
                                  .host = counters->host,
                                  .links = &counters->links,
                                  .most_links = counters->most_links,
                                  .differences = differences,
                                  .seconds = counters->time_s[1] - counters->time_s[0]};
    counter_report(counters->leaders, &share, counters->group_name, counters->output, counters->json,
                   problem);
    free(differences);
}

int railyard_counters_print(railyard_counters *counters) {
    struct problem problem = {0};
    if (counters->readings < READINGS)
        problem_set(&problem, "railyard_counters_print: needs two readings before it, not %d",
                    counters->readings);
    else if (counters->leaders != MPI_COMM_NULL)
        report(counters, &problem);
    return problem_tell(counters->comm, &problem, program) ? 1 : 0;
}

int railyard_counters_leads(const railyard_counters *counters) {
    return counters->leaders != MPI_COMM_NULL;
}

double railyard_counters_total(const railyard_counters *counters, const char *metric) {
    int found = counter_group_metric(&counters->group, metric);
    double sum = 0;
    if (found < 0 || counters->leaders == MPI_COMM_NULL || counters->readings < READINGS)
        return (double)NAN;
    double *differences = all_differences(counters);
    for (int link = 0; link < counters->links.count; link++)
        sum +=
            counter_group_value(&counters->group, found, differences + link * counters->group.counter_count);
    free(differences);
    return sum;
}

void railyard_counters_free(railyard_counters **counters) {
    struct railyard_counters *old = *counters;
    counter_links_free(&old->links);
    counter_group_free(&old->group);
    for (int i = 0; i < READINGS; i++)
        free(old->values[i]);
    free(old->root);
    free(old->coordinates);
    free(old->interconnect);
    free(old->output);
    free(old->json);
    if (old->leaders != MPI_COMM_NULL && old->leaders != old->comm)
        MPI_CHECK(MPI_Comm_free(&old->leaders));
    free(old);
    *counters = NULL;
}
