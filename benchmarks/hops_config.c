/* Options of hops, their defaults and their conflicts; see hops_config.h. */
#include "hops_config.h"

#include "lib/check.h"
#include "lib/output.h"
#include "lib/problem.h"

#include <string.h>

/* Letters of "XYZ", each once. */
static bool parse_letters(const char *text, void *field) {
    size_t length = strlen(text);
    if (length < 1 || length > TORUS_DIMENSIONS || strspn(text, "XYZ") != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (strchr(text + i + 1, text[i]))
            return false;
    memset(field, 0, TORUS_DIMENSIONS + 1);
    memcpy(field, text, length);
    return true;
}

static int find_test(const char *name) {
    for (int i = 0; i < LANE_TESTS; i++)
        if (strcmp(lane_tests()[i].name, name) == 0)
            return i;
    return -1;
}

static bool parse_tests(const char *text, void *field) {
    bool chosen[LANE_TESTS] = {false};
    char name[32];
    while (parse_next(&text, ',', name, sizeof name)) {
        int test = find_test(name);
        if (test < 0)
            return false;
        chosen[test] = true;
    }
    memcpy(field, chosen, sizeof chosen);
    return true;
}

#define FIELD(name) offsetof(struct hops_config, name)

static const struct option_row rows[] = {
    {"coordinates", "FILE", NULL, "none: ranks 0 and N-1",
     "a coordinates file: torus X Y Z, then HOST X Y Z lines", "where the nodes stand", parse_text,
     FIELD(coordinates)},
    {"dimensions", "LETTERS", "XYZ", NULL, "letters of XYZ, each once", "torus dimensions to measure",
     parse_letters, FIELD(dimensions)},
    {"hops", "LIST", NULL, "all, 1 to extent/2", "counts and ranges from 1, like 1-3 or 1,4",
     "hop counts to measure", parse_numbers, FIELD(hops)},
    {"sizes", "LIST", "0-4MiB", NULL,
     "sizes and ranges (powers of two) with B, KiB or MiB, like 0-4MiB or 1KiB,1MiB",
     "message sizes; 0 is for latency alone", parse_sizes, FIELD(sizes)},
    {"tests", "LIST", "latency,bandwidth,bibandwidth", NULL, "latency, bandwidth, bibandwidth",
     "what to measure", parse_tests, FIELD(tests)},
    {"window", "COUNT", "8", NULL, "1 to 1000000", "messages in flight for bandwidth (OSU: 64)", parse_count,
     FIELD(lane.window)},
    {"batch", "COUNT", "10", NULL, "1 to 1000000", "round trips per latency sample up to 8 KiB; 1 above",
     parse_count, FIELD(lane.batch)},
    {"repeats", "COUNT", "20", NULL, "1 to 1000000", "samples per point", parse_count, FIELD(lane.repeats)},
    {"warmups", "COUNT", "2", NULL, "0 to 1000000", "untimed samples before", parse_count0,
     FIELD(lane.warmups)},
    {"max-time-per-point", "SECONDS", "2", NULL, "0 (no limit) to 1000000",
     "take fewer samples, but 3, where they take longer", parse_seconds, FIELD(lane.point_time_s)},
    {"seed", "NUMBER", "1", NULL, "0 to 2^64-1", "of the random payload", parse_seed, FIELD(lane.seed)},
    {"json", "FILE", NULL, "none", "a path that can be written", "where rank 0 writes the results",
     parse_text, FIELD(json)},
};

static const struct option_table table = {
    .program = "hops",
    .purpose = "latency and bandwidth between nodes, by torus dimension and hops",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
};

size_t hops_largest_size(const struct hops_config *config) {
    size_t largest = 0;
    for (int i = 0; i < config->sizes.count; i++)
        if (config->sizes.value[i] > largest)
            largest = config->sizes.value[i];
    return largest;
}

bool hops_in_point(const struct hops_config *config, int test, size_t bytes) {
    return config->tests[test] && bytes >= lane_tests()[test].smallest_bytes;
}

static void check_points(const struct hops_config *config, struct problem *problem) {
    for (int test = 0; test < LANE_TESTS; test++)
        if (config->tests[test] && hops_largest_size(config) < lane_tests()[test].smallest_bytes)
            problem_set(problem, "--sizes 0: %s has no rate for 0 B; valid: sizes from 1 B",
                        lane_tests()[test].name);
}

static void settle(struct hops_config *config, unsigned mask, struct problem *problem) {
    if (check_ranks() < 2)
        problem_set(problem, "1 rank: a pair is measured; valid: 2 ranks or more");
    if (!config->coordinates && options_given(&table, mask, "dimensions"))
        problem_set(problem, "--dimensions %s: needs --coordinates FILE", config->dimensions);
    if (!config->coordinates && config->hops.count > 0)
        problem_set(problem, "--hops %zu: needs --coordinates FILE", config->hops.value[0]);
    check_points(config, problem);
    if (config->json)
        output_probe(config->json, problem);
}

enum options_outcome hops_config_read(int argc, char **argv, struct hops_config *config) {
    struct problem problem = {0};
    unsigned mask = 0;
    enum options_outcome outcome = options_read(&table, argc, argv, config, &mask);
    if (outcome != OPTIONS_RUN)
        return outcome;
    settle(config, mask, &problem);
    return problem_agree(&problem, table.program) ? OPTIONS_WRONG : OPTIONS_RUN;
}
