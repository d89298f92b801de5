/* Wraps the functions that send a message to one rank; see wrap.h. */
#include "capture/wrap.h"

#define SEND_P(C, D) const void *buffer, C count, MPI_Datatype type, int to, int tag, MPI_Comm comm
#define SEND_A()     buffer, count, type, to, tag, comm
#define SEND_NOTE    capture_message(comm, to, capture_bytes(count, type))

NAMES(WRAP, Send, SEND_P, SEND_A, SEND_NOTE)
NAMES(WRAP, Bsend, SEND_P, SEND_A, SEND_NOTE)
NAMES(WRAP, Ssend, SEND_P, SEND_A, SEND_NOTE)
NAMES(WRAP, Rsend, SEND_P, SEND_A, SEND_NOTE)
NAMES(WRAP_STARTED, Isend, SEND_P, SEND_A, SEND_NOTE)
NAMES(WRAP_STARTED, Ibsend, SEND_P, SEND_A, SEND_NOTE)
NAMES(WRAP_STARTED, Issend, SEND_P, SEND_A, SEND_NOTE)
NAMES(WRAP_STARTED, Irsend, SEND_P, SEND_A, SEND_NOTE)
NAMES_PLANNED(Send_init, SEND_P, NOTHING, SEND_A, NOTHING, SEND_NOTE)
NAMES_PLANNED(Bsend_init, SEND_P, NOTHING, SEND_A, NOTHING, SEND_NOTE)
NAMES_PLANNED(Ssend_init, SEND_P, NOTHING, SEND_A, NOTHING, SEND_NOTE)
NAMES_PLANNED(Rsend_init, SEND_P, NOTHING, SEND_A, NOTHING, SEND_NOTE)

#define EXCHANGE_P(C, D)                                                                                     \
    const void *buffer, C count, MPI_Datatype type, int to, int tag, void *into, C room,                     \
        MPI_Datatype into_type, int from, int from_tag, MPI_Comm comm
#define EXCHANGE_A()            buffer, count, type, to, tag, into, room, into_type, from, from_tag, comm
#define EXCHANGE_STATUS_P(C, D) EXCHANGE_P(C, D), MPI_Status *status
#define EXCHANGE_STATUS_A()     EXCHANGE_A(), status
#define REPLACE_P(C, D)                                                                                      \
    void *buffer, C count, MPI_Datatype type, int to, int tag, int from, int from_tag, MPI_Comm comm
#define REPLACE_A()            buffer, count, type, to, tag, from, from_tag, comm
#define REPLACE_STATUS_P(C, D) REPLACE_P(C, D), MPI_Status *status
#define REPLACE_STATUS_A()     REPLACE_A(), status

NAMES(WRAP, Sendrecv, EXCHANGE_STATUS_P, EXCHANGE_STATUS_A, SEND_NOTE)
NAMES(WRAP, Sendrecv_replace, REPLACE_STATUS_P, REPLACE_STATUS_A, SEND_NOTE)
MPI_4(NAMES(WRAP_STARTED, Isendrecv, EXCHANGE_P, EXCHANGE_A, SEND_NOTE))
MPI_4(NAMES(WRAP_STARTED, Isendrecv_replace, REPLACE_P, REPLACE_A, SEND_NOTE))

/* A partitioned send: all its partitions are sent whenever it is started. */
#define PARTITIONED_P(C, D)                                                                                  \
    const void *buffer, int partitions, MPI_Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm,  \
        MPI_Info info
#define PARTITIONED_A() buffer, partitions, count, type, to, tag, comm, info

MPI_4(WRAP_PLANNED(MPI_Psend_init, PARTITIONED_P, int, int, NOTHING, PARTITIONED_A, NOTHING,
                   capture_message(comm, to, (uint64_t)partitions *capture_bytes(count, type))))
MPI_4(WRAP_PLANNED(PMPI_Psend_init, PARTITIONED_P, int, int, NOTHING, PARTITIONED_A, NOTHING,
                   capture_message(comm, to, (uint64_t)partitions *capture_bytes(count, type))))
