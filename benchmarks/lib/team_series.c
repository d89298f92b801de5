/* Series of a team; see team_series.h. */
#include "lib/team_series.h"

static const char *const team_foms[LANE_TESTS] = {"slowest_latency_us", "aggregate_bandwidth_gbyte_s",
                                                  "aggregate_bandwidth_gbyte_s"};
static const char *const pair_foms[LANE_TESTS] = {"pair_latency_us", "pair_bandwidth_gbyte_s",
                                                  "pair_bandwidth_gbyte_s"};

static void add_label(struct series *series, const char *name, const char *text, int64_t number) {
    series->labels[series->label_count++] = (struct label){name, text, number};
}

static struct series labelled(int test, const struct label *labels, int label_count) {
    struct series series = {.fom = team_foms[test]};
    add_label(&series, "test", lane_tests()[test].name, 0);
    for (int i = 0; i < label_count; i++)
        series.labels[series.label_count++] = labels[i];
    return series;
}

static void add_pair(const struct team *team, int pair, bool ranks, const struct evidence_list *evidence,
                     struct series series, struct series_list *list) {
    series.detail = true;
    add_label(&series, "from", evidence->of_rank[team->from[pair]].host, 0);
    add_label(&series, "to", evidence->of_rank[team->to[pair]].host, 0);
    if (ranks) {
        add_label(&series, "from_rank", NULL, team->from[pair]);
        add_label(&series, "to_rank", NULL, team->to[pair]);
    }
    series_add(list, series);
}

void team_series(const struct team *team, const struct team_result *result, const struct lane_config *config,
                 const struct label *labels, int label_count, bool ranks,
                 const struct evidence_list *evidence, struct series_list *list) {
    for (int i = 0; i < result->points; i++) {
        const struct lane_point *point = &result->point[i];
        struct series series = labelled(point->test, labels, label_count);
        add_label(&series, "size_bytes", NULL, (int64_t)point->bytes);
        series.count = result->count[i];
        series.samples = team_totals(result, config, i);
        series_add(list, series);
        series.fom = pair_foms[point->test];
        for (int pair = 0; pair < team->pairs; pair++) {
            series.samples = team_values(result, config, pair, i);
            add_pair(team, pair, ranks, evidence, series, list);
        }
    }
}

void team_missing(const struct lane_config *config, const struct label *labels, int label_count,
                  const char *reason, struct series_list *list) {
    for (int test = 0; test < LANE_TESTS; test++)
        if (config->points.tests[test]) {
            struct series series = labelled(test, labels, label_count);
            series.reason = reason;
            series_add(list, series);
        }
}
