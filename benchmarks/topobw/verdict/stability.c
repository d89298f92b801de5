/* Counts dips of links; see stability.h. */
#include "topobw/verdict/stability.h"

#include "lib/run/check.h"
#include "topobw/verdict/verdict.h"

#include <math.h>
#include <stdlib.h>

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
    return count < PEERS_MIN ? 0 : verdict_median(values, count);
}

static void add_round(struct link_rounds *of_link, double ratio) {
    of_link->rounds++;
    of_link->dips += ratio <= 1 - DIP_PERCENT / 100.0;
    of_link->lowest = fmin(of_link->lowest, ratio);
}

void stability_add(struct stability *stability, const double *rates) {
    double *values = check_alloc((size_t)stability->links, sizeof *values);
    for (int group = 0; group < stability->links; group++) {
        double median = stability->group[group] == group ? group_median(stability, group, rates, values) : 0;
        for (int link = group; median > 0 && link < stability->links; link++)
            if (stability->group[link] == group && rates[link] > 0)
                add_round(&stability->of_link[link], rates[link] / median);
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
