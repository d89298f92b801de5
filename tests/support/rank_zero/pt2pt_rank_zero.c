/*
 * Takes MPI's place in pt2pt for rank 0 of RAILYARD_MADE_UP_RANKS ranks, each on a node of its own: n00000,
 * n00001, ...
 *
 * Messages take no time: what is received is the sender's payload (of --seed 1), or zeros. Collectives give
 * what rank 0 gave, except for the names of the nodes. Files are written as MPI does. At the end the most
 * memory of the process goes to stderr. Leaves out: what --json has of other ranks' NICs.
 */
#include "rank_zero.h"

#include "lib/measure/payload.h"
#include "lib/ranks/evidence.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TAGS_OF_DATA = 5,   /* TAG_DATA of pt2pt/engine.c, of both pairs of the same ranks: 1 and 1 + 4 */
    NAMES_BYTES = 13,   /* "n00000", "00000", each with its end */
    OWN_RANKS_BYTES = 2 /* "0" and its end */
};

static int file = -1;
static int ranks = 2;

/* The bytes in front of the layout in rank 0's text of evidence (lib/ranks/evidence.h): its host and its
 * ranks. */
static size_t own_names_bytes(void) {
    char host[EVIDENCE_HOST_BYTES];
    evidence_host(host);
    return strlen(host) + 1 + OWN_RANKS_BYTES;
}

/* Every rank sends what rank 0 does; a lone number is the length of a text of evidence. */
static void fill(void *context, const void *own, size_t bytes, char *all) {
    (void)context;
    for (int rank = 0; rank < ranks; rank++)
        if (bytes == sizeof(int))
            ((int *)(void *)all)[rank] = *(const int *)own - (int)own_names_bytes() + NAMES_BYTES;
        else
            memcpy(all + (size_t)rank * bytes, own, bytes);
}

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("RAILYARD_MADE_UP_RANKS");
    ranks = text ? atoi(text) : ranks;
    rank_zero_of(ranks, fill, NULL);
}

__attribute__((destructor)) static void end(void) {
    (void)fprintf(stderr, "peak_bytes %.0f\n", rank_zero_peak_bytes());
}

static size_t bytes_of(int count, MPI_Datatype type) {
    size_t each = type == MPI_DOUBLE || type == MPI_UINT64_T || type == MPI_OFFSET ? 8
                  : type == MPI_INT || type == MPI_FLOAT                           ? 4
                                                                                   : 1;
    return (size_t)count * each;
}

static void receive(void *buffer, int count, MPI_Datatype type, int from, int tag) {
    size_t bytes = bytes_of(count, type);
    if (bytes == 0)
        return;
    if ((tag == 1 || tag == TAGS_OF_DATA) && type == MPI_BYTE)
        payload_fill(buffer, bytes, payload_key(1, 0, (uint64_t)from, 0));
    else
        memset(buffer, 0, bytes);
}

#define UNUSED(x) (void)(x)

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status) {
    UNUSED(comm), UNUSED(status);
    receive(buffer, count, type, from, tag);
    return MPI_SUCCESS;
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    return MPI_Recv(buffer, count, type, from, tag, comm, MPI_STATUS_IGNORE);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    UNUSED(buffer), UNUSED(count), UNUSED(type), UNUSED(to), UNUSED(tag), UNUSED(comm);
    return MPI_SUCCESS;
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    return MPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    UNUSED(status);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
    UNUSED(count), UNUSED(requests), UNUSED(statuses);
    return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
    *done = 1;
    return MPI_Wait(request, status);
}

int MPI_Testall(int count, MPI_Request *requests, int *done, MPI_Status *statuses) {
    *done = 1;
    return MPI_Waitall(count, requests, statuses);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    UNUSED(comm);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm) {
    UNUSED(comm);
    return MPI_SUCCESS;
}

int MPI_Allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    UNUSED(op), UNUSED(comm);
    if (sent != MPI_IN_PLACE)
        memcpy(received, sent, bytes_of(count, type));
    return MPI_SUCCESS;
}

int MPI_Reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
    UNUSED(root);
    return MPI_Allreduce(sent, received, count, type, op, comm);
}

int MPI_Allgather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int count,
                  MPI_Datatype type, MPI_Comm comm) {
    return MPI_Gather(sent, sent_count, sent_type, received, count, type, 0, comm);
}

int MPI_Gatherv(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, const int *counts,
                const int *offsets, MPI_Datatype type, int root, MPI_Comm comm) {
    UNUSED(counts), UNUSED(type), UNUSED(root);
    size_t bytes = bytes_of(sent_count, sent_type);
    if (comm == MPI_COMM_SELF || sent_type != MPI_CHAR) {
        memcpy(received, sent, bytes);
        return MPI_SUCCESS;
    }
    for (int rank = 0; rank < ranks; rank++) {
        char names[NAMES_BYTES + 1] = "";
        char *text = (char *)received + offsets[rank];
        (void)snprintf(names, sizeof names, "n%05d%c%05d", rank % 100000, 0, rank % 100000);
        memcpy(text, names, NAMES_BYTES);
        memcpy(text + NAMES_BYTES, (const char *)sent + own_names_bytes(), bytes - own_names_bytes());
    }
    return MPI_SUCCESS;
}

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm *made) {
    UNUSED(colour), UNUSED(key);
    *made = comm;
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm) {
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int MPI_File_open(MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *opened) {
    UNUSED(comm), UNUSED(mode), UNUSED(info);
    file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    *opened = MPI_FILE_NULL;
    return file < 0 ? MPI_ERR_FILE : MPI_SUCCESS;
}

int MPI_File_set_size(MPI_File of, MPI_Offset size) {
    UNUSED(of);
    return ftruncate(file, size) == 0 ? MPI_SUCCESS : MPI_ERR_FILE;
}

int MPI_File_write_at(MPI_File of, MPI_Offset offset, const void *buffer, int count, MPI_Datatype type,
                      MPI_Status *status) {
    UNUSED(of), UNUSED(status);
    return pwrite(file, buffer, bytes_of(count, type), offset) >= 0 ? MPI_SUCCESS : MPI_ERR_FILE;
}

int MPI_File_close(MPI_File *of) {
    UNUSED(of);
    return close(file) == 0 ? MPI_SUCCESS : MPI_ERR_FILE;
}

int MPI_Init(int *argc, char ***argv) {
    UNUSED(argc), UNUSED(argv);
    return MPI_SUCCESS;
}

int MPI_Finalize(void) {
    return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
    UNUSED(comm), UNUSED(handler);
    return MPI_SUCCESS;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made) {
    UNUSED(comm), UNUSED(type), UNUSED(key), UNUSED(info);
    *made = MPI_COMM_SELF;
    return MPI_SUCCESS;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made) {
    *made = comm;
    return MPI_SUCCESS;
}

int MPI_Get_library_version(char *version, int *length) {
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "made up");
    return MPI_SUCCESS;
}
