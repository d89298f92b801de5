/* Counts, gathers and writes; see totals.h. */
#include "persistent/totals.h"

#include "lib/output/json.h"
#include "lib/output/whole.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY "railyard-persistent"

/* Of one rank. */
struct sum {
    uint64_t messages;
    uint64_t bytes;
};

/* Of all ranks, on rank 0. */
struct document {
    int ranks;
    struct sum *of_rank;
    struct totals all;
};

static int class_of(uint64_t bytes) {
    int class = 0;
    for (; bytes > 0; bytes /= 2)
        class ++;
    return class;
}

void totals_add(struct totals *totals, uint64_t bytes) {
    int class = class_of(bytes);
    totals->messages[class]++;
    totals->bytes[class] += bytes;
}

static struct sum sum_of(const struct totals *totals) {
    struct sum sum = {0};
    for (int class = 0; class < TOTALS_CLASSES; class ++) {
        sum.messages += totals->messages[class];
        sum.bytes += totals->bytes[class];
    }
    return sum;
}

static void write_row(struct json *json, const char *name, uint64_t value, uint64_t messages,
                      uint64_t bytes) {
    json_object(json);
    json_key_unsigned(json, name, value);
    json_key_unsigned(json, "messages", messages);
    json_key_unsigned(json, "bytes", bytes);
    json_object_end(json);
}

/* The largest size of a class. */
static uint64_t largest_of(int class) {
    return class == 0 ? 0 : UINT64_MAX >> (TOTALS_CLASSES - 1 - class);
}

static void write_document(FILE *file, const void *written) {
    const struct document *document = written;
    struct json json = json_start(file);
    json_object(&json);
    json_key_text(&json, "format", "railyard-persistent/1");
    json_key_array(&json, "ranks");
    for (int rank = 0; rank < document->ranks; rank++)
        write_row(&json, "rank", (uint64_t)rank, document->of_rank[rank].messages,
                  document->of_rank[rank].bytes);
    json_array_end(&json);
    json_key_array(&json, "sizes");
    for (int class = 0; class < TOTALS_CLASSES; class ++)
        if (document->all.messages[class] > 0)
            write_row(&json, "size_bytes", largest_of(class), document->all.messages[class],
                      document->all.bytes[class]);
    json_array_end(&json);
    json_object_end(&json);
}

/* Collective. True when all ranks' totals are on rank 0; `of_rank` is null elsewhere. */
static bool gather(const struct totals *totals, struct document *document) {
    const int of_sum = sizeof(struct sum) / sizeof(uint64_t);
    const int of_totals = sizeof *totals / sizeof(uint64_t);
    struct sum own = sum_of(totals);
    return PMPI_Gather(&own, of_sum, MPI_UINT64_T, document->of_rank, of_sum, MPI_UINT64_T, 0,
                       MPI_COMM_WORLD) == MPI_SUCCESS &&
           PMPI_Reduce(totals, &document->all, of_totals, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD) ==
               MPI_SUCCESS;
}

void totals_write(const struct totals *totals) {
    const char *path = getenv("RAILYARD_PERSISTENT");
    struct document document = {0};
    int rank = -1;
    if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
        PMPI_Comm_size(MPI_COMM_WORLD, &document.ranks) != MPI_SUCCESS)
        return;
    if (rank == 0 && !(document.of_rank = calloc((size_t)document.ranks, sizeof *document.of_rank))) {
        (void)fprintf(stderr, LIBRARY ": no memory for the totals of %d ranks\n", document.ranks);
        abort();
    }
    if (gather(totals, &document) && rank == 0 && path && *path)
        whole_write(LIBRARY, path, write_document, &document);
    free(document.of_rank);
}
