/* Prints what topobw found, and writes its document: series of every link, and the verdict; see report.h. */
#include "topobw/report.h"

#include "lib/output/table.h"
#include "lib/run/check.h"
#include "topobw/verdict/routeprobe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double rounded_percent = 0.5; /* what a printed percentage leaves out */

static const char *class_of(const struct tested_link *link) {
    return link->rate ? link->rate->link_class : "unknown";
}

static double percent(double part) {
    return 100 * part;
}

/* ---- one finding ---- */

static void component_text(const struct topobw *run, const struct evidence_list *evidence,
                           const struct finding *finding, char *text, size_t bytes) {
    char name[LINK_NAME_BYTES];
    const struct tested_link *link = &run->plan.links[finding->link];
    static const char *const texts[] = {"", " sending", " receiving"};
    const char *way = texts[finding->direction];
    if (finding->part && finding->component == COMPONENT_NODE) {
        plan_part_name(finding->part, name);
        (void)snprintf(text, bytes, "%s", name);
    } else if (finding->part) {
        plan_part_name(finding->part, name);
        (void)snprintf(text, bytes, "%s %s (%s)", component_name(finding->component), name, class_of(link));
        if (finding->other) {
            plan_part_name(finding->other, name);
            (void)snprintf(text + strlen(text), bytes - strlen(text), " or link %s", name);
        }
    } else if (finding->component == COMPONENT_NETWORK) {
        (void)snprintf(text, bytes, "the network");
    } else if (finding->component == COMPONENT_LINK || finding->component == COMPONENT_CABLE) {
        plan_link_name(link, name);
        (void)snprintf(text, bytes, "%s %s (%s)", component_name(finding->component), name, class_of(link));
    } else {
        const char *host = evidence_host_of(evidence, finding->rank);
        const int *at = run->coordinates.nodes[run->coordinates.node_of_rank[finding->rank]].coordinate;
        (void)snprintf(name, sizeof name, "%d,%d,%d", at[0], at[1], at[2]);
        if (finding->only_node)
            (void)snprintf(text, bytes, "router %s or its node %s%s", name, host, way);
        else if (finding->component == COMPONENT_NODE)
            (void)snprintf(text, bytes, "node %s of router %s%s", host, name, way);
        else
            (void)snprintf(text, bytes, "router %s%s", name, way);
    }
}

static double reference_of(const struct link_result *result) {
    return fmax(result->expected_gbyte_s, result->peers_gbyte_s);
}

/* Describes what is wrong with the first link of the finding. */
static void trouble_text(const struct topobw *run, const struct finding *finding, char *text, size_t bytes) {
    const struct link_result *result = &run->results[finding->link];
    double reference = reference_of(result);
    const struct link_rounds *rounds = &run->stability.of_link[finding->link];
    const char *way = run->ways[run->plan.links[finding->link].first_transfer];
    if (finding->state == LINK_UNSTABLE)
        (void)snprintf(text, bytes,
                       "unstable: %d of %d rounds at least %d %% below its peers, %.1f %% at worst",
                       rounds->dips, rounds->rounds, DIP_PERCENT, percent(1 - rounds->lowest));
    else if (finding->state == LINK_SILENT)
        (void)snprintf(text, bytes, "no answer within %g s: down, or slower than %.3g kB/s", run->given_up_s,
                       1e-3 * run->given_up_bytes / run->given_up_s);
    else if (finding->state == LINK_DETOUR && way)
        (void)snprintf(text, bytes, "not used: packets go by %.*s, %.1f %% of the rate missing",
                       (int)strlen(way) - 2, way + 1, percent(finding->missing));
    else if (finding->state == LINK_DETOUR)
        (void)snprintf(text, bytes,
                       "not used: packets take a way with %d routers, %.1f %% of the rate missing",
                       result->routers, percent(finding->missing));
    else
        (void)snprintf(text, bytes, "slow: %.4g of %.4g GB/s, %.1f %% missing", result->rate_gbyte_s,
                       reference, percent(finding->missing));
}

void topobw_finding_text(const struct topobw *run, const struct evidence_list *evidence,
                         const struct finding *finding, char *text) {
    char component[FINDING_TEXT_BYTES / 2];
    char trouble[FINDING_TEXT_BYTES / 4];
    char links[FINDING_TEXT_BYTES / 16] = "";
    component_text(run, evidence, finding, component, sizeof component);
    trouble_text(run, finding, trouble, sizeof trouble);
    if (finding->links > 1)
        (void)snprintf(links, sizeof links, run->plan.is_listed ? ", in %d tests" : ", %d links",
                       finding->links);
    (void)snprintf(text, FINDING_TEXT_BYTES, "%s%s: %s", component, links, trouble);
}

/* ---- tables ---- */

/* Returns the seconds of the transfer in the round in which its link was fastest. */
static double seconds_of_best(const struct topobw *run, const struct transfer *transfer) {
    double best = run->results[transfer->link].seconds;
    for (int round = 0; round < run->rounds; round++)
        if (topobw_link_seconds(run, transfer->link, round) == best)
            return topobw_seconds(run, transfer, round);
    return 0;
}

static void print_transfers(const struct topobw *run, const struct evidence_list *evidence) {
    int width = 4;
    for (int rank = 0; rank < evidence->ranks; rank++)
        if ((int)strlen(evidence_host_of(evidence, rank)) > width)
            width = (int)strlen(evidence_host_of(evidence, rank));
    (void)printf("%-*s  %-*s  %-18s  %-10s  %-10s  %9s  %10s  %10s  %s\n", width, "from", width, "to", "link",
                 "class", "sharing", "seconds", "pair GB/s", "link GB/s", "verdict");
    for (int t = 0; t < run->plan.transfer_count; t++) {
        const struct tested_link *link = &run->plan.links[run->plan.transfers[t].link];
        const struct link_result *result = &run->results[run->plan.transfers[t].link];
        double seconds = seconds_of_best(run, &run->plan.transfers[t]);
        char name[LINK_NAME_BYTES];
        plan_link_name(link, name);
        (void)printf("%-*s  %-*s  %-18s  %-10s  %-10s  %9.4f  %10.6f  %10.6f  %s\n", width,
                     evidence_host_of(evidence, run->plan.transfers[t].from_rank), width,
                     evidence_host_of(evidence, run->plan.transfers[t].to_rank), name, class_of(link),
                     link->sharers > 1 ? "shared" : "exclusive", seconds,
                     topobw_rate(run, run->plan.transfers[t].link, seconds) / link->sharers,
                     result->rate_gbyte_s, verdict_name(result->state));
    }
    (void)printf("\n");
}

/* The lowest, mean and highest rate of a dimension's links. */
struct spread {
    int count;
    int low_link;
    int high_link;
    double low;
    double sum;
    double high;
};

static struct spread spread_of(const struct topobw *run, int dimension) {
    struct spread spread = {0};
    for (int link = 0; link < run->plan.link_count; link++) {
        double rate = run->results[link].rate_gbyte_s;
        enum link_state state = run->results[link].state;
        if (run->plan.links[link].dimension != dimension || state == LINK_UNTESTED || state == LINK_EXPLAINED)
            continue;
        if (spread.count == 0 || rate < spread.low) {
            spread.low = rate;
            spread.low_link = link;
        }
        if (spread.count == 0 || rate > spread.high) {
            spread.high = rate;
            spread.high_link = link;
        }
        spread.sum += rate;
        spread.count++;
    }
    return spread;
}

/* Returns the share of a link that may be lost unseen in its test: the tolerance, and more where nodes limit
 * the rate. */
static double unseen_part(const struct topobw *run, const struct tested_link *link) {
    double hosts = run->rates.host_gbyte_s * link->sharers;
    double share = link->rate && link->rate->rate_gbyte_s > hosts ? hosts / link->rate->rate_gbyte_s : 1;
    return 1 - share * (1 - run->config.tolerance_percent / 100);
}

static double most_unseen(const struct topobw *run, int dimension) {
    double most = 0;
    for (int link = 0; link < run->plan.link_count; link++)
        if (run->plan.links[link].dimension == dimension)
            most = fmax(most, unseen_part(run, &run->plan.links[link]));
    return most;
}

const char *topobw_status(const struct topobw *run) {
    if (run->finding_count)
        return "faulty";
    if (run->unjudged)
        return "not judged";
    return run->config.routes == ROUTES_OFF ? "rates sound" : "sound";
}

void topobw_unjudged_text(const struct topobw *run, char *text) {
    char name[LINK_NAME_BYTES];
    int first = 0;
    while (!topobw_is_unjudged(run, first))
        first++;
    plan_link_name(&run->plan.links[first], name);
    (void)snprintf(
        text, FINDING_TEXT_BYTES,
        "not judged: %d of %d links, the first is %s: no datagram showed the routers on their ways, so "
        "packets may go round a dead link; --routes off judges rates alone",
        run->unjudged, run->plan.link_count, name);
}

static void print_findings(const struct topobw *run, const struct evidence_list *evidence) {
    char text[FINDING_TEXT_BYTES];
    (void)printf("\nverdict: %s; losses not seen:", topobw_status(run));
    for (int dimension = 0, listed = 0; dimension < TORUS_DIMENSIONS; dimension++)
        if (most_unseen(run, dimension) > 0)
            (void)printf("%s %.0f %% on %s", listed++ ? "," : " below", percent(most_unseen(run, dimension)),
                         run->plan.kinds[dimension]);
    (void)printf("\n");
    for (int i = 0; i < run->finding_count; i++) {
        topobw_finding_text(run, evidence, &run->findings[i], text);
        (void)printf("  %s\n", text);
    }
    if (run->unjudged) {
        topobw_unjudged_text(run, text);
        (void)printf("  %s\n", text);
    }
    /* Prints observations on links that are not findings. */
    char name[LINK_NAME_BYTES];
    for (int link = 0; link < run->plan.link_count; link++) {
        const struct link_rounds *rounds = &run->stability.of_link[link];
        plan_link_name(&run->plan.links[link], name);
        if (run->results[link].state == LINK_UNSTABLE && run->explained_by[link] < 0)
            (void)printf("note: link %s: unstable in %d of %d rounds; --soak SECONDS decides\n", name,
                         rounds->dips, rounds->rounds);
        if (run->results[link].state == LINK_DISTURBED)
            (void)printf(
                "note: link %s: %.1f %% missing at best, but %s\n", name,
                percent(1 - run->results[link].rate_gbyte_s / reference_of(&run->results[link])),
                run->stuck
                    ? "another link gave no answer before this was proven; measure again without that link"
                    : "its times differ too much to name it; measure again without other load, or "
                      "with more --retests");
    }
    (void)fflush(stdout);
}

void topobw_print(const struct topobw *run, const struct evidence_list *evidence) {
    const int *extents = run->coordinates.extents;
    const struct stream_config *stream = &run->config.stream;
    char size[SIZE_TEXT_BYTES];
    int phases = 0;
    for (int phase = 0; phase < PHASES_MAX; phase++)
        phases += run->plan.phases[phase];
    table_size(stream->message_bytes, size);
    (void)printf("topobw %s: %d ranks on %d hosts, %s %dx%dx%d, %d links in %d phases\n", RAILYARD_VERSION,
                 evidence->ranks, evidence_hosts(evidence), run->plan.is_listed ? "switches" : "torus",
                 extents[0], extents[1], extents[2], run->plan.link_count, phases);
    (void)printf("%d x %s per transfer, fastest of %d rounds, up to %d more for links that look bad; data "
                 "verified\n\n",
                 stream->messages, size, run->config.repeats, 2 * run->config.retests);
    print_transfers(run, evidence);
    for (int dimension = 0; dimension < TORUS_DIMENSIONS; dimension++) {
        char low[LINK_NAME_BYTES];
        char high[LINK_NAME_BYTES];
        struct spread spread = spread_of(run, dimension);
        if (spread.count != 0) {
            plan_link_name(&run->plan.links[spread.low_link], low);
            plan_link_name(&run->plan.links[spread.high_link], high);
            (void)printf("%s  links %d  min %.6f on %s  max %.6f on %s  avg %.6f GB/s\n",
                         run->plan.kinds[dimension], spread.count, spread.low, low, spread.high, high,
                         spread.sum / spread.count);
        }
    }
    for (int dimension = 0; dimension < TORUS_DIMENSIONS; dimension++) {
        double unseen = most_unseen(run, dimension);
        if (run->plan.absent[dimension] > 0)
            (void)printf("%s  not tested: %d links without a rank at both ends\n", run->plan.kinds[dimension],
                         run->plan.absent[dimension]);
        if (percent(unseen) > run->config.tolerance_percent + rounded_percent)
            (void)printf("%s  limited by the nodes: a loss below %.0f %% of a link is not seen\n",
                         run->plan.kinds[dimension], percent(unseen));
    }
    print_findings(run, evidence);
}

/* ---- series ---- */

static const struct fom bandwidth = {"bandwidth_gbyte_s", "GB/s", BETTER_HIGHER};
static const struct fom missing = {"missing_percent", "%", BETTER_NEITHER};

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

void topobw_series(const struct topobw *run, char *names, struct series_list *list) {
    for (int link = 0; link < run->plan.link_count; link++) {
        char *name = names + (size_t)link * LINK_NAME_BYTES;
        plan_link_name(&run->plan.links[link], name);
        /* Adds the link's rate of every round in which it was tested. */
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
        if (run->results[link].state != LINK_UNTESTED)
            series_add_one(list, link_series(run, link, missing, name), percent(run->results[link].missing));
    }
    for (int dimension = 0; dimension < TORUS_DIMENSIONS; dimension++) {
        if (run->plan.absent[dimension] > 0)
            series_add(list, (struct series){.fom = bandwidth,
                                             .label_count = 2,
                                             .labels = {{"dimension", run->plan.kinds[dimension], 0},
                                                        {"links", NULL, run->plan.absent[dimension]}},
                                             .reason = "links without a rank at both ends"});
    }
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
    json_key_text(json, "routes", topobw_routes[config->routes]);
    json_key_unsigned(json, "seed", config->stream.seed);
}

/* ---- verdict ---- */

/* 0 is "not known". */
static void write_known(struct json *json, const char *key, double value) {
    json_key_double(json, key, value > 0 ? value : (double)NAN);
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
    json_key_array(json, "pairs");
    for (int k = 0; k < tested->sharers; k++) {
        const struct transfer *transfer = &document->run->plan.transfers[tested->first_transfer + k];
        json_object(json);
        json_key_text(json, "from", evidence_host_of(document->evidence, transfer->from_rank));
        json_key_text(json, "to", evidence_host_of(document->evidence, transfer->to_rank));
        json_object_end(json);
    }
    json_array_end(json);
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
    /* The links of a finding: of a bad link or cable no others that only met it. */
    char name[LINK_NAME_BYTES];
    enum component component = document->run->findings[finding].component;
    bool all = component != COMPONENT_LINK && component != COMPONENT_CABLE;
    json_key_array(json, "links");
    for (int link = 0; link < document->run->plan.link_count; link++)
        if (document->run->explained_by[link] == finding &&
            (all || document->run->results[link].state != LINK_EXPLAINED)) {
            plan_link_name(&document->run->plan.links[link], name);
            json_text(json, name);
        }
    json_array_end(json);
    json_key_text(json, "text", text);
    json_object_end(json);
}

void topobw_write_verdict(struct json *json, const void *context) {
    const struct topobw_document *document = context;
    const struct topobw *run = document->run;
    json_key_object(json, "verdict");
    json_key_text(json, "status", topobw_status(run));
    json_key_object(json, "unseen_percent");
    for (int dimension = 0; dimension < TORUS_DIMENSIONS; dimension++)
        if (most_unseen(run, dimension) > 0)
            json_key_double(json, run->plan.kinds[dimension], percent(most_unseen(run, dimension)));
    json_object_end(json);
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
