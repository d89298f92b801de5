/*
 * The links file: the class and expected rate of each link of a torus (docs/formats.md, "Links file"). Only
 * rank 0 reads and stores it. For networks other than a torus it lists the tests of links individually.
 *
 * Leaves out: finding the pairs of nodes that load a listed link (the author of the file knows the routes),
 * which links exist (lib/ranks/coordinates.h knows the torus), and the payload's share of a rate.
 */
#pragma once

#include "lib/ranks/coordinates.h"
#include "lib/run/problem.h"

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

enum { KINDS_MAX = 3, PART_BYTES = 80, PHASES_MAX = 64 };

struct listed {
    int count;
    int room;
    struct listed_test *tests;
    int kind_count;
    const char *kinds[KINDS_MAX]; /* the classes, as first met */
};

struct link_rates {
    double host_gbyte_s;       /* one node's link to its router */
    struct link_rate *of_link; /* sorted by router (row-major), then X+ X- Y+ Y- Z+ Z-; NULL: no links file */
    int extents[TORUS_DIMENSIONS];
    struct listed listed; /* individual tests, for a network other than a torus */
    char *text;
};

/* On rank 0. Reads the file for a torus of those extents. */
void link_rates_read(const char *path, const int *extents, struct link_rates *rates, struct problem *problem);

/* Returns the directed link that leaves the router at the coordinate; NULL without a links file. */
const struct link_rate *link_rate_of(const struct link_rates *rates, const int *coordinate, int dimension,
                                     int step);

void link_rates_free(struct link_rates *rates);

/* ---- parts of a listed test, and ways of packets ">leaf0>spine1>leaf2>", given by their routers ---- */

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
