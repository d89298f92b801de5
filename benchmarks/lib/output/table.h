/*
 * The table for people: one line per series with unit, number of samples, median, minimum and maximum.
 *
 * All series of a list share their labels' names, which become columns, but for those that are detail. Leaves
 * out: raw samples and detail (the JSON has them).
 */
#pragma once

#include "lib/output/output.h"

enum { SIZE_TEXT_BYTES = 32 };

/* "0 B", "1 KiB", "4 MiB", or the bytes when no unit divides them. */
void table_size(uint64_t bytes, char *text);

/* Prints "PROGRAM VERSION: 8 ranks on 2 hosts" without a newline; the caller continues the line. */
void table_heading(const char *program, const struct evidence_list *evidence);

/* Returns the median of samples, in any order. */
double table_median(const double *samples, int count);

/* Prints the list to stdout, aligned; what was not measured comes last, with the reason. */
void table_print(const struct series_list *list);
