/*
 * The sources of counters: the links of a leader (network devices, ports of a router, Gemini links) and one
 * reading of all their counters.
 *
 * Two sources: `files` has a file for each counter below each device's folder (Linux network devices,
 * InfiniBand, Omni-Path, Slingshot, the ports of a virtual torus's routers); `gpcd` has the tiles of a
 * Gemini, which interconnect.txt groups into links. A value is the number at the start of a file, which may
 * have the form "VALUE@TIME".
 *
 * Leaves out: the choice of leaders (counters.c) and the meaning of values (group.h).
 */
#pragma once

#include "counters/group.h"
#include "lib/run/problem.h"

#include <mpi.h>
#include <stdint.h>

enum {
    SITE_NAME_BYTES = 64,
    LINK_TEXT_BYTES = 48,
    GEMINI_ROWS = 6,
    GEMINI_COLUMNS = 8,
    COUNTER_PATH_BYTES = 4096
};

enum { GEMINI_TILES = GEMINI_ROWS * GEMINI_COLUMNS };

/* The position of a rank. */
struct counter_site {
    char key[SITE_NAME_BYTES];   /* ranks of one key have one leader */
    char label[SITE_NAME_BYTES]; /* printed name: the host, or "(0,1,1)" */
    bool on_torus;               /* coordinate and extents are known */
    int coordinate[3];
    int extents[3];
};

/* A link with counters: a device, or a direction of a router. Plain data, sent to rank 0 as it is. */
struct counter_link {
    char name[LINK_TEXT_BYTES];   /* "nic0", "X+", "HH" */
    char remote[LINK_TEXT_BYTES]; /* the coordinate at the other end, "(1,1,1)"; empty: not known */
    double rate_gbyte_s;          /* 0: not known */
};

struct counter_links {
    int count;
    struct counter_link *links;
    char **folders;                 /* files: of each device */
    char *file;                     /* gpcd: the readings */
    int link_of_tile[GEMINI_TILES]; /* gpcd */
};

/* The devices of the group at this site. */
void counter_files_find(const struct counter_group *group, const char *root, const struct counter_site *site,
                        struct counter_links *links, struct problem *problem);

/* Finds the position of one host on a torus in the text of a coordinates file (docs/formats.md) without
 * storing the file: its coordinate, the extents, key and label. Changes the text. */
void counter_torus_site(const char *path, char *text, const char *host, struct counter_site *site,
                        struct problem *problem);

/* Reads the name of this node's Gemini from ROOT/proc/cray_xt/cname: c0-0c0s3n2 is attached to c0-0c0s3g1. */
void counter_gemini_site(const char *root, struct counter_site *site, struct problem *problem);

/*
 * Collective over the leaders. Their rank 0 reads interconnect.txt and broadcasts it in pieces; each leader
 * stores the tiles and the coordinate of its own Gemini.
 */
void counter_gemini_find(MPI_Comm leaders, const struct counter_group *group, const char *root,
                         const char *interconnect, struct counter_site *site, struct counter_links *links,
                         struct problem *problem);

/* One reading: values[link * counters of the group + counter]. The three largest values are no counts but why
 * there is none: no file, a file that cannot be read, a file without such a number. Only a counter that is
 * not optional is a problem then. */
#define COUNTER_ABSENT  UINT64_MAX
#define COUNTER_REFUSED (UINT64_MAX - 1)
#define COUNTER_UNCLEAR (UINT64_MAX - 2)
static inline bool counter_is_known(uint64_t value) {
    return value < COUNTER_UNCLEAR;
}

void counter_source_read(const struct counter_group *group, const struct counter_links *links,
                         uint64_t *values, struct problem *problem);

/* Returns the difference between two readings of a 64-bit counter, which may wrap; NaN if it went backwards,
 * infinity if it is not known. */
double counter_difference(uint64_t before, uint64_t after);

/* gpcd's part of it. */
void counter_gemini_read(const struct counter_group *group, const struct counter_links *links,
                         uint64_t *values, struct problem *problem);

void counter_links_free(struct counter_links *links);
