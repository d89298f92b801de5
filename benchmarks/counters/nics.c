/* Counts what NICs send and receive; see nics.h. */
#include "counters/nics.h"

#ifndef RAILYARD_HOST_FROM_MPI
#include "counters/leaders.h"
#include "counters/source.h"
#include "lib/input/parse.h"
#include "lib/input/textfile.h"
#include "lib/measure/energy.h"
#include "lib/measure/sockets.h"
#include "lib/output/json.h"
#include "lib/output/whole.h"
#include "lib/ranks/evidence.h"
#include "lib/run/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 9, NAME_BYTES = 256, READINGS = 2, METRICS = 2, SETTINGS = 3 };

static const char *const metric_names[METRICS] = {"sent_bytes", "received_bytes"};

/* One group's NICs of this node. */
struct fabric {
    struct counter_group group;
    char name[NAME_BYTES];
    struct counter_links links;
    uint64_t *values[READINGS];
};

struct nics {
    char *settings[SETTINGS]; /* values of the options file, groups and root */
    char host[EVIDENCE_HOST_BYTES];
    bool leads;
    int fabric_count;
    struct fabric fabrics[GROUPS_MAX];
    struct energy energy;
    struct sockets_nic sockets[SOCKETS_NICS]; /* of this rank, at the first reading */
    int socket_count;
    struct problem problem; /* why a fabric of this node is not counted */
};

/* A NIC's line; plain data, sent to rank 0 as it is. */
struct row {
    char node[SITE_NAME_BYTES];
    char nic[LINK_TEXT_BYTES];
    char group[SITE_NAME_BYTES];
    double bytes[METRICS];
};

/* A fault that one NIC counted, or a state of it that changed. All ranks number fabrics and events alike;
 * sent as it is, too. */
struct event_row {
    char node[SITE_NAME_BYTES];
    char nic[LINK_TEXT_BYTES];
    int fabric;
    int event;
    uint64_t before;
    uint64_t after;
};

/* Why an event is not read: the first three as COUNTER_ABSENT and those after it. */
enum { NO_FILE, REFUSED, NO_NUMBER, FULL, READ, REASONS };

static const char *const reason_names[READ] = {"no such file", "the file cannot be read",
                                               "the file has no such number", "the counter is full"};

/* The events of each fabric that some NIC of any node counts, and that some NIC does not, a bit each. */
struct readable {
    uint32_t events[REASONS][GROUPS_MAX];
};

/* A counter of energy; sent as it is, too. */
struct energy_row {
    char node[SITE_NAME_BYTES];
    char counter[ENERGY_NAME_BYTES];
    double joules;
};

/* What one rank's own connections carried by one NIC; sent as it is, too. */
struct rank_row {
    int rank;
    char node[SITE_NAME_BYTES];
    struct sockets_nic nic;
};

/* ---- what to read ---- */

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Collective. Rank 0's environment; false when nothing is to be counted. */
static bool take_settings(struct nics *nics) {
    const char *const chosen[SETTINGS] = {variable("RAILYARD_NICS"), variable("RAILYARD_NIC_COUNTERS"),
                                          variable("RAILYARD_SYSFS")};
    shared_texts(MPI_COMM_WORLD, chosen, SETTINGS, nics->settings);
    char *root = shared_expand(nics->settings[2] ? nics->settings[2] : "", nics->host);
    free(nics->settings[2]);
    nics->settings[2] = root;
    return nics->settings[0] != NULL;
}

static void keep_problem(struct nics *nics, const struct problem *problem) {
    if (problem_is_set(problem))
        problem_set(&nics->problem, "%.900s", problem->text);
}

/* Collective. Parses the named groups on all ranks; rank 0 alone reads their files, and sends all at once. */
static void add_fabrics(struct nics *nics, char names[][NAME_BYTES], int count) {
    char *read[GROUPS_MAX] = {NULL};
    char *shared[GROUPS_MAX] = {NULL};
    char path[COUNTER_PATH_BYTES];
    for (int i = 0; check_rank() == 0 && i < count; i++) {
        struct problem problem = {0};
        size_t length = 0;
        counter_group_path(names[i], path);
        read[i] = textfile_load(path, "counter group", &length, &problem);
        keep_problem(nics, &problem);
        if (problem_is_set(&problem)) {
            free(read[i]);
            read[i] = NULL;
        }
    }
    shared_texts(MPI_COMM_WORLD, (const char *const *)read, count, shared);
    for (int i = 0; i < count; i++) {
        free(read[i]);
        if (!shared[i])
            continue;
        struct problem problem = {0};
        struct fabric *fabric = &nics->fabrics[nics->fabric_count++];
        counter_group_path(names[i], path);
        counter_group_parse(path, shared[i], &fabric->group, &problem);
        keep_problem(nics, &problem);
        (void)snprintf(fabric->name, NAME_BYTES, "%s", names[i]);
    }
}

/* ---- one node ---- */

static void find_devices(struct nics *nics, struct fabric *fabric) {
    struct counter_site site = {0};
    struct problem problem = {0};
    (void)snprintf(site.label, sizeof site.label, "%.63s", nics->host);
    if (fabric->group.devices)
        counter_files_find(&fabric->group, nics->settings[2], &site, &fabric->links, &problem);
    size_t count = (size_t)fabric->links.count * (size_t)fabric->group.counter_count;
    for (int i = 0; i < READINGS; i++)
        fabric->values[i] = check_alloc(count, sizeof(uint64_t));
}

/* Stores the reason why a NIC cannot be read, whose values are not known then. */
static void read_fabrics(struct nics *nics, int reading) {
    for (int i = 0; i < nics->fabric_count; i++) {
        struct fabric *fabric = &nics->fabrics[i];
        struct problem problem = {0};
        counter_source_read(&fabric->group, &fabric->links, fabric->values[reading], &problem);
        keep_problem(nics, &problem);
    }
}

/* All ranks leave together: what they send then is counted. */
static void meet(void) {
    int nothing = 0;
    int sum = 0;
    MPI_CHECK(MPI_Allreduce(&nothing, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

struct nics *nics_begin(void) {
    struct nics *nics = check_alloc(1, sizeof *nics);
    char key[SITE_NAME_BYTES];
    evidence_host(nics->host);
    if (!take_settings(nics)) {
        free(nics->settings[1]);
        free(nics->settings[2]);
        free(nics);
        return NULL;
    }
    (void)snprintf(key, sizeof key, "%.63s", nics->host);
    enum counter_part part = counter_part(MPI_COMM_WORLD, key);
    nics->leads = part == LEADS || part == ALL_LEAD;
    char names[GROUPS_MAX][NAME_BYTES];
    int count = 0;
    const char *chosen = nics->settings[1];
    bool automatic = !chosen || strcmp(chosen, "auto") == 0;
    for (int i = 0; automatic && i < COUNTER_FABRICS; i++)
        (void)snprintf(names[count++], NAME_BYTES, "%s", counter_fabrics[i]);
    if (automatic)
        (void)snprintf(names[count++], NAME_BYTES, "node");
    while (!automatic && count < GROUPS_MAX && parse_next(&chosen, ',', names[count], NAME_BYTES))
        count++;
    add_fabrics(nics, names, count);
    for (int i = 0; nics->leads && i < nics->fabric_count; i++)
        find_devices(nics, &nics->fabrics[i]);
    if (nics->leads)
        read_fabrics(nics, 0);
    if (nics->leads)
        energy_begin(nics->settings[2], &nics->energy);
    nics->socket_count = sockets_read(nics->sockets);
    meet();
    return nics;
}

/* ---- rows ---- */

/* The port of an RDMA device is named as its users name it: mlx5_0/1 is mlx5_0:1. */
static void name_nic(const struct counter_link *link, char nic[LINK_TEXT_BYTES]) {
    (void)snprintf(nic, LINK_TEXT_BYTES, "%s", link->name);
    char *slash = strchr(nic, '/');
    if (slash)
        *slash = ':';
}

/* Collective. Returns all ranks' `count` rows, of `size` bytes each, on rank 0 in the order of the ranks;
 * NULL on other ranks. Frees this rank's. */
static void *gather_rows(void *rows, int count, size_t size, int *total) {
    void *all = evidence_collect(MPI_COMM_WORLD, rows, count * (int)size, total);
    *total /= (int)size;
    free(rows);
    return all;
}

/* Collective, as all that follow: returns on rank 0 what each NIC sent and received. */
static struct row *all_rows(const struct nics *nics, int *total) {
    struct row *rows = NULL;
    int count = 0;
    int room = 0;
    for (int i = 0; i < nics->fabric_count; i++) {
        const struct fabric *fabric = &nics->fabrics[i];
        const struct counter_group *group = &fabric->group;
        bool counts_bytes = counter_group_metric(group, metric_names[0]) >= 0;
        for (int link = 0; counts_bytes && link < fabric->links.count; link++) {
            double counted[GROUP_COUNTERS_MAX];
            size_t first = (size_t)link * (size_t)group->counter_count;
            for (int k = 0; k < group->counter_count; k++)
                counted[k] = counter_difference(fabric->values[0][first + (size_t)k],
                                                fabric->values[1][first + (size_t)k]);
            rows = check_grow(rows, count, &room, sizeof *rows);
            struct row *row = &rows[count++];
            (void)snprintf(row->node, sizeof row->node, "%.63s", nics->host);
            (void)snprintf(row->group, sizeof row->group, "%.63s", fabric->name);
            name_nic(&fabric->links.links[link], row->nic);
            for (int m = 0; m < METRICS; m++) {
                int metric = counter_group_metric(group, metric_names[m]);
                row->bytes[m] = metric < 0 ? (double)NAN : counter_group_value(group, metric, counted);
            }
        }
    }
    return gather_rows(rows, count, sizeof *rows, total);
}

/* Returns why an event is not read; READ if it is. */
static int reason_of(const struct group_event *event, const struct event_row *row) {
    uint64_t larger = row->before > row->after ? row->before : row->after;
    if (!counter_is_known(larger))
        return (int)(COUNTER_ABSENT - larger);
    return event->full && row->before >= event->full ? FULL : READ;
}

static bool is_gone(const struct event_row *row) {
    return counter_is_known(row->before) && !counter_is_known(row->after);
}

/* What every NIC counted of each event, and which events are read. */
static struct event_row *all_events(const struct nics *nics, int *total, struct readable *readable) {
    struct readable here = {{{0}}};
    struct event_row *rows = NULL;
    int count = 0;
    int room = 0;
    for (int i = 0; i < nics->fabric_count; i++) {
        const struct fabric *fabric = &nics->fabrics[i];
        for (int k = 0; k < fabric->links.count * fabric->group.event_count; k++) {
            int link = k / fabric->group.event_count;
            const struct group_event *event = &fabric->group.events[k % fabric->group.event_count];
            int place = link * fabric->group.counter_count + event->counter;
            struct event_row row = {.fabric = i,
                                    .event = k % fabric->group.event_count,
                                    .before = fabric->values[0][place],
                                    .after = fabric->values[1][place]};
            int reason = reason_of(event, &row);
            here.events[reason][i] |= 1U << row.event;
            if ((reason != READ && !is_gone(&row)) || row.before == row.after)
                continue;
            (void)snprintf(row.node, sizeof row.node, "%.63s", nics->host);
            name_nic(&fabric->links.links[link], row.nic);
            rows = check_grow(rows, count, &room, sizeof *rows);
            rows[count++] = row;
        }
    }
    MPI_CHECK(MPI_Reduce(&here, readable, (int)(sizeof here / sizeof(uint32_t)), MPI_UINT32_T, MPI_BOR, 0,
                         MPI_COMM_WORLD));
    return gather_rows(rows, count, sizeof *rows, total);
}

static struct energy_row *all_energy(const struct nics *nics, int *total) {
    struct energy_row *rows = check_alloc((size_t)nics->energy.count, sizeof *rows);
    int count = 0;
    for (int i = 0; i < nics->energy.count; i++) {
        const struct energy_counter *counter = &nics->energy.counters[i];
        struct energy_row *row = &rows[count];
        (void)snprintf(row->node, sizeof row->node, "%.63s", nics->host);
        (void)snprintf(row->counter, sizeof row->counter, "%s", counter->name);
        count += energy_joules(counter, &row->joules);
    }
    return gather_rows(rows, count, sizeof *rows, total);
}

/* Returns what the first reading has of a NIC; nothing of one that was new or whose connections closed. */
static struct sockets_nic before(const struct nics *nics, const struct sockets_nic *now) {
    for (int i = 0; i < nics->socket_count; i++) {
        const struct sockets_nic *then = &nics->sockets[i];
        if (strcmp(then->nic, now->nic) == 0 && then->sent_bytes <= now->sent_bytes &&
            then->received_bytes <= now->received_bytes)
            return *then;
    }
    return (struct sockets_nic){0};
}

static struct rank_row *all_sockets(const struct nics *nics, const struct sockets_nic *now, int count,
                                    int *total) {
    struct rank_row *rows = check_alloc((size_t)count, sizeof *rows);
    for (int i = 0; i < count; i++) {
        struct sockets_nic then = before(nics, &now[i]);
        rows[i] = (struct rank_row){.rank = check_rank(), .nic = now[i]};
        rows[i].nic.sent_bytes -= then.sent_bytes;
        rows[i].nic.received_bytes -= then.received_bytes;
        (void)snprintf(rows[i].node, sizeof rows[i].node, "%.63s", nics->host);
    }
    return gather_rows(rows, count, sizeof *rows, total);
}

/* Collective. Returns the reason of the lowest rank that has one. */
static struct problem first_problem(const struct nics *nics) {
    struct problem problem = nics->problem;
    int none = check_ranks();
    int mine = problem_is_set(&problem) ? check_rank() : none;
    int first = none;
    MPI_CHECK(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (first < none)
        MPI_CHECK(MPI_Bcast(&problem, (int)sizeof problem, MPI_BYTE, first, MPI_COMM_WORLD));
    return problem;
}

/* ---- the GPUs that each rank sees: each reports its own environment, as a launcher or a script set it; the
 * runtimes of CUDA, ROCm and Level Zero read it. Leaves out: which of the visible GPUs the rank uses. ---- */

enum { VARIABLES = 4, SEES_BYTES = 256 };

/* ROCR_VISIBLE_DEVICES counts the node's GPUs, the others those that it leaves. */
static const char *const gpu_variables[VARIABLES] = {"ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                                                     "ZE_AFFINITY_MASK", "HIP_VISIBLE_DEVICES"};

/* Plain data, sent to rank 0 as it is. */
struct gpus_of_rank {
    char host[EVIDENCE_HOST_BYTES];
    int variable; /* -1: none is set */
    char sees[SEES_BYTES];
};

static struct gpus_of_rank *all_gpus(int *ranks) {
    struct gpus_of_rank *here = check_alloc(1, sizeof *here);
    here->variable = -1;
    evidence_host(here->host);
    for (int i = 0; i < VARIABLES && here->variable < 0; i++) {
        const char *value = getenv(gpu_variables[i]);
        if (!value)
            continue;
        here->variable = i;
        (void)snprintf(here->sees, sizeof here->sees, "%s", value);
    }
    return gather_rows(here, 1, sizeof *here, ranks);
}

/* ---- the file ---- */

static bool is_known(const struct row *row) {
    return isfinite(row->bytes[0]) && isfinite(row->bytes[1]);
}

/* The content of the file that rank 0 writes. */
struct document {
    const struct nics *nics;
    struct problem problem;
    struct row *rows;
    int row_count;
    struct gpus_of_rank *gpus;
    int gpu_count;
    struct energy_row *energy;
    int energy_count;
    struct rank_row *ranks;
    int rank_count;
    struct event_row *events;
    int event_count;
    struct readable readable;
};

/* Writes nothing if no rank has a variable. */
static void write_gpus(struct json *json, const struct document *document) {
    int known = 0;
    for (int rank = 0; rank < document->gpu_count; rank++)
        known += document->gpus[rank].variable >= 0;
    if (known == 0)
        return;
    json_key_array(json, "gpus");
    for (int rank = 0; rank < document->gpu_count; rank++) {
        const struct gpus_of_rank *of_rank = &document->gpus[rank];
        bool is_set = of_rank->variable >= 0;
        json_object(json);
        json_key_integer(json, "rank", rank);
        json_key_text(json, "node", of_rank->host);
        json_key_text(json, "variable", is_set ? gpu_variables[of_rank->variable] : NULL);
        json_key_text(json, "sees", is_set ? of_rank->sees : NULL);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_ranks(struct json *json, const struct document *document) {
    if (document->rank_count == 0)
        return;
    json_key_array(json, "ranks");
    for (int i = 0; i < document->rank_count; i++) {
        const struct rank_row *row = &document->ranks[i];
        json_object(json);
        json_key_integer(json, "rank", row->rank);
        json_key_text(json, "node", row->node);
        json_key_text(json, "nic", row->nic.nic);
        json_key_integer(json, "tx_bytes", (int64_t)row->nic.sent_bytes);
        json_key_integer(json, "rx_bytes", (int64_t)row->nic.received_bytes);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_energy(struct json *json, const struct document *document) {
    if (document->energy_count == 0)
        return;
    json_key_array(json, "energy");
    for (int i = 0; i < document->energy_count; i++) {
        json_object(json);
        json_key_text(json, "node", document->energy[i].node);
        json_key_text(json, "counter", document->energy[i].counter);
        json_key_double(json, "joules", document->energy[i].joules);
        json_object_end(json);
    }
    json_array_end(json);
}

static const struct group_counter *counter_of(const struct document *document, int fabric, int event) {
    const struct counter_group *group = &document->nics->fabrics[fabric].group;
    return &group->counters[group->events[event].counter];
}

/* The names of a group's events that were read. */
static void write_read(struct json *json, const struct document *document, int fabric) {
    json_key_array(json, document->nics->fabrics[fabric].name);
    for (int event = 0; event < document->nics->fabrics[fabric].group.event_count; event++)
        if (document->readable.events[READ][fabric] & 1U << event)
            json_text(json, counter_of(document, fabric, event)->name);
    json_array_end(json);
}

/* Name and reason of what was not read. */
static void write_not_read(struct json *json, const struct document *document, int fabric) {
    const struct counter_group *group = &document->nics->fabrics[fabric].group;
    json_key_object(json, document->nics->fabrics[fabric].name);
    for (int event = 0; event < group->event_count; event++) {
        int reason = READ - 1;
        while (reason >= 0 && !(document->readable.events[reason][fabric] & 1U << event))
            reason--;
        if (reason >= 0)
            json_key_text(json, counter_of(document, fabric, event)->name, reason_names[reason]);
    }
    for (int i = 0; i < group->unreadable_count; i++)
        json_key_text(json, group->unreadable[i].name, group->unreadable[i].reason);
    json_object_end(json);
}

/* Writes a part for each group that some node has. */
static void write_groups(struct json *json, const char *key, const struct document *document,
                         void (*write_part)(struct json *, const struct document *, int)) {
    json_key_object(json, key);
    for (int i = 0; i < document->nics->fabric_count; i++) {
        uint32_t seen = 0;
        for (int reason = 0; reason < REASONS; reason++)
            seen |= document->readable.events[reason][i];
        if (seen)
            write_part(json, document, i);
    }
    json_object_end(json);
}

static const char *kind_of(const struct document *document, const struct event_row *row) {
    static const char *const names[] = {"count", "state", "congestion"};
    int kind = document->nics->fabrics[row->fabric].group.events[row->event].kind;
    if (is_gone(row))
        return "gone";
    return kind != EVENT_STATE && row->after < row->before ? "reset" : names[kind];
}

static void write_events(struct json *json, const struct document *document) {
    json_key_object(json, "health");
    write_groups(json, "read", document, write_read);
    write_groups(json, "not_read", document, write_not_read);
    json_key_array(json, "events");
    for (int i = 0; i < document->event_count; i++) {
        const struct event_row *row = &document->events[i];
        const struct group_counter *counter = counter_of(document, row->fabric, row->event);
        json_object(json);
        json_key_text(json, "node", row->node);
        json_key_text(json, "nic", row->nic);
        json_key_text(json, "event", counter->name);
        json_key_text(json, "unit", counter->unit);
        json_key_text(json, "kind", kind_of(document, row));
        json_key_unsigned(json, "before", row->before);
        json_key_unsigned(json, "after", is_gone(row) ? 0 : row->after);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void write_document(FILE *file, const void *written) {
    const struct document *document = written;
    const struct row *rows = document->rows;
    const char *groups = document->nics->settings[1];
    const char *reason = document->problem.text;
    struct json json = json_start(file);
    int known = 0;
    for (int i = 0; i < document->row_count; i++)
        known += is_known(&rows[i]);
    json_object(&json);
    json_key_text(&json, "format", "railyard-nics/1");
    json_key_text(&json, "groups", groups ? groups : "auto");
    json_key_array(&json, "nics");
    for (int i = 0; i < document->row_count; i++)
        if (is_known(&rows[i])) {
            json_object(&json);
            json_key_text(&json, "node", rows[i].node);
            json_key_text(&json, "nic", rows[i].nic);
            json_key_text(&json, "group", rows[i].group);
            json_key_integer(&json, "tx_bytes", (int64_t)rows[i].bytes[0]);
            json_key_integer(&json, "rx_bytes", (int64_t)rows[i].bytes[1]);
            json_object_end(&json);
        }
    json_array_end(&json);
    if (!*reason && known == 0)
        reason = "no node has a NIC whose counters are known";
    else if (!*reason && known < document->row_count)
        reason = "a counter went backwards";
    json_key_text(&json, "reason", *reason ? reason : NULL);
    write_gpus(&json, document);
    write_energy(&json, document);
    write_ranks(&json, document);
    write_events(&json, document);
    json_object_end(&json);
}

static void free_all(struct nics *nics) {
    for (int i = 0; i < nics->fabric_count; i++) {
        counter_links_free(&nics->fabrics[i].links);
        counter_group_free(&nics->fabrics[i].group);
        for (int reading = 0; reading < READINGS; reading++)
            free(nics->fabrics[i].values[reading]);
    }
    for (int i = 0; i < SETTINGS; i++)
        free(nics->settings[i]);
    free(nics);
}

void nics_end(struct nics *nics) {
    if (!nics)
        return;
    meet();
    struct document document = {.nics = nics};
    struct sockets_nic sockets[SOCKETS_NICS];
    int socket_count = sockets_read(sockets);
    if (nics->leads)
        read_fabrics(nics, 1);
    document.ranks = all_sockets(nics, sockets, socket_count, &document.rank_count);
    document.rows = all_rows(nics, &document.row_count);
    document.problem = first_problem(nics);
    document.events = all_events(nics, &document.event_count, &document.readable);
    document.energy = all_energy(nics, &document.energy_count);
    document.gpus = all_gpus(&document.gpu_count);
    if (check_rank() == 0)
        whole_write_or_tell("railyard", nics->settings[0], write_document, &document);
    free(document.ranks);
    free(document.rows);
    free(document.events);
    free(document.energy);
    free(document.gpus);
    free_all(nics);
}
#else
#include <stddef.h>

struct nics *nics_begin(void) {
    return NULL;
}

void nics_end(struct nics *nics) {
    (void)nics;
}
#endif
