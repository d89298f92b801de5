/*
 * Bounds the true time of a link from several, possibly disturbed measurements.
 *
 * Models a reading as the link's own time plus a disturbance, exponentially distributed: F is then the
 * distribution of (fastest - own) n / (mean excess over the fastest), with 2 and 2 (n - 1) degrees of
 * freedom. The result is the shortest own time that the readings do not exclude, with one chance of error in
 * a thousand. Readings that agree leave no room below the fastest; those that differ do. Pure.
 *
 * Leaves out: a disturbance that adds the same time to each reading, which looks like a slow link.
 */
#ifndef RAILYARD_TOPOBW_VERDICT_READINGS_H
#define RAILYARD_TOPOBW_VERDICT_READINGS_H

/* Returns the shortest time in seconds that the readings do not exclude: above 0 and at most the fastest
 * reading. A single reading is returned as it is. */
double readings_shortest(const double *seconds, int count);

#endif
