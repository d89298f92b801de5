/* The library's calls; see railyard-counters.h. */
#include "counters/railyard-counters.h"

#include "counters/leaders.h"
#include "counters/report.h"
#include "lib/input/textfile.h"
#include "lib/ranks/evidence.h"
#include "lib/run/check.h"

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

enum { READINGS = 2, GROUP_NAME_BYTES = 256, OPTIONS = 6 };

const char *const counter_fabrics[COUNTER_FABRICS] = {"slingshot", "omni-path", "infiniband",
                                                      "roce",      "efa",       "linux-net"};

struct railyard_counters {
    MPI_Comm comm;
    MPI_Comm leaders; /* MPI_COMM_NULL: this rank does not lead */
    struct counter_group group;
    char group_name[GROUP_NAME_BYTES];
    struct counter_site site;
    struct counter_links links;
    int most_links; /* the most links of any leader */
    char host[EVIDENCE_HOST_BYTES];
    char *root;
    char *coordinates;
    char *interconnect;
    char *output;
    char *json;
    uint64_t *values[READINGS]; /* the older, the newer */
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

/* Collective. Rank 0's options and environment count: a launcher need not pass variables on, and ranks that
 * differed would make different collective calls. */
static void take_options(const struct railyard_counters_options *given, struct railyard_counters *counters) {
    static const struct railyard_counters_options none = {0};
    const struct railyard_counters_options *options = given ? given : &none;
    const char *chosen[] = {
        choose(options->group, "RAILYARD_COUNTERS_GROUP", "auto"),
        choose(options->root, "RAILYARD_COUNTERS_ROOT", ""),
        choose(options->coordinates, "RAILYARD_COUNTERS_COORDINATES", NULL),
        choose(options->interconnect, "RAILYARD_COUNTERS_INTERCONNECT", "interconnect.txt"),
        choose(options->output, "RAILYARD_COUNTERS_OUTPUT", NULL),
        choose(options->json, "RAILYARD_COUNTERS_JSON", NULL),
    };
    char *shared[OPTIONS] = {NULL};
    shared_texts(counters->comm, chosen, OPTIONS, shared);
    (void)snprintf(counters->group_name, GROUP_NAME_BYTES, "%s", shared[0]);
    char **const fields[] = {&counters->root, &counters->coordinates, &counters->interconnect,
                             &counters->output, &counters->json};
    for (int i = 1; i < OPTIONS; i++)
        *fields[i - 1] = shared_expand(shared[i], counters->host);
    for (int i = 0; i < OPTIONS; i++)
        free(shared[i]);
}

/* ---- files that rank 0 reads for all ---- */

/* A name without a slash is a file NAME.txt in the groups' folder: the environment's, else the sources' if it
 * exists, else the installed one. */
void counter_group_path(const char *name, char *path) {
    if (strchr(name, '/')) {
        (void)snprintf(path, COUNTER_PATH_BYTES, "%s", name);
    } else {
        const char *built_in = access(RAILYARD_COUNTERS_SOURCE, R_OK) == 0 ? RAILYARD_COUNTERS_SOURCE
                                                                           : RAILYARD_COUNTERS_INSTALLED;
        (void)snprintf(path, COUNTER_PATH_BYTES, "%s/%s.txt",
                       choose(NULL, "RAILYARD_COUNTERS_FOLDER", built_in), name);
    }
}

static bool has_devices(const struct railyard_counters *counters, const char *name) {
    char path[COUNTER_PATH_BYTES];
    struct problem problem = {0};
    struct counter_group group = {0};
    struct counter_links links = {0};
    size_t length = 0;
    counter_group_path(name, path);
    char *text = textfile_load(path, "counter group", &length, &problem);
    if (text)
        counter_group_parse(path, text, &group, &problem);
    if (!problem_is_set(&problem))
        counter_files_find(&group, counters->root, &counters->site, &links, &problem);
    counter_links_free(&links);
    counter_group_free(&group);
    return !problem_is_set(&problem);
}

/* Collective. Returns true on all ranks if all have the group; otherwise false, with a problem on rank 0. */
static bool read_group(struct railyard_counters *counters, struct problem *problem) {
    char path[COUNTER_PATH_BYTES];
    if (strcmp(counters->group_name, "auto") == 0) {
        /* The fabric of rank 0's node: the first group that has a device there; Ethernet is the last. */
        MPI_Comm comm = counters->comm;
        for (int i = 0; leaders_rank(comm) == 0 && i < COUNTER_FABRICS; i++) {
            (void)snprintf(counters->group_name, GROUP_NAME_BYTES, "%s", counter_fabrics[i]);
            if (has_devices(counters, counter_fabrics[i]))
                break;
        }
        MPI_CHECK(MPI_Bcast(counters->group_name, GROUP_NAME_BYTES, MPI_CHAR, 0, comm));
    }
    counter_group_path(counters->group_name, path);
    char *text = textfile_share(counters->comm, path, "counter group", problem);
    if (text)
        counter_group_parse(path, text, &counters->group, problem);
    return text && !problem_is_set(problem);
}

/* ---- who leads, and what it reads ---- */

static void site_by_torus(struct railyard_counters *counters, struct problem *problem) {
    if (!counters->coordinates) {
        problem_set(problem, "counter group %s: leaders of routers need RAILYARD_COUNTERS_COORDINATES",
                    counters->group_name);
        return;
    }
    char *text = textfile_share(counters->comm, counters->coordinates, "coordinates file", problem);
    if (text)
        counter_torus_site(counters->coordinates, text, counters->host, &counters->site, problem);
    free(text);
}

static bool set_up(struct railyard_counters *counters) {
    struct problem problem = {0};
    if (read_group(counters, &problem)) {
        if (!counters->group.by_router) {
            (void)snprintf(counters->site.key, SITE_NAME_BYTES, "%.63s", counters->host);
            memcpy(counters->site.label, counters->site.key, SITE_NAME_BYTES);
        } else if (counters->group.source == SOURCE_GPCD) {
            counter_gemini_site(counters->root, &counters->site, &problem);
        } else {
            site_by_torus(counters, &problem);
        }
    }
    /* An empty key means that this rank has a problem: no leaders are chosen, and the problem is agreed
     * below. */
    const char *key = problem_is_set(&problem) ? "" : counters->site.key;
    if (counter_leaders(counters->comm, key, &counters->leaders) && counters->leaders != MPI_COMM_NULL) {
        if (counters->group.source == SOURCE_GPCD)
            counter_gemini_find(counters->leaders, &counters->group, counters->root, counters->interconnect,
                                &counters->site, &counters->links, &problem);
        else
            counter_files_find(&counters->group, counters->root, &counters->site, &counters->links, &problem);
        for (int i = 0; i < READINGS; i++)
            counters->values[i] = check_alloc(
                (size_t)counters->links.count * (size_t)counters->group.counter_count, sizeof(uint64_t));
    }
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
    MPI_CHECK(
        MPI_Comm_dup(comm, &(*counters)->comm)); /* the library's messages are separate from the program's */
    evidence_host((*counters)->host);
    take_options(options, *counters);
    if (set_up(*counters))
        return 0;
    railyard_counters_free(counters);
    return 1;
}

int railyard_counters_read(railyard_counters *counters) {
    struct problem problem = {0};
    uint64_t *oldest = counters->values[0];
    counters->values[0] = counters->values[1];
    counters->values[1] = oldest;
    counters->time_s[0] = counters->time_s[1];
    counters->time_s[1] = MPI_Wtime();
    counters->readings++;
    if (counters->leaders != MPI_COMM_NULL)
        counter_source_read(&counters->group, &counters->links, counters->values[1], &problem);
    return problem_agree_on(counters->comm, &problem, program) ? 1 : 0;
}

static double *all_differences(const struct railyard_counters *counters) {
    int count = counters->links.count * counters->group.counter_count;
    double *differences = check_alloc((size_t)count, sizeof *differences);
    for (int i = 0; i < count; i++)
        differences[i] = counter_difference(counters->values[0][i], counters->values[1][i]);
    return differences;
}

int railyard_counters_print(railyard_counters *counters) {
    struct problem problem = {0};
    if (counters->readings < READINGS) {
        problem_set(&problem, "railyard_counters_print: needs two readings before it, not %d",
                    counters->readings);
    } else if (counters->leaders != MPI_COMM_NULL) {
        double *differences = all_differences(counters);
        struct counter_share share = {.group = &counters->group,
                                      .site = &counters->site,
                                      .host = counters->host,
                                      .links = &counters->links,
                                      .most_links = counters->most_links,
                                      .differences = differences,
                                      .seconds = counters->time_s[1] - counters->time_s[0]};
        counter_report(counters->leaders, &share, counters->group_name, counters->output, counters->json,
                       &problem);
        free(differences);
    }
    return problem_tell(counters->comm, &problem, program) ? 1 : 0;
}

int railyard_counters_leads(const railyard_counters *counters) {
    return counters->leaders != MPI_COMM_NULL;
}

double railyard_counters_total(const railyard_counters *counters, const char *metric) {
    int found = counter_group_metric(&counters->group, metric);
    double totals[GROUP_COUNTERS_MAX];
    if (found < 0 || counters->leaders == MPI_COMM_NULL || counters->readings < READINGS)
        return (double)NAN;
    double *differences = all_differences(counters);
    counter_group_totals(&counters->group, counters->links.count, differences, totals);
    free(differences);
    return counter_group_value(&counters->group, found, totals);
}

const char *railyard_counters_group(const railyard_counters *counters) {
    return counters->group_name;
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
    MPI_CHECK(MPI_Comm_free(&old->comm));
    free(old);
    *counters = NULL;
}
