/* A hash table of open addressing with linear probing, at most half full; at the end rank 0 asks each rank in
 * turn. See matrix.h. */
#include "capture/matrix.h"

#include "lib/output/whole.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum { LIMIT_ROWS = 1 << 24, TAG = 11, FIRST_PLACES = 64 };
/* 2^64 over the golden ratio: neighbouring ranks are spread over the table. */
static const uint64_t spread = UINT64_C(0x9e3779b97f4a7c15);

/* The slot of a pair, or the free one where it belongs; the table has a free one. */
static struct pair *find_slot(const struct pairs *pairs, const struct pair *wanted) {
    size_t last = pairs->slots - 1;
    uint64_t key = (uint64_t)(uint32_t)wanted->peer << 32 | wanted->phase << 1 | wanted->fetched;
    size_t at = (size_t)((key * spread) >> 32) & last;
    while (pairs->slot[at].taken &&
           !(pairs->slot[at].peer == wanted->peer && pairs->slot[at].phase == wanted->phase &&
             pairs->slot[at].fetched == wanted->fetched))
        at = (at + 1) & last;
    return &pairs->slot[at];
}

static bool grow(struct pairs *pairs) {
    struct pairs larger = {.slots = pairs->slots ? 2 * pairs->slots : FIRST_PLACES, .count = pairs->count};
    larger.slot = calloc(larger.slots, sizeof *larger.slot);
    if (!larger.slot)
        return false;
    for (size_t i = 0; i < pairs->slots; i++)
        if (pairs->slot[i].taken)
            *find_slot(&larger, &pairs->slot[i]) = pairs->slot[i];
    free(pairs->slot);
    *pairs = larger;
    return true;
}

bool pairs_add(struct pairs *pairs, uint32_t phase, int32_t peer, bool fetched, enum kind kind,
               struct amount amount) {
    struct pair wanted = {.phase = phase, .peer = peer, .fetched = fetched, .taken = 1};
    if (2 * pairs->count >= pairs->slots && !grow(pairs))
        return false;
    struct pair *slot = find_slot(pairs, &wanted);
    if (!slot->taken) {
        *slot = wanted;
        pairs->count++;
    }
    slot->amounts[kind].messages += amount.messages;
    slot->amounts[kind].bytes += amount.bytes;
    return true;
}

/* ---- the file ---- */

struct document {
    const struct pairs *own;
    uint64_t left_out;
    int ranks;
    MPI_Comm comm;
    bool asked; /* every rank has sent its rows */
};

static _Noreturn void no_memory(void) {
    (void)fprintf(stderr, "railyard-capture: no memory to write the matrix\n");
    abort();
}

/* The pairs in the table, one after the other; the caller frees them. */
static struct pair *rows_of(const struct pairs *pairs, int *count) {
    struct pair *rows = malloc((pairs->count + 1) * sizeof *rows);
    *count = 0;
    if (!rows || pairs->count > LIMIT_ROWS)
        no_memory();
    for (size_t i = 0; i < pairs->slots; i++)
        if (pairs->slot[i].taken)
            rows[(*count)++] = pairs->slot[i];
    return rows;
}

static int compare(const void *left, const void *right) {
    const struct pair *a = left, *b = right;
    if (a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    if (a->peer != b->peer)
        return a->peer < b->peer ? -1 : 1;
    return (int)a->fetched - (int)b->fetched;
}

static void print_head(FILE *file, int ranks, uint64_t left_out, bool whole) {
    (void)fprintf(file, "# railyard-matrix/1 {\"ranks\": %d, \"left_out\": %" PRIu64 "%s}\n", ranks, left_out,
                  whole ? "" : ", \"finalized\": false");
    (void)fprintf(file, "phase,source,target,messages,bytes,collective_messages,collective_bytes,"
                        "one_sided_messages,one_sided_bytes\n");
}

static void print_rows(FILE *file, int rank, struct pair *rows, int count) {
    qsort(rows, (size_t)count, sizeof *rows, compare);
    for (const struct pair *row = rows; file && row < rows + count; row++) {
        int from = row->fetched ? row->peer : rank, to = row->fetched ? rank : row->peer;
        (void)fprintf(file, "%" PRIu32 ",%d,%d", row->phase, from, to);
        for (int kind = 0; kind < KINDS; kind++)
            (void)fprintf(file, ",%" PRIu64 ",%" PRIu64, row->amounts[kind].messages,
                          row->amounts[kind].bytes);
        (void)fputc('\n', file);
    }
}

/* Without a file the rows are taken all the same, so that no rank waits. */
static void take_rows(FILE *file, const struct document *document) {
    int count = 0;
    struct pair *rows = rows_of(document->own, &count);
    print_rows(file, 0, rows, count);
    free(rows);
    for (int rank = 1; rank < document->ranks; rank++) {
        (void)PMPI_Send(NULL, 0, MPI_BYTE, rank, TAG, document->comm);
        (void)PMPI_Recv(&count, 1, MPI_INT, rank, TAG, document->comm, MPI_STATUS_IGNORE);
        rows = malloc(((size_t)count + 1) * sizeof *rows);
        if (!rows)
            no_memory();
        (void)PMPI_Recv(rows, count * (int)sizeof *rows, MPI_BYTE, rank, TAG, document->comm,
                        MPI_STATUS_IGNORE);
        print_rows(file, rank, rows, count);
        free(rows);
    }
}

static void write_document(FILE *file, const void *written) {
    struct document *document = (struct document *)(uintptr_t)written;
    print_head(file, document->ranks, document->left_out, true);
    take_rows(file, document);
    document->asked = true;
}

void matrix_write(const struct pairs *pairs, uint64_t left_out) {
    const char *path = getenv("RAILYARD_MATRIX");
    struct document document = {.own = pairs};
    int rank = -1;
    if (PMPI_Comm_dup(MPI_COMM_WORLD, &document.comm) != MPI_SUCCESS ||
        PMPI_Comm_rank(document.comm, &rank) != MPI_SUCCESS ||
        PMPI_Comm_size(document.comm, &document.ranks) != MPI_SUCCESS)
        return;
    (void)PMPI_Reduce(&left_out, &document.left_out, 1, MPI_UINT64_T, MPI_SUM, 0, document.comm);
    if (rank > 0) {
        int count = 0;
        struct pair *rows = rows_of(document.own, &count);
        (void)PMPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, document.comm, MPI_STATUS_IGNORE);
        (void)PMPI_Send(&count, 1, MPI_INT, 0, TAG, document.comm);
        (void)PMPI_Send(rows, count * (int)sizeof *rows, MPI_BYTE, 0, TAG, document.comm);
        free(rows);
    } else {
        if (path && *path)
            whole_write_or_tell("railyard-capture", path, write_document, &document);
        if (!document.asked)
            take_rows(NULL, &document);
    }
    (void)PMPI_Comm_free(&document.comm);
}

void matrix_write_own(const struct pairs *pairs, int rank, int ranks, uint64_t left_out) {
    const char *path = getenv("RAILYARD_MATRIX");
    FILE *file = path && *path ? fopen(path, "a") : NULL;
    int count = 0;
    if (!file)
        return;
    (void)flock(fileno(file), LOCK_EX);
    if (fseek(file, 0, SEEK_END) == 0 && ftell(file) == 0) {
        print_head(file, ranks, left_out, false);
        (void)fprintf(
            stderr,
            "railyard-capture: rank %d ended without MPI_Finalize: %s has what the ranks sent until then\n",
            rank, path);
    }
    struct pair *rows = rows_of(pairs, &count);
    print_rows(file, rank, rows, count);
    free(rows);
    (void)fclose(file);
}

void matrix_remove(void) {
    const char *path = getenv("RAILYARD_MATRIX");
    if (path && *path)
        (void)unlink(path);
}
