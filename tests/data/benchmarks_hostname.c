/*
 * A preloaded gethostname for tests: one machine looks like many nodes. Rank r of Open MPI or MPICH is on
 * host n<r / d>, with d from TEST_RANKS_PER_NODE (default 1).
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static int number(const char *name, int fallback) {
    const char *text = getenv(name);
    return text ? atoi(text) : fallback;
}

int gethostname(char *name, size_t bytes) {
    (void)snprintf(name, bytes, "n%d",
                   number("OMPI_COMM_WORLD_RANK", number("PMI_RANK", 0)) / number("TEST_RANKS_PER_NODE", 1));
    return 0;
}
