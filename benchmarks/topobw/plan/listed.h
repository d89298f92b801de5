/*
 * Tests of links that the links file lists individually, for networks other than a torus: "test" lines
 * (docs/formats.md, "Links file"). Only rank 0 reads and stores them.
 *
 * Leaves out: finding the pairs of nodes that load a link; the author of the file knows the routes.
 */
#ifndef RAILYARD_TOPOBW_PLAN_LISTED_H
#define RAILYARD_TOPOBW_PLAN_LISTED_H

#include "lib/run/problem.h"

#include <stdbool.h>

/* The rate and class of a link. */
struct link_rate {
    const char *link_class; /* NULL: not in the file */
    double rate_gbyte_s;
};

struct listed_test {
    int phase;
    int kind;    /* index into the list's kinds */
    int routers; /* between its nodes on the usual way */
    struct link_rate rate;
    const char *name;
    char *pairs;         /* "FROM>TO,FROM>TO", hosts */
    const char *parts;   /* parts that a good test clears, ",global:r0-3>r8-0," */
    const char *crossed; /* parts that it also crosses; "," for none */
};

enum { KINDS_MAX = 3, PART_BYTES = 80 };

struct listed {
    int count;
    int room;
    struct listed_test *tests;
    int kind_count;
    const char *kinds[KINDS_MAX]; /* the classes, as first met */
};

/* Parses one line without its first word; false if it is malformed. Changes the line, which must not be
 * freed. */
bool listed_read(char *rest, struct listed *listed);

/* Returns whether a test's list of parts contains a part. */
bool listed_has(const char *list, const char *part);

/* Returns whether a test crosses only its own links on a way ">leaf0>spine1>leaf2>", given by its routers. */
bool listed_is_usual(const struct listed_test *test, const char *way);

/* Returns whether a way crosses a part; a node is no link, and is crossed by none. */
bool listed_crosses(const char *way, const char *part);

/* Returns whether two ways cross a common link. */
bool listed_have_met(const char *way, const char *other);

/* Returns whether two parts are the directions of one cable. */
bool listed_is_reverse(const char *part, const char *other);

void listed_free(struct listed *listed);

#endif
