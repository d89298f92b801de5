/*
 * Collects the GPUs that each rank can see, from the variables that the runtimes of CUDA, ROCm and Level Zero
 * read.
 *
 * Each rank reports its own environment, as set by a launcher or a script. Leaves out: which of the visible
 * GPUs the rank uses.
 */
#ifndef RAILYARD_LIB_OUTPUT_GPUS_H
#define RAILYARD_LIB_OUTPUT_GPUS_H

#include "lib/output/json.h"

struct gpus_list {
    int ranks;
    struct gpus_of_rank *of_rank;
};

/* Collective. Returns all ranks' GPUs on rank 0; an empty list on other ranks, and if no rank has such a
 * variable. */
void gpus_gather(struct gpus_list *list);

/* The key "gpus" with a report of each rank; nothing for an empty list. */
void gpus_write(struct json *json, const struct gpus_list *list);

void gpus_free(struct gpus_list *list);

#endif
