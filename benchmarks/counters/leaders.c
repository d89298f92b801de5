/* Chooses leaders on rank 0, and broadcasts rank 0's texts; see leaders.h. */
#include "counters/leaders.h"

#include "counters/source.h"
#include "lib/input/textfile.h"
#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRESENT = 1 };

int leaders_rank(MPI_Comm comm) {
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    return rank;
}

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
    struct member mine = {.rank = leaders_rank(comm)};
    struct member *members = NULL;
    int *parts = NULL;
    int size = 0;
    int part = FOLLOWS;
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
    enum counter_part part = counter_part(comm, key);
    *leaders = part == ALL_LEAD ? comm : MPI_COMM_NULL;
    if (part == LEADS || part == FOLLOWS)
        MPI_CHECK(MPI_Comm_split(comm, part == LEADS ? 0 : MPI_UNDEFINED, leaders_rank(comm), leaders));
    return part != NO_LEADERS;
}

/* ---- texts ---- */

/* A byte PRESENT and the text, or a byte 0, then a zero byte: for each. */
static char *pack(const char *const *texts, int count, size_t *length) {
    *length = 0;
    for (int i = 0; i < count; i++)
        *length += 2 + (texts[i] ? strlen(texts[i]) : 0);
    char *packed = check_alloc(*length + 1, 1);
    char *at = packed;
    for (int i = 0; i < count; i++) {
        size_t bytes = texts[i] ? strlen(texts[i]) : 0;
        *at = texts[i] ? PRESENT : 0;
        if (bytes > 0)
            memcpy(at + 1, texts[i], bytes);
        at += bytes + 2;
    }
    return packed;
}

static char *copy_of(const char *text) {
    size_t bytes = strlen(text) + 1;
    return memcpy(check_alloc(bytes, 1), text, bytes);
}

void shared_texts(MPI_Comm comm, const char *const *texts, int count, char **shared) {
    size_t length = 0;
    int bytes = 0;
    char *packed = leaders_rank(comm) == 0 ? pack(texts, count, &length) : NULL;
    char *received = textfile_share_bytes(comm, packed, length, &bytes);
    const char *at = received;
    for (int i = 0; i < count; i++) {
        bool present = *at++ == PRESENT;
        shared[i] = present ? copy_of(at) : NULL;
        at += strlen(at) + 1;
    }
    free(packed);
    free(received);
}

char *shared_expand(const char *path, const char *host) {
    size_t room = path ? strlen(path) + 1 : 1;
    for (const char *at = path; at && (at = strstr(at, "%h")) != NULL; at += 2)
        room += strlen(host);
    char *copy = path ? check_alloc(room, 1) : NULL;
    size_t used = 0;
    while (path && *path) {
        bool mark = strncmp(path, "%h", 2) == 0;
        used += (size_t)snprintf(copy + used, room - used, "%.*s", mark ? (int)strlen(host) : 1,
                                 mark ? host : path);
        path += mark ? 2 : 1;
    }
    return copy;
}
