/* Samples to rank 0; see collect.h. */
#include "rowcol/collect.h"

#include "lib/run/check.h"

#include <string.h>

enum { TAG_COUNT = 11, TAG_VALUES = 12 };

static double *copy(const double *values, int count) {
    double *copied = check_alloc((size_t)count, sizeof *copied);
    return memcpy(copied, values, (size_t)count * sizeof *copied);
}

static double *receive(int from, int *count) {
    MPI_CHECK(MPI_Recv(count, 1, MPI_INT, from, TAG_COUNT, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    double *values = check_alloc((size_t)*count, sizeof *values);
    MPI_CHECK(MPI_Recv(values, *count, MPI_DOUBLE, from, TAG_VALUES, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return values;
}

double *collect_doubles(int from, const double *values, int *count) {
    int rank = check_rank();
    if (rank == 0)
        return from == 0 ? copy(values, *count) : receive(from, count);
    if (rank == from) {
        MPI_CHECK(MPI_Send(count, 1, MPI_INT, 0, TAG_COUNT, MPI_COMM_WORLD));
        MPI_CHECK(MPI_Send(values, *count, MPI_DOUBLE, 0, TAG_VALUES, MPI_COMM_WORLD));
    }
    return NULL;
}
