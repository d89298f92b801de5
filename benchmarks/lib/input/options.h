/*
 * Command-line options as a table: one row gives an option its name, unit, default, valid values, help,
 * parser and field. Defaults are text and pass through the same parser, so --help cannot disagree with the
 * program.
 *
 * Leaves out: short options and positional arguments.
 */
#pragma once

#include "lib/input/parse.h"
#include "lib/run/problem.h"

/* The names that an option takes: texts, or structures whose first member is their name. */
struct option_names {
    const void *table;
    size_t stride;
    int count;
};

#define NAMES_OF(table)                                                                                      \
    { table, sizeof *(table), sizeof(table) / sizeof *(table) }

struct option_row {
    const char *name;     /* without the dashes */
    const char *unit;     /* what the value is: COUNT, SECONDS, FILE, ... */
    const char *fallback; /* the default as a user would type it; NULL: the field stays zero */
    const char *absent;   /* what --help prints as the default when fallback is NULL */
    const char *valid;    /* the values taken, for errors and help */
    const char *help;
    bool (*parse)(const char *text, void *field);
    size_t offset; /* offset of the field in the configuration */
    /* Instead of `parse`, for a value that consists of names: options_one, options_either, ... */
    bool (*choose)(const char *text, const struct option_names *names, void *field);
    struct option_names names;
};

/* The options that a user gave: bit i is set for row i of the table. */
struct options_given {
    const struct option_table *table;
    unsigned rows;
};

struct option_table {
    const char *program;
    const char *purpose;
    const struct option_row *rows;
    int count;                 /* at most 32 */
    const char *more_statuses; /* the program's own exit statuses for --help, such as ", 5 a link is bad";
                                  NULL: none */
    /* Collective. Checks options against each other and against the number of ranks; NULL: no check. */
    void (*settle)(void *configuration, const struct options_given *given, struct problem *problem);
};

/* The number of rows of a table, and the table itself, from its array. */
#define OPTION_ROWS(table) .rows = (table), .count = sizeof(table) / sizeof *(table)

enum options_outcome { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG };

/*
 * Collective. Reads "--name value" and "--name=value" into the configuration and settles it. Rank 0
 * prints the help or the first error of any rank; all ranks return the same outcome.
 */
enum options_outcome options_read(const struct option_table *table, int argc, char **argv,
                                  void *configuration);

/* The exit status of a program that only printed its help, or refused its options. */
int options_status(enum options_outcome outcome);

/* Returns the value of the option with this name, whose parser is parse_text; NULL if it has none. */
const char *options_text(const struct option_table *table, const void *configuration, const char *name);

/* Returns whether the user gave the option with this name. */
bool options_given(const struct options_given *given, const char *name);

/* The ways to choose, for option rows. Each returns false, and leaves the field as it was, for another name.
 * One name: its index into an enum whose first value is 0; or true into a bool for the second of two; or the
 * address of its structure. A list: true into bool[i] for each name i. */
bool options_one(const char *text, const struct option_names *names, void *field);
bool options_either(const char *text, const struct option_names *names, void *field);
bool options_row(const char *text, const struct option_names *names, void *field);
bool options_some(const char *text, const struct option_names *names, void *field);

/* ---- rows that several benchmarks have, so that one name means one thing; `offset` is of the field ---- */

extern const char *const option_clocks[2];

/* A row with a default, for macros that hold rows. */
#define ROW(name, unit, fallback, valid, what, parse, offset)                                                \
    {                                                                                                        \
        name, unit, fallback, NULL, valid, what, parse, offset, NULL, {                                      \
            0                                                                                                \
        }                                                                                                    \
    }

/* A row whose value consists of names of a table. */
#define ROW_NAMES(name, unit, fallback, valid, what, offset, choose, table)                                  \
    { name, unit, fallback, NULL, valid, what, NULL, offset, choose, NAMES_OF(table) }

/* A row without a default; `absent` describes what holds then. */
#define ROW_ABSENT(name, unit, absent, valid, what, parse, offset)                                           \
    {                                                                                                        \
        name, unit, NULL, absent, valid, what, parse, offset, NULL, {                                        \
            0                                                                                                \
        }                                                                                                    \
    }

/* The same with names. */
#define ROW_ABSENT_NAMES(name, unit, absent, valid, what, offset, choose, table)                             \
    { name, unit, NULL, absent, valid, what, NULL, offset, choose, NAMES_OF(table) }

#define ROW_REPEATS(fallback, what, offset)                                                                  \
    ROW("repeats", "COUNT", fallback, "1 to 1000000", what, parse_count, offset)
#define ROW_WARMUPS(fallback, what, offset)                                                                  \
    ROW("warmups", "COUNT", fallback, "0 to 1000000", what, parse_count0, offset)
#define ROW_POINT_TIME(offset)                                                                               \
    ROW("max-time-per-point", "SECONDS", "2", "0 (no limit) to 1000000",                                     \
        "maximum time of the samples of a point, at least 3 of them", parse_seconds, offset)
#define ROW_WARMUP_TIME(offset)                                                                              \
    ROW("warmup-time", "SECONDS", "0.05", "0 to 1000000", "minimum time of untimed samples", parse_seconds,  \
        offset)
#define ROW_MIN_TIME(offset)                                                                                 \
    ROW("min-time-per-point", "SECONDS", "0.2", "0 to 1000000", "minimum time of the samples of a point",    \
        parse_seconds, offset)
#define ROW_CLOCK(offset)                                                                                    \
    ROW_NAMES("clock", "NAME", "host", "host (ranks of one kernel share a clock), pings (none do)",          \
              "how the clocks of ranks are compared", offset, options_either, option_clocks)
#define ROW_SEED(offset)                                                                                     \
    ROW("seed", "NUMBER", "1", "0 to 2^64-1", "seed of the random payload", parse_number, offset)
#define ROW_JSON(offset)                                                                                     \
    ROW_ABSENT("json", "FILE", "none", "a path that can be written",                                         \
               "file to which rank 0 writes the results", parse_text, offset)
#define ROW_COORDINATES(absent, offset)                                                                      \
    ROW_ABSENT("coordinates", "FILE", absent, "a coordinates file: torus X Y Z, then HOST X Y Z lines",      \
               "positions of the nodes", parse_text, offset)
#define ROW_DIMENSIONS(offset)                                                                               \
    ROW("dimensions", "LETTERS", "XYZ", "letters of XYZ, each once", "torus dimensions to measure",          \
        parse_dimension_letters, offset)
#define ROW_HOPS(offset)                                                                                     \
    ROW_ABSENT("hops", "LIST", "all, 1 to extent/2", "counts and ranges from 1, like 1-3 or 1,4",            \
               "hop counts to measure", parse_numbers, offset)
#define ROW_SIZES(fallback, what, offset)                                                                    \
    ROW("sizes", "LIST", fallback,                                                                           \
        "sizes and ranges (powers of two) with B, KiB or MiB, like 0-4MiB or 1KiB,1MiB", what, parse_sizes,  \
        offset)
