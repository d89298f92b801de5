/* Reads "host RATE" and "link X+ x y z CLASS RATE" lines; see linkrates.h. */
#include "topobw/plan/linkrates.h"

#include "lib/input/parse.h"
#include "lib/input/textfile.h"
#include "lib/run/check.h"

#include <stdlib.h>
#include <string.h>

enum { DIRECTIONS = 2 * TORUS_DIMENSIONS };

/* The position in the file, for messages. */
struct source {
    const char *path;
    int line;
};

static void bad_line(struct source source, struct problem *problem) {
    problem_set(problem,
                "--links %s: line %d: not valid; expected host RATE, link X+ x y z CLASS RATE (a router of "
                "the torus, "
                "X+ to Z-, rate in GB/s above 0), or test PHASE CLASS RATE ROUTERS NAME PAIRS PARTS CROSSED",
                source.path, source.line);
}

static size_t router_index(const int *extents, const int *coordinate) {
    size_t index = 0;
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        index = index * (size_t)extents[d] + (size_t)coordinate[d];
    return index;
}

static size_t slot_of(const int *extents, const int *coordinate, int dimension, int step) {
    return router_index(extents, coordinate) * DIRECTIONS + (size_t)(2 * dimension + (step < 0));
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

static void read_line(char *line, struct source source, struct link_rates *rates, struct problem *problem) {
    char *rest = line;
    const char *first = textfile_word(&rest);
    bool good = strcmp(first, "host") == 0   ? read_host(rest, rates)
                : strcmp(first, "link") == 0 ? read_link(rest, rates)
                : strcmp(first, "test") == 0 ? listed_read(rest, &rates->listed)
                                             : false;
    if (!good)
        bad_line(source, problem);
}

void link_rates_read(const char *path, const int *extents, struct link_rates *rates,
                     struct problem *problem) {
    size_t length = 0;
    struct source source = {.path = path};
    *rates = (struct link_rates){.text = textfile_load(path, "--links", &length, problem)};
    memcpy(rates->extents, extents, sizeof rates->extents);
    if (problem_is_set(problem))
        return;
    size_t routers = (size_t)extents[0] * (size_t)extents[1] * (size_t)extents[2];
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
    listed_free(&rates->listed);
    free(rates->of_link);
    free(rates->text);
}
