/*
 * The number of messages sent, by size class (powers of two), of this process and of all ranks.
 *
 * Class k counts messages of 2^(k-1) to 2^k - 1 bytes, class 0 those without data.
 */
#ifndef RAILYARD_PERSISTENT_TOTALS_H
#define RAILYARD_PERSISTENT_TOTALS_H

#include <stdint.h>

enum { TOTALS_CLASSES = 65 };

/* Zeroed at first. */
struct totals {
    uint64_t messages[TOTALS_CLASSES];
    uint64_t bytes[TOTALS_CLASSES];
};

void totals_add(struct totals *totals, uint64_t bytes);

/* Collective over MPI_COMM_WORLD: rank 0 writes the totals of all ranks to the file that RAILYARD_PERSISTENT
 * names on rank 0 (docs/formats.md, "Persistent sends"); without that variable nothing is written. MPI is
 * called by the names that a profiler does not count. */
void totals_write(const struct totals *totals);

#endif
