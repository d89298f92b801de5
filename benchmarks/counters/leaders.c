/* Chooses leaders on rank 0; see leaders.h. */
#include "counters/leaders.h"

#include "counters/source.h"
#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct member {
    char key[SITE_NAME_BYTES];
    int rank;
};

static int compare_members(const void *left, const void *right) {
    const struct member *a = left;
    const struct member *b = right;
    int keys = strcmp(a->key, b->key);
    return keys ? keys : (a->rank > b->rank) - (a->rank < b->rank);
}

static void give_all(int *parts, int count, enum counter_part part) {
    for (int i = 0; i < count; i++)
        parts[i] = part;
}

/* The lowest rank of each key leads; an empty key comes first. */
static void choose(struct member *members, int count, int *parts) {
    int leaders = 0;
    qsort(members, (size_t)count, sizeof *members, compare_members);
    if (!*members[0].key) {
        give_all(parts, count, NO_LEADERS);
        return;
    }
    for (int i = 0; i < count; i++) {
        bool leads = i == 0 || strcmp(members[i].key, members[i - 1].key) != 0;
        parts[members[i].rank] = leads ? LEADS : FOLLOWS;
        leaders += leads;
    }
    if (leaders == count)
        give_all(parts, count, ALL_LEAD);
}

enum counter_part counter_part(MPI_Comm comm, const char *key) {
    struct member mine = {.rank = 0};
    struct member *members = NULL;
    int *parts = NULL;
    int size = 0;
    int part = FOLLOWS;
    MPI_CHECK(MPI_Comm_rank(comm, &mine.rank));
    MPI_CHECK(MPI_Comm_size(comm, &size));
    (void)snprintf(mine.key, sizeof mine.key, "%s", key);
    if (mine.rank == 0) {
        members = check_alloc((size_t)size, sizeof *members);
        parts = check_alloc((size_t)size, sizeof *parts);
    }
    MPI_CHECK(MPI_Gather(&mine, (int)sizeof mine, MPI_BYTE, members, (int)sizeof mine, MPI_BYTE, 0, comm));
    if (mine.rank == 0)
        choose(members, size, parts);
    MPI_CHECK(MPI_Scatter(parts, 1, MPI_INT, &part, 1, MPI_INT, 0, comm));
    free(members);
    free(parts);
    return (enum counter_part)part;
}

bool counter_leaders(MPI_Comm comm, const char *key, MPI_Comm *leaders) {
    int rank = 0;
    enum counter_part part = counter_part(comm, key);
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    *leaders = part == ALL_LEAD ? comm : MPI_COMM_NULL;
    if (part == LEADS || part == FOLLOWS)
        MPI_CHECK(MPI_Comm_split(comm, part == LEADS ? 0 : MPI_UNDEFINED, rank, leaders));
    return part != NO_LEADERS;
}
