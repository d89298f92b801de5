/*
 * Reads a small text file on rank 0 and broadcasts it, so that nodes need not share a file system.
 *
 * Leaves out: files beyond 16 MiB, and zero bytes inside (the text ends there).
 */
#ifndef RAILYARD_LIB_INPUT_TEXTFILE_H
#define RAILYARD_LIB_INPUT_TEXTFILE_H

#include "lib/run/problem.h"

#include <stdbool.h>
#include <stddef.h>

/* Collective. The text, to be freed, the same on all ranks; NULL with a problem on rank 0 when it cannot be
 * read. */
char *textfile_read(const char *path, const char *option, struct problem *problem);

/* The same on the calling rank only; messages start with the label, such as "--coordinates". */
char *textfile_load(const char *path, const char *label, size_t *length, struct problem *problem);

/*
 * The next line that is not empty once its comment (from '#') and the blanks at its ends are gone. Changes
 * the text; *number counts lines from 1. NULL at the end.
 */
char *textfile_line(char **rest, int *number);

/* The next word of a line, NULL at the end. Changes the line. */
char *textfile_word(char **rest);

/* Reads the next word as an integer from `low`, at least 0, to `high`; false if it is none. */
bool textfile_integer(char **rest, int low, int high, int *value);

#endif
