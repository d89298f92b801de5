/*
 * A counter group: which counters there are, where they are found, and the metrics that follow from them. A
 * data file of lines KEYWORD ...; `#` starts a comment:
 *
 *     SUMMARY  what the group is
 *     SOURCE   files (one file a counter) | gpcd (Gemini tiles)
 *     LEADER   node | router
 *     DEVICES  a path below the root; * matches the parts that name a device
 *     WHEN     PATH PATTERN: a device whose file PATH begins with a word of another pattern is left out
 *     ONLY     shell patterns of devices; EXCEPT likewise
 *     TILES    how many tiles of a Gemini lead to other Geminis
 *     CLASS    NAME RATE: GB/s of a tile whose link type begins with NAME
 *     COUNTER  NAME UNIT PATH: below the device; * adds up the files that match
 *     OPTIONAL NAME UNIT PATH: a counter that some drivers do not have; with PATH:WORD the number after WORD
 *              in the file, or below it in the next line
 *     EVENTS   NAME[:FULL]...: counters whose growth is a fault; at FULL they count no further
 *     CONGESTION NAME[:FULL]...: counters that grow where other traffic is in the way, which is no fault
 *     STATES   NAME...: numbers of which less is a fault, such as a link's speed
 *     UNREADABLE NAME REASON: what no file shows, and where it is shown instead
 *     METRIC   NAME UNIT FORMULA: of counters, numbers, + - * / and parentheses
 *
 * Leaves out: reading counters (source.h).
 */
#pragma once

#include "lib/run/problem.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GROUP_COUNTERS_MAX = 48,
    GROUP_METRICS_MAX = 32,
    GROUP_PATTERNS_MAX = 8,
    GROUP_CLASSES_MAX = 8,
    GROUP_CONDITIONS_MAX = 4,
    GROUP_EVENTS_MAX = 32, /* each a bit of a uint32_t */
    GROUP_UNREADABLE_MAX = 8
};

enum counter_source { SOURCE_FILES, SOURCE_GPCD };

/* Texts point into the group's own. */
struct group_counter {
    const char *name;
    const char *unit;
    const char *path;
    bool optional;
};

struct group_condition {
    const char *path;
    const char *pattern;
};

/* A counter by its index. `full`: it counts no further, 0 for one that wraps. */
struct group_event {
    int counter;
    enum { EVENT_FAULT, EVENT_STATE, EVENT_CONGESTION } kind;
    uint64_t full;
};

struct group_unreadable {
    const char *name;
    const char *reason;
};

struct group_metric {
    const char *name;
    const char *unit;
    const char *formula;
};

struct group_class {
    const char *name;
    double rate_gbyte_s;
};

struct counter_group {
    char *text;
    const char *summary;
    enum counter_source source;
    bool by_router;
    const char *devices;
    int tiles;
    int only_count;
    const char *only[GROUP_PATTERNS_MAX];
    int except_count;
    const char *except[GROUP_PATTERNS_MAX];
    int class_count;
    struct group_class classes[GROUP_CLASSES_MAX];
    int condition_count;
    struct group_condition conditions[GROUP_CONDITIONS_MAX];
    int counter_count;
    struct group_counter counters[GROUP_COUNTERS_MAX];
    int event_count;
    struct group_event events[GROUP_EVENTS_MAX];
    int unreadable_count;
    struct group_unreadable unreadable[GROUP_UNREADABLE_MAX];
    int metric_count;
    struct group_metric metrics[GROUP_METRICS_MAX];
};

/* Parses a group's text, which belongs to the group from then on; `path` is for messages. */
void counter_group_parse(const char *path, char *text, struct counter_group *group, struct problem *problem);

/* Returns whether the group counts this device. */
bool counter_group_wants(const struct counter_group *group, const char *device);

/* Returns the index of the metric with this name; -1 if there is none. */
int counter_group_metric(const struct counter_group *group, const char *name);

/* Returns a metric's value for the values of all counters; NaN if a value is not finite, or for a division by
 * 0. */
double counter_group_value(const struct counter_group *group, int metric, const double *counters);

/* Sums each counter over the links, for use in formulas: totals[counter]. Skips links whose driver lacks a
 * counter (infinity), unless all lack it; NaN if a counter went backwards. */
void counter_group_totals(const struct counter_group *group, int links, const double *counters,
                          double *totals);

void counter_group_free(struct counter_group *group);

enum { COUNTER_FABRICS = 6 };

/* The groups of NICs, in the order in which a node is searched for their devices. */
extern const char *const counter_fabrics[COUNTER_FABRICS];

/* Writes the path of a group's file, COUNTER_PATH_BYTES at most; a name with a slash is a path already. */
void counter_group_path(const char *name, char *path);
