/* Options of sonar, their defaults and their conflicts; see config.h. */
#include "sonar/config.h"

#include "lib/input/rows.h"
#include "lib/output/output.h"
#include "lib/run/check.h"
#include "lib/run/problem.h"

#include <string.h>

static const char *const mode_names[MODES] = {"send", "put", "get"};
static const char *const payload_names[PAYLOADS] = {"random", "zero"};

const char *sonar_mode_name(int mode) {
    return mode_names[mode];
}

const char *sonar_payload_name(int payload) {
    return payload_names[payload];
}

static bool parse_modes(const char *text, void *field) {
    return options_choose(text, mode_names, MODES, field);
}

static bool parse_payloads(const char *text, void *field) {
    return options_choose(text, payload_names, PAYLOADS, field);
}

static bool parse_ping_sizes(const char *text, void *field) {
    struct number_list sizes;
    if (!parse_sizes(text, &sizes))
        return false;
    for (int i = 0; i < sizes.count; i++)
        if (sizes.value[i] == 0)
            return false;
    memcpy(field, &sizes, sizeof sizes);
    return true;
}

#define FIELD(name) offsetof(struct sonar_config, name)

static const struct option_row rows[] = {
    {"pings", "LIST", "send", NULL, "send, put, get", "kinds of ping", parse_modes, FIELD(modes)},
    {"payloads", "LIST", "random,zero", NULL, "random, zero", "data of a ping", parse_payloads,
     FIELD(payloads)},
    {"sizes", "LIST", "1-1MiB", NULL, "sizes and ranges (powers of two) from 1 B, with B, KiB or MiB",
     "bytes per ping", parse_ping_sizes, FIELD(sizes)},
    {"count", "COUNT", "10", NULL, "1 to 1000000", "pings between two readings", parse_count, FIELD(pings)},
    {"repeats", "COUNT", "5", NULL, "1 to 1000000", "measurements of each size", parse_count, FIELD(repeats)},
    {"settle", "SECONDS", "0.05", NULL, "0 to 1000000", "pause before the second reading, for late answers",
     parse_seconds, FIELD(settle_s)},
    {"group", "NAME", "auto", NULL,
     "a counter group of nodes, a file with a slash in its name, or auto (the fabric of rank 0's node)",
     "counters to read", parse_text, FIELD(group)},
    {"root", "FOLDER", NULL, "RAILYARD_COUNTERS_ROOT, or /", "a folder",
     "folder below which the group's paths are", parse_text, FIELD(root)},
    ROW_SEED(FIELD(seed)),
    ROW_JSON(FIELD(json)),
};

static void settle(void *configuration, unsigned given, struct problem *problem) {
    (void)configuration;
    (void)given;
    if (check_ranks() < 2)
        problem_set(problem, "1 rank: a ping goes from one node to another; expected 2 ranks or more");
}

size_t sonar_largest_size(const struct sonar_config *config) {
    size_t largest = 0;
    for (int i = 0; i < config->sizes.count; i++)
        if (config->sizes.value[i] > largest)
            largest = config->sizes.value[i];
    return largest;
}

const struct option_table sonar_options = {
    .program = "sonar",
    .purpose = "network counters compared with messages of known size",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .settle = settle,
};
