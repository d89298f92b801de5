/* Wraps the functions that access another rank's memory; see wrap.h. */
#include "capture/wrap.h"

#define PUT_P(C, D)                                                                                          \
    const void *buffer, C count, MPI_Datatype type, int rank, MPI_Aint at, C there, MPI_Datatype there_type, \
        MPI_Win window
#define PUT_A()  buffer, count, type, rank, at, there, there_type, window
#define PUT_NOTE capture_access(window, rank, capture_bytes(count, type), false)

NAMES(WRAP, Put, PUT_P, PUT_A, PUT_NOTE)
NAMES(WRAP_STARTED, Rput, PUT_P, PUT_A, PUT_NOTE)

#define GET_P(C, D)                                                                                          \
    void *buffer, C count, MPI_Datatype type, int rank, MPI_Aint at, C there, MPI_Datatype there_type,       \
        MPI_Win window
#define GET_NOTE capture_access(window, rank, capture_bytes(count, type), true)

NAMES(WRAP, Get, GET_P, PUT_A, GET_NOTE)
NAMES(WRAP_STARTED, Rget, GET_P, PUT_A, GET_NOTE)

#define ADD_P(C, D)                                                                                          \
    const void *buffer, C count, MPI_Datatype type, int rank, MPI_Aint at, C there, MPI_Datatype there_type, \
        MPI_Op operation, MPI_Win window
#define ADD_A() buffer, count, type, rank, at, there, there_type, operation, window

NAMES(WRAP, Accumulate, ADD_P, ADD_A, PUT_NOTE)
NAMES(WRAP_STARTED, Raccumulate, ADD_P, ADD_A, PUT_NOTE)

#define FETCH_P(C, D)                                                                                        \
    const void *buffer, C count, MPI_Datatype type, void *result, C result_count, MPI_Datatype result_type,  \
        int rank, MPI_Aint at, C there, MPI_Datatype there_type, MPI_Op operation, MPI_Win window
#define FETCH_A()                                                                                            \
    buffer, count, type, result, result_count, result_type, rank, at, there, there_type, operation, window

/* With MPI_NO_OP the origin sends nothing to the target. */
static void note_fetch(MPI_Win window, int rank, uint64_t sent, uint64_t fetched, MPI_Op operation) {
    if (operation != MPI_NO_OP)
        capture_access(window, rank, sent, false);
    capture_access(window, rank, fetched, true);
}

#define FETCH_NOTE                                                                                           \
    note_fetch(window, rank, capture_bytes(count, type), capture_bytes(result_count, result_type), operation)

NAMES(WRAP, Get_accumulate, FETCH_P, FETCH_A, FETCH_NOTE)
NAMES(WRAP_STARTED, Rget_accumulate, FETCH_P, FETCH_A, FETCH_NOTE)

#define ATOMIC_P                                                                                             \
    const void *buffer, void *result, MPI_Datatype type, int rank, MPI_Aint at, MPI_Op operation,            \
        MPI_Win window
#define ATOMIC_A    buffer, result, type, rank, at, operation, window
#define ATOMIC_NOTE note_fetch(window, rank, capture_bytes(1, type), capture_bytes(1, type), operation)

WRAP_NAMES(Fetch_and_op, (ATOMIC_P), (ATOMIC_A), ATOMIC_NOTE)

#define SWAP_P                                                                                               \
    const void *buffer, const void *compared, void *result, MPI_Datatype type, int rank, MPI_Aint at,        \
        MPI_Win window
#define SWAP_A    buffer, compared, result, type, rank, at, window
#define SWAP_NOTE note_fetch(window, rank, 2 * capture_bytes(1, type), capture_bytes(1, type), MPI_REPLACE)

WRAP_NAMES(Compare_and_swap, (SWAP_P), (SWAP_A), SWAP_NOTE)
