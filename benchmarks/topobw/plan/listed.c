/* Reads "test PHASE CLASS RATE ROUTERS NAME PAIRS PARTS CROSSED" lines; see listed.h. */
#include "topobw/plan/listed.h"

#include "lib/input/parse.h"
#include "lib/input/textfile.h"
#include "lib/run/check.h"
#include "topobw/plan/phases.h"

#include <stdlib.h>
#include <string.h>

static bool find_kind(struct listed *listed, const char *link_class, int *kind) {
    for (*kind = 0; *kind < listed->kind_count; ++*kind)
        if (strcmp(listed->kinds[*kind], link_class) == 0)
            return true;
    if (listed->kind_count == KINDS_MAX)
        return false;
    listed->kinds[listed->kind_count++] = link_class;
    return true;
}

static bool is_list(const char *text) {
    size_t length = text ? strlen(text) : 0;
    return length > 0 && text[0] == ',' && text[length - 1] == ',';
}

bool listed_read(char *rest, struct listed *listed) {
    struct listed_test test = {0};
    if (!textfile_integer(&rest, 0, PHASES_MAX - 1, &test.phase))
        return false;
    test.rate.link_class = textfile_word(&rest);
    const char *rate = textfile_word(&rest);
    if (!rate || !parse_positive(rate, &test.rate.rate_gbyte_s) ||
        !textfile_integer(&rest, 0, 63, &test.routers))
        return false;
    test.name = textfile_word(&rest);
    test.pairs = textfile_word(&rest);
    test.parts = textfile_word(&rest);
    test.crossed = textfile_word(&rest);
    if (!is_list(test.parts) || !is_list(test.crossed) || textfile_word(&rest) ||
        !find_kind(listed, test.rate.link_class, &test.kind))
        return false;
    listed->tests = check_grow(listed->tests, listed->count, &listed->room, sizeof test);
    listed->tests[listed->count++] = test;
    return true;
}

bool listed_has(const char *list, const char *part) {
    size_t length = strlen(part);
    for (const char *at = strstr(list, part); at; at = strstr(at + 1, part))
        if (at > list && at[-1] == ',' && at[length] == ',')
            return true;
    return false;
}

void listed_free(struct listed *listed) {
    free(listed->tests);
}
