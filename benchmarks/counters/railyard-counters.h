/*
 * librailyard-counters: what the network counted while a part of an MPI program ran.
 *
 * Three calls, as the Gemini monitor library of Pedretti et al. (CUG'13) has them: initialise on a
 * communicator, read, print the difference of the last two readings. One rank of each node, or of each
 * router, is the leader and reads; rank 0 prints the differences of all leaders, as text in the form of the
 * paper's Figure 4 and as JSON (docs/counters.md). Memory is constant on all ranks but rank 0, where printing
 * takes it in proportion to the leaders. What is counted, where it is found and what follows from it are data
 * files, the counter groups.
 *
 *     railyard_counters *counters;
 *     if (railyard_counters_init(MPI_COMM_WORLD, NULL, &counters) == 0) {
 *         railyard_counters_read(counters);
 *         work();
 *         railyard_counters_read(counters);
 *         railyard_counters_print(counters);
 *         railyard_counters_free(&counters);
 *     }
 *
 * All calls but the last three below are collective over the communicator, of which the library makes a
 * duplicate. They return 0, or 1 on every rank after rank 0 has
 * printed one line on stderr. No privilege is needed where the counters' files can be read.
 */
#pragma once

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct railyard_counters railyard_counters;

/* What a NULL field, or no options at all, is taken from: the environment variable, then the default. Rank
 * 0's count for all ranks. "%h" in a path is each host's name. */
struct railyard_counters_options {
    const char *group;       /* RAILYARD_COUNTERS_GROUP: a group's name or file; auto: the fabric of rank 0 */
    const char *root;        /* RAILYARD_COUNTERS_ROOT: where the group's paths begin; / */
    const char *coordinates; /* RAILYARD_COUNTERS_COORDINATES: coordinates file, for leaders of routers */
    const char *interconnect; /* RAILYARD_COUNTERS_INTERCONNECT: `rtr --interconnect`; interconnect.txt */
    const char *output;       /* RAILYARD_COUNTERS_OUTPUT: the text's file; stdout */
    const char *json;         /* RAILYARD_COUNTERS_JSON: the JSON file; none */
};

int railyard_counters_init(MPI_Comm comm, const struct railyard_counters_options *options,
                           railyard_counters **counters);

/* Reads all counters of every leader. Stores the last two readings. */
int railyard_counters_read(railyard_counters *counters);

/* Prints what was counted between the last two readings. */
int railyard_counters_print(railyard_counters *counters);

void railyard_counters_free(railyard_counters **counters);

/* Not collective. Whether this rank is a leader. */
int railyard_counters_leads(const railyard_counters *counters);

/*
 * Not collective. On a leader: the sum of a metric of the group over its links between the last two readings,
 * in the metric's unit; NaN when the group has no such metric, or a counter went backwards. The counters are
 * added up before the metric's formula is evaluated.
 */
double railyard_counters_total(const railyard_counters *counters, const char *metric);

/* Not collective. The group that is read, after "auto" was resolved. */
const char *railyard_counters_group(const railyard_counters *counters);

#ifdef __cplusplus
}
#endif
