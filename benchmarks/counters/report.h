/*
 * Gathers the leaders' counts on rank 0 and prints them: text in the form of Pedretti et al. (CUG'13), Figure
 * 4, and JSON.
 *
 * Leaves out: samples over time; a report has one difference.
 */
#pragma once

#include "counters/source.h"

/* One leader's part. */
struct counter_share {
    const struct counter_group *group;
    const struct counter_site *site;
    const char *host;
    const struct counter_links *links;
    int most_links;            /* the most links of any leader */
    const double *differences; /* sorted by link, then counter; NaN: went backwards, infinity: missing */
    double seconds;            /* between the two readings */
};

/* Collective over the leaders. Rank 0 writes the text to that file (NULL: stdout), and JSON if a path is
 * given; only rank 0 may have a problem. */
void counter_report(MPI_Comm leaders, const struct counter_share *share, const char *group_name,
                    const char *output, const char *json, struct problem *problem);
