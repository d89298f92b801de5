/* Options of topobw, their defaults and their conflicts; see config.h. */
#include "topobw/config.h"

#include "lib/input/parse.h"
#include "lib/input/rows.h"
#include "lib/output/output.h"
#include "lib/run/check.h"
#include "lib/run/problem.h"

static bool parse_message(const char *text, void *field) {
    size_t bytes = 0;
    if (!parse_size(text, &bytes) || bytes == 0)
        return false;
    *(size_t *)field = bytes;
    return true;
}

static bool parse_limit(const char *text, void *field) {
    double seconds = 0;
    if (!parse_seconds(text, &seconds) || seconds < 1)
        return false;
    *(double *)field = seconds;
    return true;
}

static const char *const routes_names[] = {"off", "strict"};

const char *topobw_routes_name(enum routes routes) {
    return routes_names[routes];
}

static bool parse_routes(const char *text, void *field) {
    return options_one(text, routes_names, ROUTES_STRICT + 1, field);
}

#define FIELD(name) offsetof(struct topobw_config, name)

static const struct option_row rows[] = {
    ROW_COORDINATES("required", FIELD(coordinates)),
    {"links", "FILE", NULL, "none: links are compared only with their peers",
     "a links file: host RATE, then link X+ x y z CLASS RATE lines, GB/s",
     "class and expected rate of each link", parse_text, FIELD(links)},
    {"factor", "NUMBER", NULL, "the median over all links", "above 0",
     "payload rate of a sound link over its rate in the links file", parse_rate, FIELD(factor)},
    {"size", "BYTES", "1MiB", NULL, "1 to 1024MiB, with B, KiB or MiB", "message size", parse_message,
     FIELD(stream.message_bytes)},
    {"messages", "COUNT", "8", NULL, "1 to 1000000", "messages per transfer, all in flight", parse_count,
     FIELD(stream.messages)},
    {"repeats", "COUNT", "3", NULL, "1 to 1000000", "rounds through all phases; the fastest is used",
     parse_count, FIELD(repeats)},
    {"retests", "COUNT", "5", NULL, "0 to 1000000",
     "maximum number of further rounds for links that look bad, 0 to 4 s apart; twice that if the times of "
     "such a link differ too much",
     parse_count0, FIELD(retests)},
    {"tolerance", "PERCENT", "3", NULL, "above 0, below 100",
     "how far below its peers a sound link may be; twice that below expectation", parse_percent,
     FIELD(tolerance_percent)},
    {"deadline", "SECONDS", "60", NULL, "1 to 1000000",
     "time limit of one phase, after which its links are dead", parse_limit, FIELD(stream.limit_s)},
    {"routes", "HOW", "strict", NULL,
     "strict (a link that packets go round is bad at any rate, one whose way is not seen is not judged), off",
     "how to judge the ways of datagrams to each host name", parse_routes, FIELD(routes)},
    {"soak", "SECONDS", "0", NULL, "0 to 1000000",
     "repeat rounds for this time, and treat unstable links as bad", parse_seconds, FIELD(soak_s)},
    {"stream", "FILE", NULL, "none", "a path that can be written",
     "file to which rank 0 writes the links' rates after each round, a JSON document per line", parse_text,
     FIELD(rounds_file)},
    {"counters", "FILE", NULL, "none", "a path that can be written",
     "file to which rank 0 writes the counts of the counters library (RAILYARD_COUNTERS_*)", parse_text,
     FIELD(counters)},
    ROW_SEED(FIELD(stream.seed)),
    ROW_JSON(FIELD(json)),
};

static void settle(void *configuration, unsigned given, struct problem *problem) {
    const struct topobw_config *config = configuration;
    (void)given;
    if (check_ranks() < 2)
        problem_set(problem, "1 rank: links between nodes are measured; expected 2 ranks or more");
    if (!config->coordinates)
        problem_set(problem, "--coordinates: missing; expected --coordinates FILE");
    if (!config->links && config->factor > 0)
        problem_set(problem, "--factor %g: needs --links FILE", config->factor);
    output_probe(config->json, problem);
    output_probe(config->rounds_file, problem);
}

const struct option_table topobw_options = {
    .program = "topobw",
    .purpose = "rate of every link between neighbouring routers, and a verdict on each",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .settle = settle,
    .more_statuses = ", 5 a link is bad, 6 a link is not judged",
};
