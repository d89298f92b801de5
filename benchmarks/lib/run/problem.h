/*
 * A problem is one line of text, or empty. Any rank may set one; all ranks then agree on the first one and
 * exit together.
 *
 * Leaves out: more than one problem. Only the first is stored.
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>

enum { PROBLEM_BYTES = 1024 };

struct problem {
    char text[PROBLEM_BYTES];
};

/* Stores the text unless a problem is already set. */
__attribute__((format(printf, 2, 3))) void problem_set(struct problem *problem, const char *format, ...);

bool problem_is_set(const struct problem *problem);

/*
 * Collective. True on every rank if any rank has a problem; rank 0 then prints the one of the lowest such
 * rank as "PROGRAM: TEXT", one line on stderr.
 */
bool problem_agree(const struct problem *problem, const char *program);

/* The same for the ranks of a communicator, whose rank 0 prints. */
bool problem_agree_on(MPI_Comm comm, const struct problem *problem, const char *program);

/* The same, and also returns the minimum of the ranks' numbers in *number, in the same message. */
bool problem_agree_least(MPI_Comm comm, const struct problem *problem, const char *program, int *number);

/* The same if only rank 0 can have a problem. */
bool problem_tell(MPI_Comm comm, const struct problem *problem, const char *program);
