/* Runs a benchmark from its options to its document; see benchmark.h. */
#include "engine/benchmark.h"

#include "counters/nics.h"
#include "lib/measure/memory.h"
#include "lib/output/table.h"

#include <stdlib.h>

/* Collective. Prints the table and writes the document, if a file for it was given. */
static int report(const void *state, const struct document *document) {
    const char *json = options_text(&benchmark.options, state, "json");
    struct problem problem = {0};
    if (check_rank() == 0) {
        table_heading(document->benchmark, document->evidence);
        if (benchmark.print_heading)
            benchmark.print_heading(state);
        else
            (void)printf("; data verified\n\n");
        table_print(document->list);
        if (json)
            output_write(json, document, NULL, &problem);
    }
    return problem_agree(&problem, document->benchmark) ? EXIT_NOT_WRITTEN : EXIT_SUCCESS;
}

/* Collective. False on all ranks, with the message printed, where the data of any rank are wrong. */
static bool verify(void *state) {
    struct problem problem = {0};
    benchmark.verify(state, &problem);
    return !problem_agree(&problem, benchmark.options.program);
}

/* Collective. Measures between two verifications, without which nothing is reported. */
static int measure(void *state) {
    struct series_list list = {0};
    struct evidence_list evidence;
    evidence_gather(&evidence);
    struct document document = {.benchmark = benchmark.options.program,
                                .write_parameters = benchmark.write_parameters,
                                .context = state,
                                .evidence = &evidence,
                                .list = &list};
    int status = verify(state) ? benchmark.measure(state, &evidence, &list) : EXIT_DATA_WRONG;
    if (status == EXIT_SUCCESS) {
        document.verified = verify(state);
        status = document.verified ? report(state, &document) : EXIT_DATA_WRONG;
    }
    series_free(&list);
    evidence_free(&evidence);
    return status;
}

static int run(int argc, char **argv, void *state) {
    enum options_outcome outcome = options_read(&benchmark.options, argc, argv, state);
    if (outcome != OPTIONS_RUN)
        return options_status(outcome);
    struct problem problem = {0};
    if (!benchmark.verify)
        problem_set(&problem,
                    "its data are not verified: expected a function .verify in its struct benchmark");
    output_probe(options_text(&benchmark.options, state, "json"), &problem);
    if (problem_agree(&problem, benchmark.options.program))
        return EXIT_USAGE;
    bool ready = !benchmark.prepare || benchmark.prepare(state);
    int status = ready ? measure(state) : EXIT_USAGE;
    if (benchmark.release)
        benchmark.release(state);
    return status;
}

int main(int argc, char **argv) {
    memory_before_init(argc, argv);
    check_mpi_init(&argc, &argv);
    struct nics *nics = benchmark.counts_nics ? NULL : nics_begin();
    void *state = check_alloc(1, benchmark.state_bytes);
    int status = run(argc, argv, state);
    free(state);
    nics_end(nics);
    MPI_CHECK(MPI_Finalize());
    return status;
}
