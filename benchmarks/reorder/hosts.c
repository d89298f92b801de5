/* Matches the ranks' hosts with those of a file; see hosts.h. */
#include "reorder/hosts.h"

#include "lib/input/parse.h"
#include "lib/input/textfile.h"
#include "lib/ranks/evidence.h"
#include "lib/run/check.h"
#include "lib/run/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Collective. The text of the file, to be freed; NULL with a problem on rank 0 if it cannot be read. */
static char *read_text(const char *path, MPI_Comm comm, struct problem *problem) {
    size_t length = 0;
    int rank = 0, bytes = -1;
    char *text = NULL;
    MPI_CHECK(PMPI_Comm_rank(comm, &rank));
    if (rank == 0) {
        text = textfile_load(path, "RAILYARD_REORDER", &length, problem);
        bytes = problem_is_set(problem) ? -1 : (int)length;
    }
    MPI_CHECK(PMPI_Bcast(&bytes, 1, MPI_INT, 0, comm));
    if (bytes < 0) {
        free(text);
        return NULL;
    }
    if (rank > 0)
        text = check_alloc((size_t)bytes + 1, 1);
    MPI_CHECK(PMPI_Bcast(text, bytes, MPI_CHAR, 0, comm));
    text[bytes] = '\0';
    return text;
}

static void cut_domain(char *host) {
    if (host[strspn(host, "0123456789.")]) /* an address has none */
        host[strcspn(host, ".")] = '\0';
}

/* Adds the ranks of a line, HOST or HOST*COUNT, of at most `most`. */
static void add_line(struct list *list, char *host, int most) {
    uint64_t count = 1;
    char *star = strchr(host, '*');
    if (star) {
        *star = '\0';
        if (!parse_number(star + 1, &count))
            count = 0;
    }
    cut_domain(host);
    for (uint64_t k = 0; k < count && list->ranks <= most; k++) {
        list->sorted = check_grow(list->sorted, list->ranks, &list->room, sizeof *list->sorted);
        list->sorted[list->ranks] = (struct wanted){.host = host, .rank = list->ranks};
        list->ranks++;
    }
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
    for (char *line, *rest = text; (line = textfile_line(&rest, &number));)
        add_line(&list, textfile_word(&line), most);
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

int *hosts_new_ranks(const char *path, MPI_Comm comm, int vertices) {
    struct problem problem = {{0}};
    int ranks = 0;
    MPI_CHECK(PMPI_Comm_size(comm, &ranks));
    char *text = read_text(path, comm, &problem);
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
