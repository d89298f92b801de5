/*
 * Reads a small text file, on rank 0 alone where all need it, so that nodes need not share a file system.
 *
 * Leaves out: files beyond 16 MiB, zero bytes inside (the text ends there), and broadcasts of 2 GiB and more.
 */
#pragma once

#include "lib/run/problem.h"

#include <stdbool.h>
#include <stddef.h>

/* The text of a file, to be freed; NULL or a part of it, with a problem, when it cannot be read. Messages
 * start with the label, such as "--coordinates". */
char *textfile_load(const char *path, const char *label, size_t *length, struct problem *problem);

/* Collective. The same as rank 0 of the communicator reads it, on all ranks; NULL if rank 0 has a problem. */
char *textfile_share(MPI_Comm comm, const char *path, const char *label, struct problem *problem);

/* Collective. Returns a copy of rank 0's bytes with a terminating zero, to be freed; NULL for NULL. */
char *textfile_share_bytes(MPI_Comm comm, const char *bytes, size_t length, int *shared_length);

/*
 * The next line that is not empty once its comment (from '#') and the blanks at its ends are gone. Changes
 * the text; *number counts lines from 1. NULL at the end.
 */
char *textfile_line(char **rest, int *number);

/* The next word of a line, NULL at the end. Changes the line. */
char *textfile_word(char **rest);

/* Reads the next word as an integer from `low`, at least 0, to `high`; false if it is none. */
bool textfile_integer(char **rest, int low, int high, int *value);
