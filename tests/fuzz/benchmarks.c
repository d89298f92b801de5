/* Fuzzes what the benchmarks read: FUZZ_READER is links, coordinates or groups. MPI is started, because a
 * coordinates file is read by rank 0 and sent to all. */
#undef exit
#undef fclose
#undef fopen
#undef free
#include "counters/group.h"
#include "input.h"
#include "lib/ranks/coordinates.h"
#include "lib/run/check.h"
#include "topobw/plan/linkrates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* topobw's links file, for a torus of 4x3x2 routers. */
static inline void links(const uint8_t *data, size_t size) {
    static const int extents[TORUS_DIMENSIONS] = {4, 3, 2}, first[TORUS_DIMENSIONS] = {0};
    struct problem problem = {0};
    struct link_rates rates;
    fuzz_input(data, size);
    link_rates_read("input", extents, &rates, &problem);
    if (!problem_is_set(&problem)) {
        (void)link_rate_of(&rates, first, 0, 1);
        for (int i = 0; i < rates.listed.count; i++)
            (void)listed_has(rates.listed.tests[i].crossed, rates.listed.tests[i].parts);
    }
    link_rates_free(&rates);
}

static inline void coordinates(const uint8_t *data, size_t size) {
    struct problem problem = {0};
    struct coordinates read;
    fuzz_input(data, size);
    coordinates_read("input", "n0-0-0-0.domain", &read, &problem);
    coordinates_free(&read);
}

static inline void groups(const uint8_t *data, size_t size) {
    struct problem problem = {0};
    struct counter_group group;
    double counters[GROUP_COUNTERS_MAX];
    char *text = strndup((const char *)data, size);
    counter_group_parse("input", text, &group, &problem);
    for (int i = 0; i < GROUP_COUNTERS_MAX; i++)
        counters[i] = i % 5 ? i : (double)INFINITY;
    for (int i = 0; i < group.metric_count && !problem_is_set(&problem); i++)
        (void)counter_group_value(&group, i, counters);
    (void)(!problem_is_set(&problem) && counter_group_wants(&group, "eth0"));
    counter_group_free(&group);
}

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    MPI_CHECK(MPI_Init(count, arguments));
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FUZZ_READER(data, size);
    fuzz_close();
    return 0;
}
