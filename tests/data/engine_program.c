/* The smallest benchmark: the time of a barrier. Tests also build it without its VERIFY function. */
#include "engine/benchmark.h"

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
    ROW_JSON(offsetof(struct state, json)),
    ROW("wrong", "FLAG", "n", "y or n", "whether data are wrong", parse_flag, offsetof(struct state, wrong)),
};

/* All ranks' numbers arrive. */
static inline void verify(void *state, struct problem *problem) {
    int sum = 1;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (sum != check_ranks() || ((const struct state *)state)->wrong)
        problem_set(problem, "data are wrong");
}

static int measure(void *state, const struct evidence_list *evidence, struct series_list *list) {
    double start_s = MPI_Wtime();
    const char *unit = getenv("TEST_NO_UNIT") ? NULL : "s";
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    series_add_one(list, (struct series){.fom = {"barrier_s", unit, BETTER_LOWER}}, MPI_Wtime() - start_s);
    (void)evidence;
    (void)state;
    return EXIT_SUCCESS;
}

static void write_parameters(struct json *json, const void *state) {
    (void)json;
    (void)state;
}

const struct benchmark benchmark = {
    .options = {.program = "engine_program", .purpose = "a barrier", OPTION_ROWS(rows)},
    .state_bytes = sizeof(struct state),
    .verify = VERIFY,
    .measure = measure,
    .write_parameters = write_parameters,
};
