/*
 * Command-line options as a table: one row gives an option its name, unit, default, valid values, help,
 * parser and field. Defaults are text and pass through the same parser, so --help cannot disagree with the
 * program.
 *
 * Leaves out: short options and positional arguments.
 */
#ifndef RAILYARD_LIB_INPUT_OPTIONS_H
#define RAILYARD_LIB_INPUT_OPTIONS_H

#include "lib/run/problem.h"

#include <stdbool.h>
#include <stddef.h>

struct option_row {
    const char *name;     /* without the dashes */
    const char *unit;     /* what the value is: COUNT, SECONDS, FILE, ... */
    const char *fallback; /* the default as a user would type it; NULL: the field stays zero */
    const char *absent;   /* what --help prints as the default when fallback is NULL */
    const char *valid;    /* the values taken, for errors and help */
    const char *help;
    bool (*parse)(const char *text, void *field);
    size_t offset; /* offset of the field in the configuration */
};

struct option_table {
    const char *program;
    const char *purpose;
    const struct option_row *rows;
    int count;                 /* at most 32 */
    const char *more_statuses; /* the program's own exit statuses for --help, such as ", 5 a link is bad";
                                  NULL: none */
    /* Collective. Checks options against each other and against the number of ranks; NULL: nothing to check.
     */
    void (*settle)(void *configuration, unsigned given, struct problem *problem);
};

enum options_outcome { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG };

/*
 * Collective. Reads "--name value" and "--name=value" into the configuration; bit i of *given is set when the
 * user gave row i. Rank 0 prints the help or the first error of any rank; all ranks return the same outcome.
 */
enum options_outcome options_read(const struct option_table *table, int argc, char **argv,
                                  void *configuration, unsigned *given);

/* Collective. The same, and settles the configuration by the table's `settle`. */
enum options_outcome options_settle(const struct option_table *table, int argc, char **argv,
                                    void *configuration);

/* The exit status of a program that only printed its help, or refused its options. */
int options_status(enum options_outcome outcome);

/* Returns the value of the option with this name, whose parser is parse_text; NULL if it has none. */
const char *options_text(const struct option_table *table, const void *configuration, const char *name);

/* Returns whether the user gave the option with this name. */
bool options_given(const struct option_table *table, unsigned given, const char *name);

/*
 * Parses a comma-separated list of names: chosen[i] is true for names[i]. False, and chosen as it was, for a
 * name that is none of them.
 */
bool options_choose(const char *text, const char *const *names, int count, bool *chosen);

/* For parsers of single names: writes the index of a name into an enum whose first value is 0. */
bool options_one(const char *text, const char *const *names, int count, void *field);

/* For parsers of two names: writes true into a bool for the second. */
bool options_either(const char *text, const char *const *names, void *field);

/* Parser for option tables: how clocks are compared, "host" or "pings", into a bool. */
bool parse_clock_source(const char *text, void *field);

#endif
