/* The option table of congestor; see config.h. */
#include "congestor/config.h"

#include "lib/input/rows.h"
#include "lib/output/output.h"
#include "lib/run/check.h"

#define FIELD(name) offsetof(struct config, name)

static const struct option_row rows[] = {
    ROW("pattern", "NAME", "alltoall", LOAD_PATTERN_NAMES, "traffic pattern of a round", parse_load_pattern,
        FIELD(pattern)),
    ROW("size", "BYTES", "64KiB", "8B to 64MiB in whole numbers of 8 B", "message size", parse_size,
        FIELD(size.bytes)),
    ROW("window", "COUNT", "8", "1 to 64", "messages in flight (incast and permutation only)", parse_count,
        FIELD(size.in_flight)),
    ROW("rounds", "COUNT", "0", "0 (until --stop or --limit) to 1000000", "number of rounds", parse_count0,
        FIELD(rounds)),
    ROW_WARMUPS("1", "untimed rounds before", FIELD(warmups)),
    ROW("limit", "SECONDS", "600", "0 to 1000000", "end after this time", parse_seconds, FIELD(limit_s)),
    ROW_ABSENT("ready", "FILE", "none", "a path that can be written",
               "file that rank 0 creates when the load has started, after the untimed rounds", parse_text,
               FIELD(ready)),
    ROW_ABSENT("stop", "FILE", "none", "a path", "end when this file exists", parse_text, FIELD(stop)),
    ROW_ABSENT("beside", "NAME", "none", LOAD_PATTERN_NAMES,
               "second pattern, sent by the last ranks until the first ranks have finished",
               parse_load_pattern, FIELD(beside)),
    ROW("beside-size", "BYTES", "64KiB", "8B to 64MiB in whole numbers of 8 B",
        "message size of the second pattern", parse_size, FIELD(beside_size.bytes)),
    ROW("beside-window", "COUNT", "8", "1 to 64", "messages in flight of the second pattern", parse_count,
        FIELD(beside_size.in_flight)),
    ROW("beside-ranks", "COUNT", "2", "2 to all ranks but two",
        "number of ranks that send the second pattern", parse_count, FIELD(beside_ranks)),
    ROW_SEED(FIELD(seed)),
    ROW_JSON(FIELD(json)),
};

enum { LEAST_BYTES = 8, MOST_BYTES = 1 << 26, WINDOW_MOST = 64 };

static void settle_size(const char *prefix, const struct load_size *size, struct problem *problem) {
    if (size->bytes < LEAST_BYTES || size->bytes > MOST_BYTES || size->bytes % sizeof(double) != 0)
        problem_set(problem, "--%ssize %zuB: not a message; valid: 8B to 64MiB in whole numbers of 8 B",
                    prefix, size->bytes);
    else if (size->in_flight > WINDOW_MOST)
        problem_set(problem, "--%swindow %d: too many; valid: 1 to %d", prefix, size->in_flight, WINDOW_MOST);
}

static void settle(void *configuration, unsigned given, struct problem *problem) {
    const struct config *config = configuration;
    (void)given;
    settle_size("", &config->size, problem);
    if (!problem_is_set(problem))
        settle_size("beside-", &config->beside_size, problem);
    if (problem_is_set(problem))
        return;
    if (config->beside && (config->beside_ranks < 2 || check_ranks() - config->beside_ranks < 2))
        problem_set(problem, "--beside-ranks %d of %d: no two programs; valid: 2 to all ranks but two",
                    config->beside_ranks, check_ranks());
    else if (check_ranks() < 2)
        problem_set(problem, "1 rank sends nothing; valid: 2 ranks or more");
}

const struct option_table congestor_options = {
    .program = "congestor",
    .purpose = "traffic that fills a network while another program is measured, and the time of each round",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .settle = settle,
};
