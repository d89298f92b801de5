/*
 * Tests of links that the links file lists one by one, for networks that are no torus: "test" lines
 * (docs/formats.md, "Links file"). Rank 0 alone reads and keeps them.
 *
 * Leaves out: which pairs of nodes load a link; whoever writes the file knows the routes.
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
    const char *parts;   /* what a good test clears, ",global:r0-3>r8-0," */
    const char *crossed; /* what else it crosses, "," when nothing */
};

enum { KINDS_MAX = 3 };

struct listed {
    int count;
    int room;
    struct listed_test *tests;
    int kind_count;
    const char *kinds[KINDS_MAX]; /* the classes, as first met */
};

/* One line without its first word; false when it is not of the form. Changes the line, which must stay. */
bool listed_read(char *rest, struct listed *listed);

/* Whether a test's list of parts holds a part. */
bool listed_has(const char *list, const char *part);

void listed_free(struct listed *listed);

#endif
