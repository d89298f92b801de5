/* The document of topobw: series of every link, and the verdict; see report.h. */
#include "topobw/report.h"

#include "lib/output/parameters.h"
#include "lib/run/check.h"
#include "topobw/verdict/routeprobe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *class_of(const struct tested_link *link) {
    return link->rate ? link->rate->link_class : "unknown";
}

/* ---- series ---- */

static const struct fom bandwidth = {"bandwidth_gbyte_s", "GB/s", BETTER_HIGHER};

/* Labels point to texts that the caller owns. */
static struct series link_series(const struct topobw *run, int link, struct fom fom, const char *name) {
    const struct tested_link *tested = &run->plan.links[link];
    return (struct series){
        .fom = fom,
        .label_count = 5,
        .labels = {{"link", name, 0},
                   {"dimension", run->plan.kinds[tested->dimension], 0},
                   {"direction", tested->step > 0 ? "+" : "-", 0},
                   {"class", class_of(tested), 0},
                   {"sharers", NULL, tested->sharers}},
    };
}

/* Adds the link's rate of every round in which it was tested. */
static void add_rates(const struct topobw *run, int link, const char *name, struct series_list *list) {
    struct series series = link_series(run, link, bandwidth, name);
    series.samples = check_alloc((size_t)run->rounds, sizeof(double));
    for (int round = 0; round < run->rounds; round++) {
        double seconds = topobw_link_seconds(run, link, round);
        if (seconds > 0)
            series.samples[series.count++] = topobw_rate(run, link, seconds);
    }
    if (series.count == 0) {
        free(series.samples);
        series.samples = NULL;
        series.reason = "another link gave no answer first";
    }
    series_add(list, series);
}

static void add_missing(const struct topobw *run, int link, const char *name, struct series_list *list) {
    struct series series = link_series(run, link, (struct fom){"missing_percent", "%", BETTER_NEITHER}, name);
    if (run->results[link].state == LINK_UNTESTED)
        return;
    series.count = 1;
    series.samples = check_alloc(1, sizeof(double));
    series.samples[0] = 100 * run->results[link].missing;
    series_add(list, series);
}

static void add_absent(const struct topobw *run, int dimension, struct series_list *list) {
    if (run->plan.absent[dimension] > 0)
        series_add(list, (struct series){.fom = bandwidth,
                                         .label_count = 2,
                                         .labels = {{"dimension", run->plan.kinds[dimension], 0},
                                                    {"links", NULL, run->plan.absent[dimension]}},
                                         .reason = "links without a rank at both ends"});
}

void topobw_series(const struct topobw *run, char *names, struct series_list *list) {
    for (int link = 0; link < run->plan.link_count; link++) {
        char *name = names + (size_t)link * LINK_NAME_BYTES;
        plan_link_name(&run->plan.links[link], name);
        add_rates(run, link, name, list);
        add_missing(run, link, name, list);
    }
    for (int dimension = 0; dimension < TORUS_DIMENSIONS; dimension++)
        add_absent(run, dimension, list);
}

/* ---- parameters ---- */

void topobw_write_parameters(struct json *json, const void *context) {
    const struct topobw *run = ((const struct topobw_document *)context)->run;
    const struct topobw_config *config = &run->config;
    json_key_text(json, "coordinates", config->coordinates);
    json_key_text(json, "links", config->links);
    parameters_integers(json, "torus", run->coordinates.extents, TORUS_DIMENSIONS);
    json_key_integer(json, "size_bytes", (int64_t)config->stream.message_bytes);
    json_key_integer(json, "messages", config->stream.messages);
    json_key_integer(json, "repeats", config->repeats);
    json_key_integer(json, "retests", config->retests);
    json_key_double(json, "tolerance_percent", config->tolerance_percent);
    json_key_double(json, "deadline_s", config->stream.limit_s);
    json_key_double(json, "soak_s", config->soak_s);
    json_key_text(json, "routes", topobw_routes_name(config->routes));
    json_key_unsigned(json, "seed", config->stream.seed);
}

/* ---- verdict ---- */

/* 0 is "not known". */
static void write_known(struct json *json, const char *key, double value) {
    json_key_double(json, key, value > 0 ? value : (double)NAN);
}

static void write_pairs(struct json *json, const struct topobw_document *document, int link) {
    const struct tested_link *tested = &document->run->plan.links[link];
    json_key_array(json, "pairs");
    for (int k = 0; k < tested->sharers; k++) {
        const struct transfer *transfer = &document->run->plan.transfers[tested->first_transfer + k];
        json_object(json);
        json_key_text(json, "from", evidence_host_of(document->evidence, transfer->from_rank));
        json_key_text(json, "to", evidence_host_of(document->evidence, transfer->to_rank));
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_link(struct json *json, const struct topobw_document *document, int link) {
    const struct tested_link *tested = &document->run->plan.links[link];
    const struct link_result *result = &document->run->results[link];
    enum phase phase = (enum phase)(tested->phase % PHASES_PER_RING);
    char name[LINK_NAME_BYTES];
    plan_link_name(tested, name);
    json_object(json);
    json_key_text(json, "link", name);
    json_key_text(json, "class", class_of(tested));
    json_key_text(json, "sharing", tested->sharers > 1 ? "shared" : "exclusive");
    char number[LINK_NAME_BYTES];
    (void)snprintf(number, sizeof number, "%d", tested->phase);
    json_key_text(json, "phase", tested->listed ? number : phase_name(phase));
    write_pairs(json, document, link);
    json_key_double(json, "seconds", result->seconds);
    json_key_double(json, "rate_gbyte_s", result->rate_gbyte_s);
    write_known(json, "expected_gbyte_s", result->expected_gbyte_s);
    write_known(json, "peers_gbyte_s", result->peers_gbyte_s);
    json_key_double(json, "missing_percent", 100 * result->missing);
    json_key_double(json, "routers", result->routers == ROUTE_UNKNOWN ? (double)NAN : result->routers);
    json_key_integer(json, "rounds", document->run->stability.of_link[link].rounds);
    json_key_integer(json, "dips", document->run->stability.of_link[link].dips);
    json_key_double(json, "lowest_percent", 100 * document->run->stability.of_link[link].lowest);
    json_key_text(json, "state", verdict_name(result->state));
    json_object_end(json);
}

/* The links of a finding: of a bad link or cable no others that only met it. */
static void write_explained(struct json *json, const struct topobw *run, int finding) {
    char name[LINK_NAME_BYTES];
    enum component component = run->findings[finding].component;
    bool all = component != COMPONENT_LINK && component != COMPONENT_CABLE;
    json_key_array(json, "links");
    for (int link = 0; link < run->plan.link_count; link++)
        if (run->explained_by[link] == finding && (all || run->results[link].state != LINK_EXPLAINED)) {
            plan_link_name(&run->plan.links[link], name);
            json_text(json, name);
        }
    json_array_end(json);
}

static void write_finding(struct json *json, const struct topobw_document *document, int finding) {
    const struct finding *described = &document->run->findings[finding];
    char text[FINDING_TEXT_BYTES];
    topobw_finding_text(document->run, document->evidence, described, text);
    json_object(json);
    json_key_text(json, "component", component_name(described->component));
    if (described->part) {
        char name[LINK_NAME_BYTES];
        plan_part_name(described->part, name);
        json_key_text(json, "part", name);
    }
    json_key_text(json, "state", verdict_name(described->state));
    json_key_double(json, "missing_percent", 100 * described->missing);
    write_explained(json, document->run, finding);
    json_key_text(json, "text", text);
    json_object_end(json);
}

void topobw_write_verdict(struct json *json, const void *context) {
    const struct topobw_document *document = context;
    const struct topobw *run = document->run;
    json_key_object(json, "verdict");
    json_key_text(json, "status", topobw_status(run));
    write_known(json, "factor", run->factor);
    write_known(json, "counters_seconds", run->counters_s);
    json_key_array(json, "findings");
    for (int finding = 0; finding < run->finding_count; finding++)
        write_finding(json, document, finding);
    json_array_end(json);
    json_key_array(json, "links");
    for (int link = 0; link < run->plan.link_count; link++)
        write_link(json, document, link);
    json_array_end(json);
    json_object_end(json);
}
