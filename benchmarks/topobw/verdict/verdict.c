/* Judges links; see verdict.h. */
#include "topobw/verdict/verdict.h"

#include "lib/run/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double normal_scale = 1.4826; /* MAD to standard deviation, were the values normal */

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double verdict_median(double *values, int count) {
    if (count == 0)
        return 0;
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

const char *verdict_name(enum link_state state) {
    static const char *const names[] = {"sound",    "slow",      "detour",     "no answer", "not tested",
                                        "unstable", "disturbed", "not judged", "explained"};
    return names[state];
}

bool verdict_is_bad(const struct link_result *result) {
    return result->bad;
}

static bool has_rate(const struct link_result *result) {
    return result->seconds > 0 && isfinite(result->seconds);
}

/* ---- expectation ---- */

double verdict_limit(const struct verdict_config *config, const struct tested_link *link) {
    double hosts = config->host_gbyte_s * link->sharers;
    if (!link->rate)
        return 0;
    return link->rate->rate_gbyte_s < hosts ? link->rate->rate_gbyte_s : hosts;
}

/* The median over links of measured rate / limit. */
static double usual_factor(const struct verdict_config *config, const struct plan *plan,
                           const struct link_result *results) {
    double *ratios = check_alloc((size_t)plan->link_count, sizeof *ratios);
    int count = 0;
    for (int i = 0; i < plan->link_count; i++) {
        double limit = verdict_limit(config, &plan->links[i]);
        if (limit > 0 && has_rate(&results[i]))
            ratios[count++] = results[i].rate_gbyte_s / limit;
    }
    double factor = verdict_median(ratios, count);
    free(ratios);
    return factor;
}

/* ---- peers ---- */

/* Links of one cable class between them are tested by two phases: even plus and odd minus, or the others. */
static int cable_parity(const struct tested_link *link) {
    enum phase phase = (enum phase)(link->phase % PHASES_PER_RING);
    return phase == PHASE_EVEN_PLUS || phase == PHASE_ODD_MINUS ? 0 : 1;
}

static bool same_make(const struct tested_link *one, const struct tested_link *other) {
    if (one->rate && other->rate)
        return one->rate->rate_gbyte_s == other->rate->rate_gbyte_s &&
               strcmp(one->rate->link_class, other->rate->link_class) == 0;
    return one->dimension == other->dimension && cable_parity(one) == cable_parity(other);
}

static bool are_peers(const struct tested_link *one, const struct tested_link *other) {
    return same_make(one, other) && one->sharers == other->sharers;
}

/* The links of one group: those that are peers of the first of it. */
struct group {
    int count;
    int *links;
    double *values;
};

static void compare_with_peers(const struct verdict_config *config, struct group *group,
                               struct link_result *results) {
    for (int i = 0; i < group->count; i++)
        group->values[i] = results[group->links[i]].rate_gbyte_s;
    double median = verdict_median(group->values, group->count);
    for (int i = 0; i < group->count; i++)
        group->values[i] = fabs(results[group->links[i]].rate_gbyte_s - median);
    double deviation = normal_scale * verdict_median(group->values, group->count);
    double margin = fmax(config->tolerance * median, PEER_DEVIATIONS * deviation);
    for (int i = 0; i < group->count; i++) {
        struct link_result *result = &results[group->links[i]];
        result->peers_gbyte_s = median;
        result->least_gbyte_s = median - margin;
    }
}

void verdict_groups(const struct plan *plan, int *group) {
    for (int link = 0; link < plan->link_count; link++)
        group[link] = -1;
    for (int first = 0; first < plan->link_count; first++) {
        if (group[first] >= 0)
            continue;
        for (int i = first; i < plan->link_count; i++)
            if (group[i] < 0 && are_peers(&plan->links[first], &plan->links[i]))
                group[i] = first;
    }
}

static void judge_by_peers(const struct verdict_config *config, const struct plan *plan,
                           struct link_result *results) {
    size_t room = (size_t)plan->link_count;
    int *first_of = check_alloc(room, sizeof *first_of);
    struct group group = {.links = check_alloc(room, sizeof(int)),
                          .values = check_alloc(room, sizeof(double))};
    verdict_groups(plan, first_of);
    for (int first = 0; first < plan->link_count; first++) {
        group.count = 0;
        for (int i = first; first_of[first] == first && i < plan->link_count; i++)
            if (first_of[i] == first && has_rate(&results[i]))
                group.links[group.count++] = i;
        if (group.count >= PEERS_MIN)
            compare_with_peers(config, &group, results);
    }
    free(first_of);
    free(group.values);
    free(group.links);
}

/* ---- the whole ---- */

static double reference_of(const struct link_result *result) {
    return fmax(result->expected_gbyte_s, result->peers_gbyte_s);
}

static void judge_link(const struct verdict_config *config, struct link_result *result) {
    double expected = (1 - EXPECTATION_TOLERANCES * config->tolerance) * result->expected_gbyte_s;
    double least = fmax(result->least_gbyte_s, expected);
    result->slow = result->rate_gbyte_s < least;
    result->proven = result->slow && result->possible_gbyte_s < least;
    if (result->way == WAY_UNSEEN)
        result->state = LINK_UNJUDGED;
    if (result->slow)
        result->state = result->proven ? LINK_SLOW : LINK_DISTURBED;
    if (result->way == WAY_OTHER)
        result->state = LINK_DETOUR;
    if (isinf(result->seconds))
        result->state = LINK_SILENT;
    if (result->seconds == 0)
        result->state = LINK_UNTESTED;
    result->bad = result->state == LINK_SLOW || result->state == LINK_SILENT || result->state == LINK_DETOUR;
    if (verdict_is_bad(result) && reference_of(result) > 0)
        result->missing = fmax(0, 1 - result->rate_gbyte_s / reference_of(result));
}

double verdict_judge(const struct verdict_config *config, const struct plan *plan,
                     struct link_result *results) {
    double factor = config->factor > 0 ? config->factor : usual_factor(config, plan, results);
    for (int i = 0; i < plan->link_count; i++) {
        results[i].expected_gbyte_s = factor * verdict_limit(config, &plan->links[i]);
        results[i].peers_gbyte_s = 0;
        results[i].least_gbyte_s = 0;
        results[i].missing = 0;
        results[i].state = LINK_SOUND;
    }
    judge_by_peers(config, plan, results);
    for (int i = 0; i < plan->link_count; i++)
        judge_link(config, &results[i]);
    return factor;
}
