/*
 * The engine of a benchmark: a program is a table of a few functions, and this is everything around them.
 *
 * Runs, in this order: options, prepare, verify, measure, verify, then the table on stdout and the JSON
 * document. Sets the document's "verified", which no program can set itself; a program without a verify
 * function ends with an error.
 *
 * Leaves out: what is measured. topobw, whose links may be dead, has its own main.
 */
#ifndef RAILYARD_LIB_ENGINE_BENCHMARK_H
#define RAILYARD_LIB_ENGINE_BENCHMARK_H

#include "lib/input/options.h"
#include "lib/output/output.h"
#include "lib/run/check.h"

/*
 * A program. Its state is zero at first and begins with the configuration that the options fill in.
 *
 * All functions are called on all ranks, but for the last two, which rank 0 calls. One that returns false has
 * printed the reason (problem_agree).
 */
struct benchmark {
    const struct option_table *options;
    size_t state_bytes;
    bool (*prepare)(void *state); /* false: the input is wrong; NULL: there is nothing to prepare */
    bool (*verify)(void *state);  /* false: data are wrong; called before and after the measurement */
    /* Returns the exit status. The series of rank 0 are the ones that are reported. */
    int (*measure)(void *state, const struct evidence_list *evidence, struct series_list *list);
    void (*release)(void *state);  /* frees what the state owns, also after a false prepare; NULL: nothing */
    const struct run_hooks *hooks; /* NULL: none */
    void (*write_parameters)(struct json *json, const void *state);
    void (*print_heading)(
        const void *state); /* continues "PROGRAM VERSION: 8 ranks on 2 hosts"; NULL: nothing more */
};

/* Runs the program and returns its exit status. */
int benchmark_main(int argc, char **argv, const struct benchmark *benchmark);

#endif
