/*
 * A file that is there whole or not at all: it is written under a temporary name beside its own.
 *
 * For preloaded libraries, whose program goes on where a file cannot be written. Benchmarks use output.h.
 */
#ifndef RAILYARD_LIB_OUTPUT_WHOLE_H
#define RAILYARD_LIB_OUTPUT_WHOLE_H

#include <stdio.h>

/* Writes a document, given by its address, to a file. */
typedef void whole_writer(FILE *file, const void *document);

/* Writes a document to `path`. A failure prints one line that begins with `library`. Processes of several
 * hosts may write to one path: each has a temporary name of its own, and the last one's file remains. */
void whole_write(const char *library, const char *path, whole_writer *write, const void *document);

#endif
