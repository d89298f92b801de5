/*
 * What the wrappers of the capture share: the macros that make them, and what they call.
 *
 * Each function is wrapped under four names: MPI_X and PMPI_X, with counts of int and (X_c of MPI 4) of
 * MPI_Count. C programs call MPI_X; the Fortran functions of Open MPI and MPICH, of all three bindings, call
 * MPI_X or PMPI_X of C, and so does a profiler. The outermost wrapper alone counts.
 */
#pragma once

#include "capture/matrix.h"
#include "capture/peers.h"
#include "lib/run/preload.h"

#define CAPTURE "railyard-capture"

/* Functions that the MPI of this build may lack are then not wrapped: a program that looks for them, as
 * mpi4py does by weak symbols, must not find them here. LARGE() is for counts of MPI_Count, MPI_4() for what
 * else is new in MPI 4.0, which Open MPI 5 has although its MPI_VERSION is 3. */
#if MPI_VERSION >= 4
#define LARGE(...) __VA_ARGS__
#else
#define LARGE(...)
#endif
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define MPI_4(...) __VA_ARGS__
#else
#define MPI_4(...)
#endif

/* Bytes of `count` items; 0 for a type without a size. */
uint64_t capture_bytes(MPI_Count count, MPI_Datatype type);

/* Counts one message to a rank of a communicator. */
void capture_message(MPI_Comm comm, int to, uint64_t bytes);

/* Counts one access to a rank's memory; `fetched` if the bytes come from there. */
void capture_access(MPI_Win window, int rank, uint64_t bytes, bool fetched);

/* Counts what a collective sends to a rank of its communicator. */
void capture_collective(const struct peers *peers, int to, uint64_t messages, uint64_t bytes);

/* A blocking collective of all ranks, called at `site`, begins a step of the program, or has ended. The steps
 * of one site are one phase, so that a loop's are folded. Does nothing for a communicator of fewer ranks. */
void capture_step(MPI_Comm comm, const void *site);
void capture_step_end(MPI_Comm comm);

/* The ranks of a collective's communicator; null, and counted as left out, where it is none or joins two
 * groups. */
const struct peers *capture_peers(MPI_Comm comm);

/* Between these, what this thread counts belongs to a persistent request, and counts whenever it starts. */
void capture_plan_begin(void);
void capture_plan_end(MPI_Request request);

/* A wrapper that counts by `note` after the call. P(C, D) are its parameters, with counts of type C and
 * displacements of type D, and A() its arguments. */
#define WRAP(name, P, C, D, A, note) PRELOAD_WRAP(CAPTURE, name, (P(C, D)), (A()), note)

/* The same with a request as the last parameter. */
#define WRAP_STARTED(name, P, C, D, A, note)                                                                 \
    PRELOAD_WRAP(CAPTURE, name, (P(C, D), MPI_Request * request), (A(), request), note)

/* The same for a persistent request: E are the parameters between the others and the request, F the
 * arguments. */
#define WRAP_PLANNED(name, P, C, D, E, A, F, note)                                                           \
    PRELOAD_WRAP(CAPTURE, name, (P(C, D) E(), MPI_Request * request), (A() F(), request),                    \
                 (capture_plan_begin(), note, capture_plan_end(*request)))

/* Functions without counts, under their two names. */
#define WRAP_NAMES(name, parameters, arguments, note)                                                        \
    PRELOAD_WRAP(CAPTURE, MPI_##name, parameters, arguments, note)                                           \
    PRELOAD_WRAP(CAPTURE, PMPI_##name, parameters, arguments, note)

#define NAMES(macro, name, P, A, note)                                                                       \
    macro(MPI_##name, P, int, int, A, note) macro(PMPI_##name, P, int, int, A, note)                         \
        LARGE(macro(MPI_##name##_c, P, MPI_Count, MPI_Aint, A, note)                                         \
                  macro(PMPI_##name##_c, P, MPI_Count, MPI_Aint, A, note))

#define NAMES_PLANNED(name, P, E, A, F, note)                                                                \
    WRAP_PLANNED(MPI_##name, P, int, int, E, A, F, note)                                                     \
    WRAP_PLANNED(PMPI_##name, P, int, int, E, A, F, note)                                                    \
    LARGE(WRAP_PLANNED(MPI_##name##_c, P, MPI_Count, MPI_Aint, E, A, F, note)                                \
              WRAP_PLANNED(PMPI_##name##_c, P, MPI_Count, MPI_Aint, E, A, F, note))

#define NOTHING()
