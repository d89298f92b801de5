/*
 * Rows of an option table that several benchmarks have in common, so that one name means one thing. The
 * argument is the offset of the field in the benchmark's configuration.
 *
 * Leaves out: defaults that differ between benchmarks; those are arguments, too.
 */
#ifndef RAILYARD_LIB_INPUT_ROWS_H
#define RAILYARD_LIB_INPUT_ROWS_H

#include "lib/input/options.h"
#include "lib/input/parse.h"

/* A row with a default, for macros that hold rows. */
#define ROW(name, unit, fallback, valid, what, parse, offset)                                                \
    { name, unit, fallback, NULL, valid, what, parse, offset }

/* A row without a default; `absent` describes what holds then. */
#define ROW_ABSENT(name, unit, absent, valid, what, parse, offset)                                           \
    { name, unit, NULL, absent, valid, what, parse, offset }

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
    ROW("clock", "NAME", "host", "host (ranks of one kernel share a clock), pings (none do)",                \
        "how the clocks of ranks are compared", parse_clock_source, offset)
#define ROW_SEED(offset)                                                                                     \
    ROW("seed", "NUMBER", "1", "0 to 2^64-1", "seed of the random payload", parse_seed, offset)
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
#endif
