/* Series of a set of pairs; see series.h. */
#include "pt2pt/series.h"

#include "lib/run/check.h"

#include <math.h>
#include <stdlib.h>

/* Returns the mean over all pairs for each sample. */
static double *mean_values(const struct team *team, const struct team_result *result,
                           const struct engine_config *config, int point) {
    double *values = check_alloc((size_t)result->count[point], sizeof *values);
    for (int i = 0; i < result->count[point]; i++)
        values[i] = point_value(config, &result->point[point], result->whole[point][i].sum_s / team->pairs);
    return values;
}

static void add_ends(const struct set *set, int pair, const struct evidence_list *evidence,
                     struct series *series) {
    const struct pair *ends = &set->team.pair[pair];
    series_label(series, "from", evidence_host_of(evidence, ends->from), 0);
    series_label(series, "to", evidence_host_of(evidence, ends->to), 0);
    if (set->ranks) {
        series_label(series, "from_rank", NULL, ends->from);
        series_label(series, "to_rank", NULL, ends->to);
    }
}

static struct series labelled(const struct set *set, const struct figure *figure) {
    struct series series = {0};
    series_label(&series, "test", figure->name, 0);
    for (int i = 0; i < set->label_count; i++)
        series_label(&series, set->labels[i].name, set->labels[i].text, set->labels[i].number);
    return series;
}

/* Returns a FOM of a figure. Times are better if lower, rates if higher. */
static struct fom fom_of(const struct figure *figure, const char *name) {
    return (struct fom){name, figure->unit, figure->directions ? BETTER_HIGHER : BETTER_LOWER};
}

/* Samples shorter than the clock can measure are replaced by a reason. */
static void add(struct series_list *list, struct series series, struct fom fom, double *samples) {
    series.fom = fom;
    series.samples = samples;
    if (series.reason) {
        free(samples);
        series.samples = NULL;
        series.count = 0;
    }
    series_add(list, series);
}

/* Adds the percentage of the samples that the clock cannot measure, if there are any; the reason takes the
 * place of the series' other figures. */
static void refuse_short(double percent, struct series *series, struct series_list *list) {
    struct series of_percent = *series;
    if (percent <= 0)
        return;
    double *sample = check_alloc(1, sizeof *sample);
    *sample = percent;
    of_percent.count = 1;
    add(list, of_percent, (struct fom){"under_sampled_percent", "%", BETTER_NEITHER}, sample);
    series->reason =
        "a sample is shorter than 100 ticks of the clock; expected a larger --batch, --windows or "
        "--min-time-per-point";
}

static void add_pairs(const struct set *set, const struct team_result *result,
                      const struct engine_config *config, int point, const struct evidence_list *evidence,
                      const struct series *point_series, struct series_list *list) {
    const struct figure *figure = &figures[result->point[point].figure];
    for (int pair = 0; result->pair_s[point] && pair < set->team.pairs; pair++) {
        struct series series = *point_series;
        series.detail = true;
        add_ends(set, pair, evidence, &series);
        int count = result->count[point];
        double *values = check_alloc((size_t)count, sizeof *values);
        for (int i = 0; i < count; i++)
            values[i] = point_value(config, &result->point[point],
                                    result->pair_s[point][(size_t)pair * (size_t)count + (size_t)i]);
        add(list, series, fom_of(figure, figure->pair_fom), values);
    }
}

static void add_team(const struct set *set, const struct team_result *result,
                     const struct engine_config *config, int point, const struct series *series,
                     struct series_list *list) {
    const struct figure *figure = &figures[result->point[point].figure];
    add(list, *series, fom_of(figure, figure->whole_fom),
        team_whole_values(&set->team, result, config, point));
    if (figure->mean_fom)
        add(list, *series, fom_of(figure, figure->mean_fom), mean_values(&set->team, result, config, point));
    if (figure->share <= 0) {
        /* Percent of each sample in which all pairs were active. */
        double *values = check_alloc((size_t)result->count[point], sizeof *values);
        for (int i = 0; i < result->count[point]; i++) {
            const struct whole *whole = &result->whole[point][i];
            double together_s = fmax(0, whole->first_end_s - whole->last_start_s);
            double whole_s = whole->last_end_s - whole->first_start_s;
            values[i] = whole_s > 0 ? 100 * together_s / whole_s : 100;
        }
        add(list, *series, (struct fom){"overlap_percent", "%", BETTER_NEITHER}, values);
    }
}

void series_of_set(const struct set *set, const struct team_result *result,
                   const struct engine_config *config, const struct evidence_list *evidence,
                   struct series_list *list) {
    for (int i = 0; i < result->points; i++) {
        const struct figure *figure = &figures[result->point[i].figure];
        struct series series = labelled(set, figure);
        series.count = result->count[i];
        if (set->alone)
            add_ends(set, 0, evidence, &series);
        series_label(&series, "size_bytes", NULL, (int64_t)result->point[i].bytes);
        refuse_short(team_short_percent(result, i), &series, list);
        if (set->alone)
            add(list, series, fom_of(figure, figure->fom), mean_values(&set->team, result, config, i));
        else
            add_team(set, result, config, i, &series, list);
        if (!set->alone && !series.reason)
            add_pairs(set, result, config, i, evidence, &series, list);
    }
}

void series_over_sets(const struct set *set, const struct point *point, double *samples, int count,
                      double short_percent, struct series_list *list) {
    const struct figure *figure = &figures[point->figure];
    struct series series = labelled(set, figure);
    series.count = count;
    series_label(&series, "size_bytes", NULL, (int64_t)point->bytes);
    refuse_short(short_percent, &series, list);
    add(list, series, fom_of(figure, figure->whole_fom), samples);
}

void series_missing(const struct set *set, const struct engine_config *config, struct series_list *list) {
    for (int f = 0; f < FIGURES; f++)
        if (config->points.tests[figures[f].test]) {
            struct series series = labelled(set, &figures[f]);
            series.reason = set->reason;
            series.fom = fom_of(&figures[f], set->alone ? figures[f].fom : figures[f].whole_fom);
            series_add(list, series);
        }
}
