/* Reads "host RATE", "link X+ x y z CLASS RATE" and "test PHASE CLASS RATE ROUTERS NAME PAIRS PARTS CROSSED"
 * lines; see linkrates.h. */
#include "topobw/plan/linkrates.h"

#include "lib/input/parse.h"
#include "lib/input/textfile.h"
#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIRECTIONS = 2 * TORUS_DIMENSIONS };

/* The position in the file, for messages. */
struct source {
    const char *path;
    int line;
};

static size_t slot_of(const int *extents, const int *coordinate, int dimension, int step) {
    return coordinates_index(extents, coordinate) * DIRECTIONS + (size_t)(2 * dimension + (step < 0));
}

static bool read_rate(char **rest, double *rate) {
    const char *word = textfile_word(rest);
    return word && parse_positive(word, rate);
}

/* "X+" to "Z-". */
static bool read_direction(char **rest, int *dimension, int *step) {
    const char *word = textfile_word(rest);
    if (!word || strlen(word) != 2 || word[0] < 'X' || word[0] > 'Z' || !strchr("+-", word[1]))
        return false;
    *dimension = word[0] - 'X';
    *step = word[1] == '+' ? 1 : -1;
    return true;
}

static bool read_coordinate(char **rest, const int *extents, int *coordinate) {
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        if (!textfile_integer(rest, 0, extents[d] - 1, &coordinate[d]))
            return false;
    return true;
}

static bool read_link(char *rest, struct link_rates *rates) {
    int coordinate[TORUS_DIMENSIONS];
    int dimension = 0;
    int step = 0;
    struct link_rate link = {0};
    if (!read_direction(&rest, &dimension, &step) || !read_coordinate(&rest, rates->extents, coordinate))
        return false;
    link.link_class = textfile_word(&rest);
    if (!link.link_class || !read_rate(&rest, &link.rate_gbyte_s) || textfile_word(&rest))
        return false;
    rates->of_link[slot_of(rates->extents, coordinate, dimension, step)] = link;
    return true;
}

static bool read_host(char *rest, struct link_rates *rates) {
    return read_rate(&rest, &rates->host_gbyte_s) && !textfile_word(&rest);
}

/* ---- individual tests ---- */

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

static bool read_test(char *rest, struct listed *listed) {
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

/* ---- the file ---- */

static void read_line(char *line, struct source source, struct link_rates *rates, struct problem *problem) {
    char *rest = line;
    const char *first = textfile_word(&rest);
    bool good = strcmp(first, "host") == 0   ? read_host(rest, rates)
                : strcmp(first, "link") == 0 ? read_link(rest, rates)
                : strcmp(first, "test") == 0 ? read_test(rest, &rates->listed)
                                             : false;
    if (!good)
        problem_set(
            problem,
            "--links %s: line %d: not valid; expected host RATE, link X+ x y z CLASS RATE (a router of "
            "the torus, "
            "X+ to Z-, rate in GB/s above 0), or test PHASE CLASS RATE ROUTERS NAME PAIRS PARTS CROSSED",
            source.path, source.line);
}

void link_rates_read(const char *path, const int *extents, struct link_rates *rates,
                     struct problem *problem) {
    size_t length = 0;
    struct source source = {.path = path};
    *rates = (struct link_rates){.text = textfile_load(path, "--links", &length, problem)};
    memcpy(rates->extents, extents, sizeof rates->extents);
    if (problem_is_set(problem))
        return;
    size_t routers = coordinates_routers(extents);
    rates->of_link = check_alloc(routers * DIRECTIONS, sizeof *rates->of_link);
    char *rest = rates->text;
    char *line;
    while (!problem_is_set(problem) && (line = textfile_line(&rest, &source.line)) != NULL)
        read_line(line, source, rates, problem);
    if (rates->host_gbyte_s <= 0)
        problem_set(problem, "--links %s: no line host RATE", path);
}

const struct link_rate *link_rate_of(const struct link_rates *rates, const int *coordinate, int dimension,
                                     int step) {
    if (!rates->of_link)
        return NULL;
    return &rates->of_link[slot_of(rates->extents, coordinate, dimension, step)];
}

void link_rates_free(struct link_rates *rates) {
    free(rates->listed.tests);
    free(rates->of_link);
    free(rates->text);
}

/* ---- parts and ways ---- */

bool listed_has(const char *list, const char *part) {
    size_t length = strlen(part);
    for (const char *at = strstr(list, part); at; at = strstr(at + 1, part))
        if (at > list && at[-1] == ',' && at[length] == ',')
            return true;
    return false;
}

/* Writes ">leaf0>spine1>" of the link up:leaf0>spine1; false for a part that is no link. A number after "#"
 * is of parallel cables, which have the same ends. */
static bool ends_of(const char *part, char *ends) {
    const char *link = part + strcspn(part, ":,");
    size_t length = *link == ':' ? strcspn(++link, "#@,") : 0;
    return memchr(link, '>', length) && snprintf(ends, PART_BYTES, ">%.*s>", (int)length, link) < PART_BYTES;
}

static bool lists_way(const char *list, const char *ends) {
    char of_part[PART_BYTES];
    for (const char *comma = list; comma && comma[1]; comma = strchr(comma + 1, ','))
        if (ends_of(comma + 1, of_part) && strcmp(of_part, ends) == 0)
            return true;
    return false;
}

/* Writes the next link of a way, ">leaf0>spine1>", and returns its end; NULL after the last. */
static const char *next_link(const char *from, char *ends) {
    const char *to = strchr(from + 1, '>');
    const char *end = to ? strchr(to + 1, '>') : NULL;
    if (end)
        (void)snprintf(ends, PART_BYTES, "%.*s", (int)(end + 1 - from), from);
    return end ? to : NULL;
}

bool listed_is_usual(const struct listed_test *test, const char *way) {
    char ends[PART_BYTES];
    for (const char *at = way; (at = next_link(at, ends));)
        if (!lists_way(test->parts, ends) && !lists_way(test->crossed, ends))
            return false;
    return true;
}

bool listed_have_met(const char *way, const char *other) {
    char ends[PART_BYTES];
    for (const char *at = way; (at = next_link(at, ends));)
        if (strstr(other, ends))
            return true;
    return false;
}

bool listed_crosses(const char *way, const char *part) {
    char ends[PART_BYTES];
    return ends_of(part, ends) && strstr(way, ends);
}

bool listed_is_reverse(const char *part, const char *other) {
    char ends[PART_BYTES];
    char reversed[PART_BYTES];
    if (!ends_of(part, ends) || !ends_of(other, reversed))
        return false;
    size_t first = strcspn(ends + 1, ">");
    size_t second = strcspn(reversed + 1, ">");
    return strlen(ends) == strlen(reversed) && strncmp(ends, reversed + 1 + second, first + 2) == 0 &&
           strncmp(reversed, ends + 1 + first, second + 2) == 0;
}
