/*
 * Parsers from text to values, for option tables and file readers. Each accepts the whole text or refuses it:
 * it returns true and a value, or false and leaves the field unchanged.
 *
 * Leaves out: signs, fractions of bytes, decimal multiples (kB), and any use of the locale.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PARSE_DIMENSIONS_MAX = 3, PARSE_LIST_MAX = 64, EXTENTS_TEXT_BYTES = 96 };

/* "4x4x2": count numbers, each at least 1. A count of 0 means that none was given. */
struct extents {
    int count;
    size_t length[PARSE_DIMENSIONS_MAX];
};

/* Ascending as typed, repeats removed. A count of 0 means that none was given. */
struct number_list {
    int count;
    size_t value[PARSE_LIST_MAX];
};

/* Parsers for option tables; the comment names the field's type. */
bool parse_text(const char *text, void *field);        /* const char *: the text itself, not empty */
bool parse_number(const char *text, void *field);      /* uint64_t, digits only */
bool parse_count(const char *text, void *field);       /* int, 1 to 1,000,000 */
bool parse_count0(const char *text, void *field);      /* int, 0 to 1,000,000 */
bool parse_seconds(const char *text, void *field);     /* double, 0 to 1e6 */
bool parse_positive(const char *text, void *field);    /* double, above 0, with an exponent or without */
bool parse_percent(const char *text, void *field);     /* double, above 0 and below 100 */
bool parse_size(const char *text, void *field);        /* size_t bytes: 512, 512B, 64KiB, 4MiB */
bool parse_memory_size(const char *text, void *field); /* the same, up to 1024GiB */
bool parse_extents(const char *text, void *field);     /* struct extents: 1 to 3 lengths of 1 to 1,000,000 */
bool parse_numbers(const char *text,
                   void *field); /* struct number_list: "3", "1-3", "1,4-6"; 1 to 1,000,000 */
bool parse_sizes(const char *text,
                 void *field); /* struct number_list: "64KiB", "0-4MiB" (powers of two), lists */

/* Copies the next part of a list, up to the separator or the end, and moves on; false if nothing is left. */
bool parse_next(const char **rest, char separator, char *part, size_t part_bytes);

/* The extents as they are typed, "4x4x2". */
void extents_text(const struct extents *extents, char *text);
