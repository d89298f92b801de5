/*
 * Reads the schedule of a collective's algorithm (`railyard matrix make --schedule`), and executes it by
 * messages.
 *
 * A rank's data are blocks. In each step a rank sends some of them to others, and puts what it gets into its
 * own, or adds it there; all moves of a step read what was there before. A rank begins its next step when its
 * long messages have arrived. Leaves out segments: what a move has is one message.
 */
#pragma once

#include "lib/run/problem.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* Blocks from the first to the last. */
struct range {
    int first, last;
};

struct ranges {
    struct range *list;
    int count;
};

struct move {
    int step, source, target;
    int adds;
    struct ranges blocks, into;
};

struct schedule {
    char collective[32];
    int ranks, blocks, steps;
    struct move *moves; /* in the order of steps */
    int count;
};

/* The data of a call: `data` has all blocks; an element is one of `type`, of `element` bytes. Block k begins
 * at `k * each`, or, if a vector is divided, `more` first blocks have one element more. */
struct call {
    MPI_Comm comm;
    int rank, root;
    char *data;
    size_t each, more;
    size_t element;
    MPI_Datatype type;
    MPI_Op op;
};

/* Returns the schedule in a text, which it changes; a problem, which names `path`, if there is none. */
struct schedule schedule_parse(char *text, const char *path, struct problem *problem);

void schedule_free(struct schedule *schedule);

/* Collective. Returns MPI's error code. */
int schedule_run(const struct schedule *schedule, const struct call *call);
