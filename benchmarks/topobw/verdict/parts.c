/* Explains bad tests of a listed plan by parts; see parts.h. */
#include "topobw/verdict/parts.h"

#include "lib/measure/sampling.h"
#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough for every part's weight: tests loaded in full count for a little more than those crossed. */
enum { FULL = 17, CROSSED = 16 };

static const char node_prefix[] = "node:";

struct search {
    const struct plan *plan;
    const struct link_result *results;
    const char *const *ways;
    int *explained_by;
    int count;
    struct finding *findings;
};

static bool is_cleared(const struct search *search, const char *part) {
    for (int link = 0; link < search->plan->link_count; link++)
        if ((search->results[link].state != LINK_UNTESTED && !search->results[link].slow &&
             !search->results[link].bad) &&
            listed_has(search->plan->links[link].listed->parts, part))
            return true;
    return false;
}

/* Returns whether the way of any test crosses the part, which is then alive. */
static bool is_crossed(const struct search *search, const char *part) {
    for (int t = 0; t < search->plan->transfer_count; t++)
        if (search->ways[t] && listed_crosses(search->ways[t], part))
            return true;
    return false;
}

static bool is_link(const char *part) {
    return strncmp(part, node_prefix, strlen(node_prefix)) != 0;
}

/* Returns whether the part may be what packets go round. */
static bool may_be_dead(const struct search *search, const char *part) {
    return is_link(part) && !is_crossed(search, part);
}

static bool is_open(const struct search *search, int link) {
    return search->results[link].bad && search->explained_by[link] < 0;
}

static int weight(const struct search *search, int link, const char *part, bool dead) {
    const struct listed_test *test = search->plan->links[link].listed;
    if (!is_open(search, link) || (search->results[link].state == LINK_DETOUR && !dead))
        return 0;
    return listed_has(test->parts, part) ? FULL : listed_has(test->crossed, part) ? CROSSED : 0;
}

/* Returns the part after a comma of a list, to be freed; *end is the next comma. */
static char *next_part(const char *comma, const char **end) {
    *end = strchr(comma + 1, ',');
    size_t length = (size_t)(*end - comma - 1);
    char *part = check_alloc(length + 1, 1);
    memcpy(part, comma + 1, length);
    return part;
}

static bool is_back(const struct search *search, const char *part) {
    for (int i = 0; i < search->count; i++)
        if (search->findings[i].part && listed_is_reverse(search->findings[i].part, part))
            return true;
    return false;
}

/* Returns whether two parts explain the same tests. */
static bool explain_alike(const struct search *search, const char *part, const char *other) {
    bool dead = may_be_dead(search, part);
    bool other_dead = may_be_dead(search, other);
    for (int link = 0; link < search->plan->link_count; link++)
        if ((weight(search, link, part, dead) > 0) != (weight(search, link, other, other_dead) > 0))
            return false;
    return true;
}

/* Returns whether the test of the very part is bad and not explained, as that of a slow link would be. */
static bool has_own_test(const struct search *search, const char *part) {
    for (int link = 0; link < search->plan->link_count; link++)
        if (is_open(search, link) && strcmp(search->plan->links[link].listed->name, part) == 0)
            return true;
    return false;
}

/* Takes the part that explains more than the best. Of two links that explain the same tests it takes the
 * other direction of a cable that was found, or the one whose own test is among them, and *other is the
 * other. */
static void consider(const struct search *search, const char *list, char **best, char **other, int *most) {
    const char *end = NULL;
    for (const char *comma = list; comma[1]; comma = end) {
        char *part = next_part(comma, &end);
        bool dead = may_be_dead(search, part);
        int sum = 0;
        for (int link = 0; link < search->plan->link_count; link++)
            sum += weight(search, link, part, dead);
        bool ties = sum == *most && *best && is_link(part) && is_link(*best) && strcmp(part, *best) != 0 &&
                    explain_alike(search, part, *best);
        if ((sum <= *most && !ties) || is_cleared(search, part)) {
            free(part);
            continue;
        }
        bool wins = sum > *most || is_back(search, part) ||
                    (!is_back(search, *best) && has_own_test(search, part) && !has_own_test(search, *best));
        free(*other);
        *other = ties && wins ? *best : ties ? part : NULL;
        if (!wins)
            continue;
        if (!ties)
            free(*best);
        *best = part;
        *most = sum;
    }
}

/* Returns the part that explains most of the open tests, or of detours, to be freed as *other; NULL if there
 * is none. */
static char *find_part(const struct search *search, bool of_detours, char **other) {
    char *best = NULL;
    int most = 0;
    *other = NULL;
    for (int link = 0; link < search->plan->link_count; link++)
        if (is_open(search, link) && (!of_detours || search->results[link].state == LINK_DETOUR)) {
            const struct listed_test *test = search->plan->links[link].listed;
            consider(search, test->parts, &best, other, &most);
            consider(search, test->crossed, &best, other, &most);
        }
    return best;
}

bool parts_is_own(const struct listed_test *test, const char *part) {
    return strcmp(test->name, part) == 0 || listed_is_reverse(test->name, part);
}

/* Returns the finding of a part's other direction, or a new one. */
static struct finding *find_finding(struct search *search, char *part, char *other) {
    for (int i = 0; part && i < search->count; i++)
        if (search->findings[i].part && listed_is_reverse(search->findings[i].part, part)) {
            search->findings[i].component = COMPONENT_CABLE;
            free(part);
            free(other);
            return &search->findings[i];
        }
    struct finding *finding = &search->findings[search->count++];
    *finding = (struct finding){.component = COMPONENT_LINK, .rank = -1, .part = part, .other = other};
    if (part && strncmp(part, node_prefix, strlen(node_prefix)) == 0)
        finding->component = COMPONENT_NODE;
    return finding;
}

static void add_finding(struct search *search, char *part, char *other, int only) {
    bool dead = part && may_be_dead(search, part);
    bool *open = check_alloc((size_t)search->plan->link_count, sizeof *open);
    for (int link = 0; link < search->plan->link_count; link++)
        open[link] = link == only || (part && weight(search, link, part, dead) > 0);
    struct finding *finding = find_finding(search, part, other);
    for (int link = 0; link < search->plan->link_count; link++)
        if (open[link]) {
            const struct listed_test *test = search->plan->links[link].listed;
            if (finding->links++ == 0 || (finding->part && strcmp(test->name, finding->part) == 0))
                finding->link = link;
            search->explained_by[link] = (int)(finding - search->findings);
        }
    free(open);
}

/* Returns whether two tests were in one phase, and the way of the other has a link in common with that of the
 * one or of its answers, which wait behind the other's data. */
static bool have_met(const struct search *search, int link, int other) {
    const struct tested_link *one = &search->plan->links[link], *two = &search->plan->links[other];
    for (int k = 0; one->phase == two->phase && k < one->sharers * two->sharers; k++) {
        int transfer = one->first_transfer + k % one->sharers;
        const char *way = search->ways[transfer];
        const char *back = search->ways[search->plan->transfer_count + transfer];
        const char *met = search->ways[two->first_transfer + k / one->sharers];
        if (met && ((way && listed_have_met(way, met)) || (back && listed_have_met(back, met))))
            return true;
    }
    return false;
}

/* A detour loads links that other tests measure at the same time. */
static void explain_met(struct search *search) {
    for (int link = 0; link < search->plan->link_count; link++)
        for (int other = 0; is_open(search, link) && other < search->plan->link_count; other++)
            if (search->results[other].state == LINK_DETOUR && search->explained_by[other] >= 0 &&
                have_met(search, link, other)) {
                search->explained_by[link] = search->explained_by[other];
                search->findings[search->explained_by[link]].links++;
            }
}

static void find_missing(struct search *search, int number) {
    double *missing = check_alloc((size_t)search->plan->link_count, sizeof *missing);
    int count = 0;
    for (int link = 0; link < search->plan->link_count; link++)
        if (search->explained_by[link] == number)
            missing[count++] = search->results[link].missing;
    search->findings[number].missing = sampling_median(missing, count);
    free(missing);
}

struct finding *parts_blame(const struct plan *plan, const struct link_result *results,
                            const char *const *ways, int *count, int *explained_by) {
    struct search search = {.plan = plan, .results = results, .ways = ways, .explained_by = explained_by};
    search.findings = check_alloc((size_t)plan->link_count, sizeof *search.findings);
    for (int link = 0; link < plan->link_count; link++)
        explained_by[link] = -1;
    for (int detours = 1; detours >= 0; detours--) {
        char *other;
        for (char *part; (part = find_part(&search, detours, &other)) != NULL;)
            add_finding(&search, part, other, -1);
        explain_met(&search);
    }
    for (int link = 0; link < plan->link_count; link++)
        if (is_open(&search, link))
            add_finding(&search, NULL, NULL, link);
    for (int finding = 0; finding < search.count; finding++)
        find_missing(&search, finding);
    *count = search.count;
    return search.findings;
}
