/*
 * Sends samples from the rank that took them to rank 0, which prints and writes them.
 *
 * Leaves out: many ranks in one call; the caller loops over ranks.
 */
#ifndef RAILYARD_ROWCOL_COLLECT_H
#define RAILYARD_ROWCOL_COLLECT_H

/*
 * Called by rank `from` and by rank 0, a no-op elsewhere. Returns on rank 0 a copy of the values of `from`,
 * to be freed, and their number in *count; NULL elsewhere. What rank 0 passes matters only when it is `from`.
 */
double *collect_doubles(int from, const double *values, int *count);

#endif
