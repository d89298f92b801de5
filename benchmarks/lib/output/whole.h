/*
 * Writes a file completely or not at all: under a temporary name first, then renamed.
 *
 * For preloaded libraries, whose program continues even if a file cannot be written. Benchmarks use output.h.
 */
#ifndef RAILYARD_LIB_OUTPUT_WHOLE_H
#define RAILYARD_LIB_OUTPUT_WHOLE_H

#include <stdio.h>

/* Writes a document, given by its address, to a file. */
typedef void whole_writer(FILE *file, const void *document);

/* Writes a document to `path`. A failure prints one line that begins with `library`. Processes of several
 * hosts may write to one path: each uses its own temporary name, and the last file to be renamed remains. */
void whole_write(const char *library, const char *path, whole_writer *write, const void *document);

#endif
