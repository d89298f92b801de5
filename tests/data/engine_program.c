/* The smallest benchmark: the time of a barrier. Tests link it with librailyard.a alone. */
#include "lib/engine/benchmark.h"
#include "lib/input/parse.h"

#include <stdlib.h>

struct state {
    const char *json;
    bool wrong;
};

static bool parse_flag(const char *text, void *field) {
    *(bool *)field = *text == 'y';
    return true;
}

static const struct option_row rows[] = {
    {"json", "FILE", NULL, "none", "a path", "the document", parse_text, offsetof(struct state, json)},
    {"wrong", "FLAG", "n", NULL, "y or n", "whether data are wrong", parse_flag,
     offsetof(struct state, wrong)},
};

static const struct option_table options = {"engine_program", "a barrier", rows, 2, NULL, NULL};

/* All ranks' numbers arrive. */
static bool verify(void *state) {
    struct problem problem = {0};
    int sum = 1;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (sum != check_ranks() || ((const struct state *)state)->wrong)
        problem_set(&problem, "data are wrong");
    return !problem_agree(&problem, options.program);
}

static int measure(void *state, const struct evidence_list *evidence, struct series_list *list) {
    double *seconds = check_alloc(1, sizeof *seconds);
    double start_s = MPI_Wtime();
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    *seconds = MPI_Wtime() - start_s;
    const char *unit = getenv("TEST_NO_UNIT") ? NULL : "s";
    series_add(list,
               (struct series){.fom = {"barrier_s", unit, BETTER_LOWER}, .count = 1, .samples = seconds});
    (void)evidence;
    (void)state;
    return EXIT_SUCCESS;
}

static void write_parameters(struct json *json, const void *state) {
    (void)json;
    (void)state;
}

int main(int argc, char **argv) {
    struct benchmark benchmark = {.options = &options,
                                  .state_bytes = sizeof(struct state),
                                  .verify = verify,
                                  .measure = measure,
                                  .write_parameters = write_parameters};
    if (getenv("TEST_NO_VERIFY"))
        benchmark.verify = NULL;
    return benchmark_main(argc, argv, &benchmark);
}
