/*
 * Writes a file completely or not at all: under a temporary name first, then renamed.
 *
 * Processes of several hosts may write to one path: each uses its own temporary name, and the last file to be
 * renamed remains.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum { WHOLE_PATH_BYTES = 4096 };

/* Writes a document, given by its address, to a file. */
typedef void whole_writer(FILE *file, const void *document);

/* Writes a document to `path`; false, with errno, if that fails. */
bool whole_write(const char *path, whole_writer *write, const void *document);

/* The same for libraries, whose program continues: a failure prints one line that begins with `library`. */
void whole_write_or_tell(const char *library, const char *path, whole_writer *write, const void *document);

/* The temporary name of a path, in the same folder. */
void whole_temporary(const char *path, char temporary[WHOLE_PATH_BYTES]);
