/* Reads the runtimes' variables on every rank; see gpus.h. */
#include "lib/output/gpus.h"

#include "lib/ranks/evidence.h"
#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES = 4, SEES_BYTES = 256 };

/* ROCR_VISIBLE_DEVICES counts the node's GPUs, the others those that it leaves. */
static const char *const variables[VARIABLES] = {"ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                                                 "ZE_AFFINITY_MASK", "HIP_VISIBLE_DEVICES"};

/* Plain data, sent to rank 0 as it is. */
struct gpus_of_rank {
    char host[EVIDENCE_HOST_BYTES];
    int variable; /* -1: none is set */
    char sees[SEES_BYTES];
};

static struct gpus_of_rank gpus_here(void) {
    struct gpus_of_rank here = {.variable = -1};
    evidence_host(here.host);
    for (int i = 0; i < VARIABLES && here.variable < 0; i++) {
        const char *value = getenv(variables[i]);
        if (!value)
            continue;
        here.variable = i;
        (void)snprintf(here.sees, sizeof here.sees, "%s", value);
    }
    return here;
}

void gpus_gather(struct gpus_list *list) {
    struct gpus_of_rank here = gpus_here();
    int bytes = (int)sizeof here;
    int known = 0;
    *list = (struct gpus_list){0};
    if (check_rank() == 0)
        list->of_rank = check_alloc((size_t)check_ranks(), sizeof here);
    MPI_CHECK(MPI_Gather(&here, bytes, MPI_BYTE, list->of_rank, bytes, MPI_BYTE, 0, MPI_COMM_WORLD));
    for (int rank = 0; list->of_rank && rank < check_ranks(); rank++)
        known += list->of_rank[rank].variable >= 0;
    if (known > 0)
        list->ranks = check_ranks();
}

void gpus_write(struct json *json, const struct gpus_list *list) {
    if (list->ranks == 0)
        return;
    json_key_array(json, "gpus");
    for (int rank = 0; rank < list->ranks; rank++) {
        const struct gpus_of_rank *of_rank = &list->of_rank[rank];
        bool is_set = of_rank->variable >= 0;
        json_object(json);
        json_key_integer(json, "rank", rank);
        json_key_text(json, "node", of_rank->host);
        json_key_text(json, "variable", is_set ? variables[of_rank->variable] : NULL);
        json_key_text(json, "sees", is_set ? of_rank->sees : NULL);
        json_object_end(json);
    }
    json_array_end(json);
}

void gpus_free(struct gpus_list *list) {
    free(list->of_rank);
}
