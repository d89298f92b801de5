/*
 * Makes MPI's own reordering return railyard's mapping, in any program that asks for it.
 *
 * A library to preload (railyard-witness does it where RAILYARD_REORDER is set, which names a file with the
 * host of each rank, as `railyard place --format openmpi-hostfile` prints it). MPI_Cart_create,
 * MPI_Graph_create, MPI_Dist_graph_create and MPI_Dist_graph_create_adjacent with reorder = 1 then return a
 * communicator whose rank k is on the host of line k. Leaves out: communicators of a part of MPI_COMM_WORLD
 * and those between two groups; there MPI's own function decides.
 *
 * Each function is wrapped under its names MPI_X and PMPI_X, as some MPIs' Fortran functions call the second.
 */
#include "lib/input/parse.h"
#include "lib/input/textfile.h"
#include "lib/ranks/evidence.h"
#include "lib/run/check.h"
#include "lib/run/preload.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "railyard-reorder"

/* ---- which process becomes which rank, from the hosts that a file lists ---- */

/* A rank of the file. */
struct wanted {
    const char *host; /* without its domain */
    int rank;
};

/* The ranks of the file, sorted by host, and of each the first rank on its host. */
struct list {
    struct wanted *sorted;
    int *first;
    int ranks;
    int room;
};

static void cut_domain(char *host) {
    if (host[strspn(host, "0123456789.")]) /* an address has none */
        host[strcspn(host, ".")] = '\0';
}

static int compare(const void *left, const void *right) {
    const struct wanted *a = left, *b = right;
    int order = strcmp(a->host, b->host);
    return order ? order : a->rank - b->rank;
}

/* Changes the text, which the list then points into. Stops after one rank more than `most`. */
static struct list parse(char *text, int most) {
    struct list list = {0};
    int number = 0;
    for (char *line, *rest = text; (line = textfile_line(&rest, &number));) {
        /* Adds the ranks of a line, HOST or HOST*COUNT, of at most `most`. */
        char *host = textfile_word(&line);
        uint64_t count = 1;
        char *star = strchr(host, '*');
        if (star) {
            *star = '\0';
            if (!parse_number(star + 1, &count))
                count = 0;
        }
        cut_domain(host);
        for (uint64_t k = 0; k < count && list.ranks <= most; k++) {
            list.sorted = check_grow(list.sorted, list.ranks, &list.room, sizeof *list.sorted);
            list.sorted[list.ranks] = (struct wanted){.host = host, .rank = list.ranks};
            list.ranks++;
        }
    }
    list.first = check_alloc((size_t)list.ranks + 1, sizeof *list.first);
    if (list.ranks > 0)
        qsort(list.sorted, (size_t)list.ranks, sizeof *list.sorted, compare);
    for (int k = 0, first = 0; k < list.ranks; k++) {
        if (strcmp(list.sorted[k].host, list.sorted[first].host) != 0)
            first = k;
        list.first[list.sorted[k].rank] = list.sorted[first].rank;
    }
    return list;
}

/* The first rank of the file on this process's host; -1 if the host is not there. */
static int own_first(const struct list *list) {
    char host[EVIDENCE_HOST_BYTES];
    evidence_host(host);
    cut_domain(host);
    int low = 0, high = list->ranks;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp(list->sorted[middle].host, host) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->ranks && strcmp(list->sorted[low].host, host) == 0 ? list->sorted[low].rank : -1;
}

/* Gives each rank of the file to the lowest rank on its host that is left. first_of[r] is the first rank of
 * the file on the host of rank r. Returns the rank of the file for which none is left, or -1. */
static int match(const struct list *list, const int *first_of, int ranks, int *new_rank) {
    int *head = check_alloc((size_t)list->ranks, sizeof *head);
    int *next = check_alloc((size_t)ranks, sizeof *next);
    int without = -1;
    for (int k = 0; k < list->ranks; k++)
        head[k] = -1;
    for (int r = ranks - 1; r >= 0; r--) {
        new_rank[r] = -1;
        if (first_of[r] >= 0) {
            next[r] = head[first_of[r]];
            head[first_of[r]] = r;
        }
    }
    for (int k = 0; k < list->ranks && without < 0; k++) {
        int *lowest = &head[list->first[k]];
        if (*lowest < 0) {
            without = k;
        } else {
            new_rank[*lowest] = k;
            *lowest = next[*lowest];
        }
    }
    for (int r = 0, k = list->ranks; r < ranks; r++)
        if (new_rank[r] < 0)
            new_rank[r] = k++;
    free(next);
    free(head);
    return without;
}

/* Collective. The new rank of each rank of `comm`, to be freed, the same on all: the first of them are on the
 * hosts that the lines of the file name, and the others follow in order. Processes of one host keep their
 * order. NULL, after one line on stderr, if the file does not fit: it has neither `vertices` nor as many
 * lines as ranks, or another host than the ranks have. */
static int *new_ranks_of(const char *path, MPI_Comm comm, int vertices) {
    struct problem problem = {{0}};
    int ranks = 0;
    MPI_CHECK(PMPI_Comm_size(comm, &ranks));
    char *text = textfile_share(comm, path, "RAILYARD_REORDER", &problem);
    struct list list = {0};
    int *first_of = check_alloc((size_t)ranks, sizeof *first_of);
    int *new_rank = check_alloc((size_t)ranks, sizeof *new_rank);
    if (text) {
        list = parse(text, ranks);
        int own = own_first(&list);
        MPI_CHECK(PMPI_Allgather(&own, 1, MPI_INT, first_of, 1, MPI_INT, comm));
        if (list.ranks != vertices && list.ranks != ranks)
            problem_set(&problem, "%s: %s%d ranks; expected %d", path, list.ranks > ranks ? "more than " : "",
                        list.ranks > ranks ? ranks : list.ranks, ranks);
        int without = problem_is_set(&problem) ? -1 : match(&list, first_of, ranks, new_rank);
        if (without >= 0)
            problem_set(&problem, "%s: rank %d: no process of the program is left on its host", path,
                        without);
    }
    bool bad = problem_tell(comm, &problem, "railyard-reorder: ranks stay as they are");
    free(first_of);
    free(list.first);
    free(list.sorted);
    free(text);
    if (bad) {
        free(new_rank);
        return NULL;
    }
    return new_rank;
}

/* ---- MPI's functions ---- */

/* The lists of a vertex; weights are NULL where it has none. */
struct neighbours {
    int counts[3]; /* sources, destinations, and whether they have weights */
    int *list;     /* sources, their weights, destinations, their weights */
};

static int size_of(MPI_Comm comm) {
    int size = 0;
    return comm != MPI_COMM_NULL && PMPI_Comm_size(comm, &size) == MPI_SUCCESS ? size : 0;
}

/* Collective. The same processes in the order of the file; MPI_COMM_NULL where MPI shall decide. */
static MPI_Comm reordered(MPI_Comm comm, int vertices, int **new_ranks) {
    const char *path = getenv("RAILYARD_REORDER");
    MPI_Comm permuted = MPI_COMM_NULL;
    int between = 0, rank = 0;
    if (!path || !*path || size_of(comm) != size_of(MPI_COMM_WORLD) ||
        PMPI_Comm_test_inter(comm, &between) != MPI_SUCCESS || between)
        return MPI_COMM_NULL;
    preload_own_calls(1);
    int *new_rank = new_ranks_of(path, comm, vertices);
    if (new_rank) {
        MPI_CHECK(PMPI_Comm_rank(comm, &rank));
        MPI_CHECK(PMPI_Comm_split(comm, 0, new_rank[rank], &permuted));
    }
    preload_own_calls(0);
    *new_ranks = new_rank;
    return permuted;
}

static int product(int dimensions, const int *lengths) {
    int vertices = 1;
    for (int d = 0; d < dimensions && vertices > 0; d++)
        vertices = lengths[d] > 0 && vertices <= (1 << 30) / lengths[d] ? vertices * lengths[d] : 0;
    return vertices;
}

#define CART_P                                                                                               \
    MPI_Comm comm, int dimensions, const int lengths[], const int periods[], int reorder, MPI_Comm *made
#define CART_A(comm, reorder) comm, dimensions, lengths, periods, reorder, made

#define GRAPH_P                MPI_Comm comm, int vertices, const int index[], const int edges[], int reorder, MPI_Comm *made
#define GRAPH_A(comm, reorder) comm, vertices, index, edges, reorder, made

/* Any process may list any edge, so the ranks of all are those of the new communicator. */
#define DIST_P                                                                                               \
    MPI_Comm comm, int count, const int sources[], const int degrees[], const int destinations[],            \
        const int weights[], MPI_Info info, int reorder, MPI_Comm *made
#define DIST_A(comm, reorder) comm, count, sources, degrees, destinations, weights, info, reorder, made

#define REORDERED(name, P, A, vertices)                                                                      \
    PRELOAD_EXPORTED int name(P);                                                                            \
    int name(P) {                                                                                            \
        int *new_ranks = NULL;                                                                               \
        PRELOAD_NEXT(LIBRARY, name, (P));                                                                    \
        MPI_Comm permuted = reorder ? reordered(comm, vertices, &new_ranks) : MPI_COMM_NULL;                 \
        if (permuted == MPI_COMM_NULL)                                                                       \
            return next(A(comm, reorder));                                                                   \
        int code = next(A(permuted, 0));                                                                     \
        free(new_ranks);                                                                                     \
        (void)PMPI_Comm_free(&permuted);                                                                     \
        return code;                                                                                         \
    }

REORDERED(MPI_Cart_create, CART_P, CART_A, product(dimensions, lengths))
REORDERED(PMPI_Cart_create, CART_P, CART_A, product(dimensions, lengths))
REORDERED(MPI_Graph_create, GRAPH_P, GRAPH_A, vertices)
REORDERED(PMPI_Graph_create, GRAPH_P, GRAPH_A, vertices)
REORDERED(MPI_Dist_graph_create, DIST_P, DIST_A, size_of(comm))
REORDERED(PMPI_Dist_graph_create, DIST_P, DIST_A, size_of(comm))

static size_t entries(const struct neighbours *neighbours) {
    size_t both = (size_t)neighbours->counts[0] + (size_t)neighbours->counts[1];
    return neighbours->counts[2] ? 2 * both : both;
}

static void append(int **end, const int *values, int count) {
    if (count > 0)
        memcpy(*end, values, (size_t)count * sizeof **end);
    *end += count;
}

/* The lists that this process passed, which are those of the vertex of its old rank. */
static struct neighbours packed(const struct neighbours *counts, const int *sources,
                                const int *source_weights, const int *destinations,
                                const int *destination_weights) {
    struct neighbours own = *counts;
    own.list = check_alloc(entries(&own) + 1, sizeof *own.list);
    int *end = own.list;
    append(&end, sources, own.counts[0]);
    if (own.counts[2])
        append(&end, source_weights, own.counts[0]);
    append(&end, destinations, own.counts[1]);
    if (own.counts[2])
        append(&end, destination_weights, own.counts[1]);
    return own;
}

/* Collective. Passes each vertex's lists to the process that has its rank now, and frees those passed. */
static struct neighbours exchanged(MPI_Comm comm, MPI_Comm permuted, const int *new_rank,
                                   struct neighbours own) {
    int old = 0, now = 0;
    struct neighbours taken = {{0}, NULL};
    MPI_CHECK(PMPI_Comm_rank(comm, &old));
    MPI_CHECK(PMPI_Comm_rank(permuted, &now));
    int from = new_rank[now]; /* the process whose old rank is the new one of this process */
    MPI_CHECK(PMPI_Sendrecv(own.counts, 3, MPI_INT, old, 0, taken.counts, 3, MPI_INT, from, 0, permuted,
                            MPI_STATUS_IGNORE));
    taken.list = check_alloc(entries(&taken) + 1, sizeof *taken.list);
    MPI_CHECK(PMPI_Sendrecv(own.list, (int)entries(&own), MPI_INT, old, 1, taken.list, (int)entries(&taken),
                            MPI_INT, from, 1, permuted, MPI_STATUS_IGNORE));
    free(own.list);
    return taken;
}

#define ADJACENT_P                                                                                           \
    MPI_Comm comm, int in, const int sources[], const int source_weights[], int out,                         \
        const int destinations[], const int destination_weights[], MPI_Info info, int reorder,               \
        MPI_Comm *made

typedef int adjacent_function(ADJACENT_P);

/* Collective. A vertex without neighbours may have MPI_WEIGHTS_EMPTY, which is no list either. */
static int adjacent(adjacent_function *next, ADJACENT_P) {
    int *new_rank = NULL;
    MPI_Comm permuted = reorder ? reordered(comm, size_of(comm), &new_rank) : MPI_COMM_NULL;
    if (permuted == MPI_COMM_NULL)
        return next(comm, in, sources, source_weights, out, destinations, destination_weights, info, reorder,
                    made);
    bool weighted = source_weights != MPI_UNWEIGHTED && destination_weights != MPI_UNWEIGHTED;
    struct neighbours counts = {{in, out, weighted}, NULL};
    preload_own_calls(1);
    struct neighbours taken =
        exchanged(comm, permuted, new_rank,
                  packed(&counts, sources, source_weights, destinations, destination_weights));
    preload_own_calls(0);
    int *to = taken.list + taken.counts[0] * (weighted ? 2 : 1);
    int code =
        next(permuted, taken.counts[0], taken.list, weighted ? taken.list + taken.counts[0] : MPI_UNWEIGHTED,
             taken.counts[1], to, weighted ? to + taken.counts[1] : MPI_UNWEIGHTED, info, 0, made);
    free(taken.list);
    free(new_rank);
    (void)PMPI_Comm_free(&permuted);
    return code;
}

#define ADJACENT(name)                                                                                       \
    PRELOAD_EXPORTED int name(ADJACENT_P);                                                                   \
    int name(ADJACENT_P) {                                                                                   \
        PRELOAD_NEXT(LIBRARY, name, (ADJACENT_P));                                                           \
        return adjacent(next, comm, in, sources, source_weights, out, destinations, destination_weights,     \
                        info, reorder, made);                                                                \
    }

ADJACENT(MPI_Dist_graph_create_adjacent)
ADJACENT(PMPI_Dist_graph_create_adjacent)
