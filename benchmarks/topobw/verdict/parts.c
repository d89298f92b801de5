/* Explains bad tests of a listed plan by parts; see parts.h. */
#include "topobw/verdict/parts.h"

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

/* Returns whether a test is good. A disturbed test clears no part. */
static bool is_good(const struct link_result *result) {
    return result->state != LINK_UNTESTED && !result->slow && !verdict_is_bad(result);
}

static bool is_cleared(const struct search *search, const char *part) {
    for (int link = 0; link < search->plan->link_count; link++)
        if (is_good(&search->results[link]) && listed_has(search->plan->links[link].listed->parts, part))
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

/* Returns whether the part may be what packets go round. */
static bool may_be_dead(const struct search *search, const char *part) {
    return strncmp(part, node_prefix, strlen(node_prefix)) != 0 && !is_crossed(search, part);
}

static bool is_open(const struct search *search, int link) {
    return verdict_is_bad(&search->results[link]) && search->explained_by[link] < 0;
}

static int weight(const struct search *search, int link, const char *part, bool dead) {
    const struct listed_test *test = search->plan->links[link].listed;
    if (!is_open(search, link) || (search->results[link].state == LINK_DETOUR && !dead))
        return 0;
    return listed_has(test->parts, part) ? FULL : listed_has(test->crossed, part) ? CROSSED : 0;
}

static int weights(const struct search *search, const char *part) {
    bool dead = may_be_dead(search, part);
    int sum = 0;
    for (int link = 0; link < search->plan->link_count; link++)
        sum += weight(search, link, part, dead);
    return sum;
}

/* Returns the part after a comma of a list, to be freed; *end is the next comma. */
static char *next_part(const char *comma, const char **end) {
    *end = strchr(comma + 1, ',');
    size_t length = (size_t)(*end - comma - 1);
    char *part = check_alloc(length + 1, 1);
    memcpy(part, comma + 1, length);
    return part;
}

static void consider(const struct search *search, const char *list, char **best, int *most) {
    const char *end = NULL;
    for (const char *comma = list; comma[1]; comma = end) {
        char *part = next_part(comma, &end);
        int sum = weights(search, part);
        bool better = sum > *most && !is_cleared(search, part);
        if (better) {
            free(*best);
            *best = part;
            *most = sum;
        } else {
            free(part);
        }
    }
}

/* Returns the part that explains most of the open tests, to be freed; NULL if there is none. */
static char *find_part(const struct search *search) {
    char *best = NULL;
    int most = 0;
    for (int link = 0; link < search->plan->link_count; link++)
        if (is_open(search, link)) {
            consider(search, search->plan->links[link].listed->parts, &best, &most);
            consider(search, search->plan->links[link].listed->crossed, &best, &most);
        }
    return best;
}

bool parts_is_own(const struct listed_test *test, const char *part) {
    return strcmp(test->name, part) == 0 || listed_is_reverse(test->name, part);
}

/* Returns the finding of a part's other direction, or a new one. */
static struct finding *find_finding(struct search *search, char *part) {
    for (int i = 0; part && i < search->count; i++)
        if (search->findings[i].part && listed_is_reverse(search->findings[i].part, part)) {
            search->findings[i].component = COMPONENT_CABLE;
            free(part);
            return &search->findings[i];
        }
    struct finding *finding = &search->findings[search->count++];
    *finding = (struct finding){.component = COMPONENT_LINK, .rank = -1, .part = part};
    if (part && strncmp(part, node_prefix, strlen(node_prefix)) == 0)
        finding->component = COMPONENT_NODE;
    return finding;
}

static void add_finding(struct search *search, char *part, int only) {
    bool dead = part && may_be_dead(search, part);
    bool *open = check_alloc((size_t)search->plan->link_count, sizeof *open);
    for (int link = 0; link < search->plan->link_count; link++)
        open[link] = link == only || (part && weight(search, link, part, dead) > 0);
    struct finding *finding = find_finding(search, part);
    for (int link = 0; link < search->plan->link_count; link++)
        if (open[link]) {
            const struct listed_test *test = search->plan->links[link].listed;
            if (finding->links++ == 0 || (finding->part && strcmp(test->name, finding->part) == 0))
                finding->link = link;
            search->explained_by[link] = (int)(finding - search->findings);
        }
    free(open);
}

static void find_missing(struct search *search, int number) {
    double *missing = check_alloc((size_t)search->plan->link_count, sizeof *missing);
    int count = 0;
    for (int link = 0; link < search->plan->link_count; link++)
        if (search->explained_by[link] == number)
            missing[count++] = search->results[link].missing;
    search->findings[number].missing = verdict_median(missing, count);
    free(missing);
}

struct finding *parts_blame(const struct plan *plan, const struct link_result *results,
                            const char *const *ways, int *count, int *explained_by) {
    struct search search = {.plan = plan, .results = results, .ways = ways, .explained_by = explained_by};
    search.findings = check_alloc((size_t)plan->link_count, sizeof *search.findings);
    for (int link = 0; link < plan->link_count; link++)
        explained_by[link] = -1;
    for (char *part = find_part(&search); part; part = find_part(&search))
        add_finding(&search, part, -1);
    for (int link = 0; link < plan->link_count; link++)
        if (is_open(&search, link))
            add_finding(&search, NULL, link);
    for (int finding = 0; finding < search.count; finding++)
        find_missing(&search, finding);
    *count = search.count;
    return search.findings;
}
