/*
 * Where each rank runs, read from within the rank: host, CPU, allowed CPUs, NUMA node.
 *
 * Read once. The ranks of a node merge their data before rank 0 gathers them, so rank 0 stores a few bytes
 * per rank and one layout for all identical nodes. Leaves out: migrations during the run (an unbound rank may
 * move), GPUs and NICs.
 */
#pragma once

#include <mpi.h>
#include <stddef.h>

enum { EVIDENCE_HOST_BYTES = 256 };

/* Ranks of one host. Columns are as in docs/formats.md: `0-3,7` or `0*128`. */
struct evidence_row {
    const char *host;
    const char *ranks;  /* a column */
    const char *layout; /* lines: number of ranks, columns of CPU, set of CPUs and NUMA node, then the sets */
    int layout_number;  /* index into the distinct layouts */
};

struct evidence_list {
    int ranks;
    int row_count;
    struct evidence_row *rows; /* sorted by their first ranks */
    int layout_count;
    const char **layouts; /* the distinct layouts */
    int *row_of_rank;
    char *text;
};

/* The name of this host, as the coordinates file must spell it. */
void evidence_host(char *host);

/* Collective at the first call. The ranks of MPI_COMM_WORLD on this one's node; where one process holds all
 * ranks, each is alone. */
MPI_Comm evidence_node(void);

/* Collective. All ranks' evidence on rank 0; an empty list elsewhere. */
void evidence_gather(struct evidence_list *list);

/* Collective. The same with a row for each rank, by MPI_Gather and MPI_Gatherv of MPI_COMM_WORLD alone:
 * making a communicator of a node needs messages of MPI's own, for which a link may be dead
 * (topobw/run/relay.h). */
void evidence_gather_alone(struct evidence_list *list);

/* The host of a rank. */
const char *evidence_host_of(const struct evidence_list *list, int rank);

/* Returns the number of different hosts. */
int evidence_hosts(const struct evidence_list *list);

/* Collective. Gathers bytes of any length from each rank: all of them on rank 0 of the communicator, one
 * after the other in the order of ranks, to be freed; NULL on other ranks. */
void *evidence_collect(MPI_Comm comm, const void *part, int bytes, int *total);

void evidence_free(struct evidence_list *list);
