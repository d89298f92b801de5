/* Chooses leaders on rank 0; see counter_leaders.h. */
#include "lib/counter_leaders.h"

#include "lib/check.h"
#include "lib/counter_source.h"

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

/* leads[rank] is 1 for the lowest rank of each key. */
static void choose(struct member *members, int count, int *leads) {
    qsort(members, (size_t)count, sizeof *members, compare_members);
    for (int i = 0; i < count; i++)
        leads[members[i].rank] = i == 0 || strcmp(members[i].key, members[i - 1].key) != 0;
}

MPI_Comm counter_leaders(MPI_Comm comm, const char *key) {
    struct member mine = {.rank = 0};
    struct member *members = NULL;
    int *leads = NULL;
    int size = 0;
    int lead = 0;
    MPI_Comm leaders;
    MPI_CHECK(MPI_Comm_rank(comm, &mine.rank));
    MPI_CHECK(MPI_Comm_size(comm, &size));
    memcpy(mine.key, key, sizeof mine.key);
    if (mine.rank == 0) {
        members = check_alloc((size_t)size, sizeof *members);
        leads = check_alloc((size_t)size, sizeof *leads);
    }
    MPI_CHECK(MPI_Gather(&mine, (int)sizeof mine, MPI_BYTE, members, (int)sizeof mine, MPI_BYTE, 0, comm));
    if (mine.rank == 0)
        choose(members, size, leads);
    MPI_CHECK(MPI_Scatter(leads, 1, MPI_INT, &lead, 1, MPI_INT, 0, comm));
    MPI_CHECK(MPI_Comm_split(comm, lead ? 0 : MPI_UNDEFINED, mine.rank, &leaders));
    free(members);
    free(leads);
    return leaders;
}
