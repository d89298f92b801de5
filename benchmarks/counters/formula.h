/*
 * Arithmetic in data files: numbers, names, + - * / and parentheses, with the usual precedence.
 *
 * Leaves out: signs before numbers, functions, and nesting deeper than FORMULA_DEPTH_MAX.
 */
#ifndef RAILYARD_COUNTERS_FORMULA_H
#define RAILYARD_COUNTERS_FORMULA_H

#include <stdbool.h>
#include <stddef.h>

enum { FORMULA_DEPTH_MAX = 32 };

/* Looks up a name of `length` characters, which is not terminated; false if there is no such name. */
typedef bool formula_lookup(const char *name, size_t length, double *value, const void *context);

/* Computes the formula; false if it is malformed or has an unknown name. A division by 0 is NaN. */
bool formula_evaluate(const char *text, formula_lookup *lookup, const void *context, double *value);

#endif
