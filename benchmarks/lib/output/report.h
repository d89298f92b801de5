/*
 * The end of every good run: heading and table on stdout, the document in a file.
 *
 * Leaves out: what a benchmark says in its heading.
 */
#ifndef RAILYARD_LIB_OUTPUT_REPORT_H
#define RAILYARD_LIB_OUTPUT_REPORT_H

#include "lib/output/output.h"

/*
 * Collective. Rank 0 prints heading and table, and writes the document unless json is NULL. Returns the exit
 * status, the same on all ranks. The heading gets the document's context.
 */
int report(const struct document *document,
           void (*print_heading)(const void *context, const struct evidence_list *evidence),
           const char *json);

#endif
