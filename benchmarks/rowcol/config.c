/* Options of rowcol, their defaults and their conflicts; see config.h. */
#include "rowcol/config.h"

#include "lib/input/rows.h"
#include "lib/output/output.h"
#include "lib/run/check.h"

#include <math.h>

static const char *const start_names[] = {"auto", "clock", "barrier"};

const char *start_name(enum start start) {
    return start_names[start];
}

static bool parse_start(const char *text, void *field) {
    return options_one(text, start_names, START_BARRIER + 1, field);
}

#define FIELD(name) offsetof(struct rowcol_config, name)

static const struct option_row rows[] = {
    ROW_COORDINATES("none: splits all", FIELD(coordinates)),
    {"splits", "LIST", NULL, "X,Y,Z,XY,XZ,YZ; all without coordinates", "X, Y, Z, XY, XZ, YZ, all",
     "rows and planes that run the collective at the same time", parse_split_ways, FIELD(ways)},
    {"collectives", "LIST", "alltoall,allgather,allreduce,bcast,barrier", NULL,
     "alltoall, allgather, allreduce, bcast, barrier, alltoallv, reduce-scatter, allreduce-float",
     "what to measure", parse_collectives, FIELD(collectives)},
    ROW_SIZES("8-64KiB", "bytes per pair (alltoall), per rank (allgather), or of the vector", FIELD(sizes)),
    {"batch", "COUNT", "1", NULL, "1 to 1000000", "consecutive collectives per sample", parse_count,
     FIELD(batch)},
    {"start", "NAME", "auto", NULL, "clock, barrier, auto (clock where each rank of a host can have a CPU)",
     "how all ranks start a sample", parse_start, FIELD(start)},
    {"late", "SECONDS", "1e-6", NULL, "above 0, like 1e-6",
     "drop a sample if a rank starts it later than agreed by more than this time, and ...", parse_rate,
     FIELD(late_s)},
    {"late-percent", "PERCENT", "1", NULL, "above 0 and below 100",
     "... by more than this percentage of the sample's time", parse_percent, FIELD(late_percent)},
    {"late-most", "PERCENT", NULL, "that of --late-percent", "above 0; at 100 every sample counts",
     "each dropped sample raises --late-percent by a tenth for this point, up to this value", parse_rate,
     FIELD(late_most_percent)},
    ROW_CLOCK(FIELD(clock_pings)),
    ROW_MEMORY(FIELD(memory)),
    ROW_REPEATS("20", "minimum number of samples per point", FIELD(sampling.repeats)),
    ROW_WARMUPS("2", "minimum number of untimed samples before", FIELD(sampling.warmups)),
    ROW_WARMUP_TIME(FIELD(sampling.warmup_s)),
    ROW_MIN_TIME(FIELD(sampling.min_time_s)),
    ROW_POINT_TIME(FIELD(sampling.point_time_s)),
    ROW_SEED(FIELD(sampling.seed)),
    ROW_JSON(FIELD(sampling.json)),
};

static void settle_ways(struct rowcol_config *config, bool given, struct problem *problem) {
    for (int way = 0; way < SPLIT_WAYS; way++) {
        bool possible = config->coordinates || way == SPLIT_ALL;
        if (!given)
            config->ways[way] = config->coordinates ? way != SPLIT_ALL : way == SPLIT_ALL;
        else if (config->ways[way] && !possible)
            problem_set(problem, "--splits %s: needs --coordinates FILE; valid without: all",
                        split_ways()[way].name);
    }
}

static void check_sizes(const struct rowcol_config *config, struct problem *problem) {
    for (int c = 0; c < COLLECTIVES; c++)
        for (int i = 0;
             config->collectives[c] && collectives()[c].multiple_bytes > 0 && i < config->sizes.count; i++) {
            size_t bytes = config->sizes.value[i];
            size_t multiple = collectives()[c].multiple_bytes;
            if (bytes == 0 || bytes % multiple != 0)
                problem_set(problem, "--sizes %zu: %s; expected multiples of %zu B from %zu B", bytes,
                            collectives()[c].name, multiple, multiple);
        }
}

static void settle(void *configuration, unsigned given, struct problem *problem) {
    struct rowcol_config *config = configuration;
    if (check_ranks() < 2)
        problem_set(problem, "1 rank: collectives are measured; expected 2 ranks or more");
    config->late_most_percent = fmax(config->late_most_percent, config->late_percent);
    settle_ways(config, options_given(&rowcol_options, given, "splits"), problem);
    check_sizes(config, problem);
    memory_open(&config->memory, problem);
}

const struct option_table rowcol_options = {
    .program = "rowcol",
    .purpose = "collectives in all rows or planes of a block of nodes at the same time",
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .settle = settle,
};
