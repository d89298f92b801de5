/*
 * A profiler that is preloaded, as mpiP is: it wraps the functions of C and those of Fortran, calls MPI by
 * the names of its profiling interface, and at the end each rank prints how many calls it saw.
 */
#include <mpi.h>
#include <stdio.h>

static struct { int inits, starts, startalls, frees; } seen;

int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    seen.inits++;
    return PMPI_Send_init(buffer, count, type, to, tag, comm, request);
}

int MPI_Start(MPI_Request *request) {
    seen.starts++;
    return PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request *requests) {
    seen.startalls++;
    return PMPI_Startall(count, requests);
}

int MPI_Request_free(MPI_Request *request) {
    seen.frees++;
    return PMPI_Request_free(request);
}

static void report(void) {
    printf("saw %d %d %d %d\n", seen.inits, seen.starts, seen.startalls, seen.frees);
    fflush(stdout);
}

int MPI_Finalize(void) {
    report();
    return PMPI_Finalize();
}

void mpi_send_init_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag,
                    MPI_Fint *comm, MPI_Fint *request, MPI_Fint *code) {
    MPI_Request made;
    seen.inits++;
    *code = PMPI_Send_init(buffer, *count, MPI_Type_f2c(*type), *to, *tag, MPI_Comm_f2c(*comm), &made);
    *request = MPI_Request_c2f(made);
}

void mpi_start_(MPI_Fint *request, MPI_Fint *code) {
    MPI_Request started = MPI_Request_f2c(*request);
    seen.starts++;
    *code = PMPI_Start(&started);
    *request = MPI_Request_c2f(started);
}

void mpi_startall_(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *code) {
    enum { MOST = 8 };
    MPI_Request started[MOST];
    seen.startalls++;
    for (int i = 0; i < *count && i < MOST; i++)
        started[i] = MPI_Request_f2c(requests[i]);
    *code = PMPI_Startall(*count, started);
}

void mpi_request_free_(MPI_Fint *request, MPI_Fint *code) {
    MPI_Request freed = MPI_Request_f2c(*request);
    seen.frees++;
    *code = PMPI_Request_free(&freed);
    *request = MPI_Request_c2f(freed);
}

void mpi_finalize_(MPI_Fint *code) {
    report();
    *code = PMPI_Finalize();
}
