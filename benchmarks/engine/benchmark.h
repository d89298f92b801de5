/*
 * The engine of a benchmark: a program is a table of a few functions, and this is everything around them,
 * main() included.
 *
 * Runs, in this order: options, prepare, verify, measure, verify, then the table on stdout and the JSON
 * document. Counts the NICs meanwhile. Sets the document's "verified", which no program can set itself; a
 * program without a verify function ends with an error.
 *
 * Leaves out: what is measured. topobw, whose links may be dead, has its own main.
 */
#pragma once

#include "lib/input/options.h"
#include "lib/output/output.h"
#include "lib/run/check.h"

/*
 * A program. Its state is zero at first and begins with the configuration that the options fill in.
 *
 * All functions are called on all ranks, but for the last two, which rank 0 calls.
 */
struct benchmark {
    struct option_table options;
    size_t state_bytes;
    /* False on all ranks, with the reason printed: the input is wrong. NULL: there is nothing to prepare. */
    bool (*prepare)(void *state);
    /* Sets a problem where data are wrong; called before and after the measurement. */
    void (*verify)(void *state, struct problem *problem);
    /* Returns the exit status. The series of rank 0 are the ones that are reported. */
    int (*measure)(void *state, const struct evidence_list *evidence, struct series_list *list);
    void (*release)(void *state); /* frees what the state owns, also after a false prepare; NULL: nothing */
    bool counts_nics;             /* measure() counts what the NICs send, as the engine otherwise does */
    void (*write_parameters)(struct json *json, const void *state);
    void (*print_heading)(
        const void *state); /* continues "PROGRAM VERSION: 8 ranks on 2 hosts"; NULL: nothing more */
};

/* The program that is linked with the engine. */
extern const struct benchmark benchmark;
