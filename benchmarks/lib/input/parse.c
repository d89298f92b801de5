/* Text to numbers, sizes, extents and lists; see parse.h. */
#include "lib/input/parse.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 1000000, PART_BYTES = 64 };

/* A message's bytes are counted by an int in MPI. */
static const uint64_t size_max = (uint64_t)1 << 30;
static const uint64_t memory_size_max = (uint64_t)1 << 40;

bool parse_number(const char *text, void *field) {
    char *end = NULL;
    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || *end)
        return false;
    *(uint64_t *)field = number;
    return true;
}

static bool number_in(const char *text, uint64_t low, uint64_t high, uint64_t *value) {
    uint64_t number = 0;
    if (!parse_number(text, &number) || number < low || number > high)
        return false;
    *value = number;
    return true;
}

bool parse_text(const char *text, void *field) {
    if (!*text)
        return false;
    *(const char **)field = text;
    return true;
}

static bool int_in(const char *text, uint64_t low, int *value) {
    uint64_t number = 0;
    if (!number_in(text, low, COUNT_MAX, &number))
        return false;
    *value = (int)number;
    return true;
}

bool parse_count(const char *text, void *field) {
    return int_in(text, 1, field);
}

bool parse_count0(const char *text, void *field) {
    return int_in(text, 0, field);
}

bool parse_seconds(const char *text, void *field) {
    char *end = NULL;
    if (!*text || strspn(text, "0123456789.") != strlen(text))
        return false;
    double number = strtod(text, &end);
    if (end == text || *end || number > COUNT_MAX)
        return false;
    *(double *)field = number;
    return true;
}

bool parse_positive(const char *text, void *field) {
    char *end = NULL;
    if (!isdigit((unsigned char)text[0]) || strspn(text, "0123456789.eE+-") != strlen(text))
        return false;
    double number = strtod(text, &end);
    if (*end || !(number > 0) || number > DBL_MAX)
        return false;
    *(double *)field = number;
    return true;
}

bool parse_percent(const char *text, void *field) {
    double number = 0;
    if (!parse_positive(text, &number) || number >= 100)
        return false;
    *(double *)field = number;
    return true;
}

static bool suffix_factor(const char *suffix, uint64_t *factor) {
    static const struct {
        const char *name;
        uint64_t factor;
    } suffixes[] = {{"", 1}, {"B", 1}, {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30}};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (strcmp(suffix, suffixes[i].name) == 0) {
            *factor = suffixes[i].factor;
            return true;
        }
    return false;
}

static bool size_in(const char *text, uint64_t most, void *field) {
    char digits[PART_BYTES];
    uint64_t number = 0;
    uint64_t factor = 1;
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length >= sizeof digits || !suffix_factor(text + length, &factor))
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (!number_in(digits, 0, most / factor, &number))
        return false;
    *(size_t *)field = (size_t)(number * factor);
    return true;
}

bool parse_size(const char *text, void *field) {
    return size_in(text, size_max, field);
}

bool parse_memory_size(const char *text, void *field) {
    return size_in(text, memory_size_max, field);
}

bool parse_next(const char **rest, char separator, char *part, size_t part_bytes) {
    const char *text = *rest;
    if (!text)
        return false;
    const char *end = strchr(text, separator);
    size_t length = end ? (size_t)(end - text) : strlen(text);
    *rest = end ? end + 1 : NULL;
    if (length >= part_bytes)
        length = 0; /* no part is that long: treat it as empty, which every parser refuses */
    memcpy(part, text, length);
    part[length] = '\0';
    return true;
}

bool parse_extents(const char *text, void *field) {
    struct extents read = {0};
    char part[PART_BYTES];
    uint64_t number = 0;
    while (parse_next(&text, 'x', part, sizeof part)) {
        if (read.count == PARSE_DIMENSIONS_MAX || !number_in(part, 1, COUNT_MAX, &number))
            return false;
        read.length[read.count++] = (size_t)number;
    }
    *(struct extents *)field = read;
    return true;
}

static bool list_add(struct number_list *list, size_t value) {
    for (int i = 0; i < list->count; i++)
        if (list->value[i] == value)
            return true;
    if (list->count == PARSE_LIST_MAX)
        return false;
    list->value[list->count++] = value;
    return true;
}

/* Splits "LOW-HIGH"; one value alone is both ends. */
static void split_range(char *part, const char **low, const char **high) {
    char *dash = strchr(part, '-');
    *low = *high = part;
    if (dash) {
        *dash = '\0';
        *high = dash + 1;
    }
}

static bool add_numbers(char *part, struct number_list *list) {
    const char *low_text, *high_text;
    uint64_t low = 0, high = 0;
    split_range(part, &low_text, &high_text);
    if (!number_in(low_text, 1, COUNT_MAX, &low) || !number_in(high_text, low, COUNT_MAX, &high))
        return false;
    for (uint64_t value = low; value <= high; value++)
        if (!list_add(list, (size_t)value))
            return false;
    return true;
}

static bool add_sizes(char *part, struct number_list *list) {
    const char *low_text, *high_text;
    size_t low = 0, high = 0;
    split_range(part, &low_text, &high_text);
    if (!parse_size(low_text, &low) || !parse_size(high_text, &high) || low > high)
        return false;
    for (size_t value = low; value <= high; value = value ? 2 * value : 1)
        if (!list_add(list, value))
            return false;
    return true;
}

static bool parse_list(const char *text, bool (*add)(char *, struct number_list *),
                       struct number_list *field) {
    struct number_list read = {0};
    char part[PART_BYTES];
    while (parse_next(&text, ',', part, sizeof part))
        if (!add(part, &read))
            return false;
    *field = read;
    return true;
}

bool parse_numbers(const char *text, void *field) {
    return parse_list(text, add_numbers, field);
}

bool parse_sizes(const char *text, void *field) {
    return parse_list(text, add_sizes, field);
}

void extents_text(const struct extents *extents, char *text) {
    size_t used = 0;
    for (int d = 0; d < extents->count; d++)
        used += (size_t)snprintf(text + used, EXTENTS_TEXT_BYTES - used, "%s%zu", d ? "x" : "",
                                 extents->length[d]);
}
