/*
 * Rank 0 of a launch of any size, alone in one process: its own code runs, and a function takes the place of
 * what the other ranks send.
 *
 * Replaces the MPI calls that gather on rank 0 or spread from it, by MPI's profiling interface. MPI is never
 * initialised. Shows what rank 0 needs of memory and time on machines that are not at hand.
 *
 * Leaves out: every message, and what MPI itself needs.
 */
#pragma once

#include <mpi.h>
#include <stddef.h>

/* Fills what all ranks send, `bytes` each, of which rank 0 sends `own`. */
typedef void rank_zero_fill(void *context, const void *own, size_t bytes, char *all);

/* Sets the number of ranks, and what MPI_Gather calls from now on. */
void rank_zero_of(int ranks, rank_zero_fill *fill, void *context);

/* The most memory that this process has had so far, in bytes. */
double rank_zero_peak_bytes(void);

/* Seconds of a clock that only rises. */
double rank_zero_now_s(void);
