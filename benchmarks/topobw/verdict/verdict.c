/* Judges links; see verdict.h. */
#include "topobw/verdict/verdict.h"

#include "lib/measure/sampling.h"
#include "lib/run/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double normal_scale = 1.4826; /* MAD to standard deviation, were the values normal */

const char *verdict_name(enum link_state state) {
    static const char *const names[] = {"sound",    "slow",      "detour",     "no answer", "not tested",
                                        "unstable", "disturbed", "not judged", "explained"};
    return names[state];
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
    double factor = sampling_median(ratios, count);
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

/* The links of one group: those that are peers of the first of it. */
struct group {
    int count;
    int *links;
    double *values;
};

void verdict_groups(const struct plan *plan, int *group) {
    for (int link = 0; link < plan->link_count; link++)
        group[link] = -1;
    for (int first = 0; first < plan->link_count; first++) {
        if (group[first] >= 0)
            continue;
        for (int i = first; i < plan->link_count; i++)
            if (group[i] < 0 && (same_make(&plan->links[first], &plan->links[i]) &&
                                 plan->links[first].sharers == plan->links[i].sharers))
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
        if (group.count >= PEERS_MIN) {
            for (int i = 0; i < group.count; i++)
                group.values[i] = results[group.links[i]].rate_gbyte_s;
            double median = sampling_median(group.values, group.count);
            for (int i = 0; i < group.count; i++)
                group.values[i] = fabs(results[group.links[i]].rate_gbyte_s - median);
            double deviation = normal_scale * sampling_median(group.values, group.count);
            double margin = fmax(config->tolerance * median, PEER_DEVIATIONS * deviation);
            for (int i = 0; i < group.count; i++) {
                struct link_result *result = &results[group.links[i]];
                result->peers_gbyte_s = median;
                result->least_gbyte_s = median - margin;
            }
        }
    }
    free(first_of);
    free(group.values);
    free(group.links);
}

/* ---- the whole ---- */

static double reference_of(const struct link_result *result) {
    return fmax(result->expected_gbyte_s, result->peers_gbyte_s);
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
    for (int i = 0; i < plan->link_count; i++) {
        double expected = (1 - EXPECTATION_TOLERANCES * config->tolerance) * results[i].expected_gbyte_s;
        double least = fmax(results[i].least_gbyte_s, expected);
        results[i].slow = results[i].rate_gbyte_s < least;
        results[i].proven = results[i].slow && results[i].possible_gbyte_s < least;
        if (results[i].way == WAY_UNSEEN)
            results[i].state = LINK_UNJUDGED;
        if (results[i].slow)
            results[i].state = results[i].proven ? LINK_SLOW : LINK_DISTURBED;
        if (results[i].way == WAY_OTHER)
            results[i].state = LINK_DETOUR;
        if (isinf(results[i].seconds))
            results[i].state = LINK_SILENT;
        if (results[i].seconds == 0)
            results[i].state = LINK_UNTESTED;
        results[i].bad = results[i].state == LINK_SLOW || results[i].state == LINK_SILENT ||
                         results[i].state == LINK_DETOUR;
        if (results[i].bad && reference_of(&results[i]) > 0)
            results[i].missing = fmax(0, 1 - results[i].rate_gbyte_s / reference_of(&results[i]));
    }
    return factor;
}

/* ---- readings ---- */

static const double error_chance = 1e-3;

double readings_shortest(const double *seconds, int count) {
    double fastest = INFINITY;
    double sum = 0;
    for (int i = 0; i < count; i++) {
        fastest = fmin(fastest, seconds[i]);
        sum += seconds[i];
    }
    if (count < 2 || isinf(sum))
        return fastest;
    double degrees = count - 1; /* half of those of F's denominator */
    double quantile = degrees * (pow(error_chance, -1 / degrees) - 1);
    double excess = (sum - count * fastest) / degrees;
    return fmax(fastest - quantile * excess / count, 1e-3 * fastest);
}

/* ---- stability ---- */

struct stability stability_make(const struct plan *plan) {
    size_t room = (size_t)plan->link_count;
    struct stability stability = {.links = plan->link_count,
                                  .group = check_alloc(room, sizeof *stability.group),
                                  .of_link = check_alloc(room, sizeof *stability.of_link)};
    verdict_groups(plan, stability.group);
    for (int link = 0; link < plan->link_count; link++)
        stability.of_link[link].lowest = 1;
    return stability;
}

void stability_free(struct stability *stability) {
    free(stability->group);
    free(stability->of_link);
}

/* The median of a group in this round; 0 with fewer than PEERS_MIN links. */
static double group_median(const struct stability *stability, int group, const double *rates,
                           double *values) {
    int count = 0;
    for (int link = group; link < stability->links; link++)
        if (stability->group[link] == group && rates[link] > 0)
            values[count++] = rates[link];
    return count < PEERS_MIN ? 0 : sampling_median(values, count);
}

void stability_add(struct stability *stability, const double *rates) {
    double *values = check_alloc((size_t)stability->links, sizeof *values);
    for (int group = 0; group < stability->links; group++) {
        double median = stability->group[group] == group ? group_median(stability, group, rates, values) : 0;
        for (int link = group; median > 0 && link < stability->links; link++)
            if (stability->group[link] == group && rates[link] > 0) {
                double ratio = rates[link] / median;
                stability->of_link[link].rounds++;
                stability->of_link[link].dips += ratio <= 1 - DIP_PERCENT / 100.0;
                stability->of_link[link].lowest = fmin(stability->of_link[link].lowest, ratio);
            }
    }
    free(values);
}

bool stability_is_unstable(const struct stability *stability, int link) {
    const struct link_rounds *own = &stability->of_link[link];
    double rounds = 0;
    double dips = 0;
    for (int i = 0; i < stability->links; i++)
        if (i != link && stability->group[i] == stability->group[link]) {
            rounds += stability->of_link[i].rounds;
            dips += stability->of_link[i].dips;
        }
    double usual = rounds > 0 ? dips / rounds * own->rounds : 0;
    return own->dips >= 2 && own->dips < own->rounds &&
           own->dips >= usual + DIP_DEVIATIONS * sqrt(fmax(usual, 0.25));
}
