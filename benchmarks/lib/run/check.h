/*
 * Checks calls that must succeed: a failure prints where it happened and aborts the run.
 *
 * Leaves out: recovery. User errors use problem.h and end the run normally.
 */
#pragma once

#include <mpi.h>
#include <stddef.h>

/* Exit statuses of every benchmark. */
enum {
    EXIT_DATA_WRONG = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_WRITTEN = 3,
    EXIT_MPI_FAILED = 4,
    EXIT_LINK_FAULT = 5, /* topobw: the verdict on a link is bad */
    EXIT_NOT_JUDGED = 6  /* topobw: no link is bad, but the way of a link's packets is not known */
};

/* Runs an MPI call; when it fails, prints rank, host, file, line and MPI's text, then aborts the run. */
#define MPI_CHECK(call) check_mpi((call), __FILE__, __LINE__)

void check_mpi(int code, const char *file, int line);

/* Prints rank, host, file, line and a text, then aborts the run. */
_Noreturn void check_stop(const char *text, const char *file, int line);

/* Starts MPI with errors returned to MPI_CHECK instead of handled by the library. Only one thread calls MPI,
 * so that every library has the thread level. Ends the program where MPI does not understand the launcher. */
void check_mpi_init(int *argc, char ***argv);

/*
 * Returns the launcher's number of processes if MPI made each of them its own MPI_COMM_WORLD; 0 if they
 * agree.
 *
 * That happens where a program's MPI does not understand the launcher: MPICH's programs under Open MPI's
 * mpirun, or an image whose MPI is another than the machine's. Every process then runs the whole problem
 * alone, and may even succeed. Knows Open MPI's mpirun, PMI (Hydra, Slurm's mpi=pmi2) and Slurm's steps.
 * Leaves out launchers that tell a process nothing about its fellows.
 */
int check_singletons(void);

/* Zeroed memory for count items; aborts the run if there is no memory. Untouched pages cost nothing. */
void *check_alloc(size_t count, size_t item_bytes);

/* The same for a message buffer, aligned to a page so that copies take the same time in every run. */
void *check_alloc_pages(size_t bytes);

/* Returns an array of `count` items with room for one more, moved to larger memory if *room is used up. */
void *check_grow(void *items, int count, int *room, size_t item_bytes);

/* This process's rank, or the number of ranks, in MPI_COMM_WORLD. */
int check_rank(void);
int check_ranks(void);
