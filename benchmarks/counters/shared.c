/* Broadcasts texts; see shared.h. */
#include "counters/shared.h"

#include "lib/input/textfile.h"
#include "lib/run/check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_TEXT_BYTES = 4096, PRESENT = 1 };

int shared_rank(MPI_Comm comm) {
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    return rank;
}

/* The length of a text, and the text itself if it is short, so that one broadcast is enough. */
struct short_text {
    int bytes; /* -1: there is none */
    char text[SHORT_TEXT_BYTES];
};

/* Collective. Returns a copy of rank 0's bytes with a terminating zero, to be freed; NULL for NULL. */
static char *share_bytes(MPI_Comm comm, const char *bytes, size_t length, int *shared_length) {
    struct short_text first = {.bytes = bytes ? (int)length : -1};
    if (bytes)
        memcpy(first.text, bytes, length < SHORT_TEXT_BYTES ? length : SHORT_TEXT_BYTES);
    MPI_CHECK(MPI_Bcast(&first, (int)sizeof first, MPI_BYTE, 0, comm));
    *shared_length = first.bytes;
    if (first.bytes < 0)
        return NULL;
    char *copy = check_alloc((size_t)first.bytes + 1, 1);
    memcpy(copy, first.text, (size_t)(first.bytes < SHORT_TEXT_BYTES ? first.bytes : SHORT_TEXT_BYTES));
    if (first.bytes > SHORT_TEXT_BYTES) {
        if (bytes)
            memcpy(copy, bytes, length);
        MPI_CHECK(MPI_Bcast(copy, first.bytes, MPI_CHAR, 0, comm));
    }
    return copy;
}

char *shared_file(MPI_Comm comm, const char *path, const char *label, struct problem *problem) {
    size_t length = 0;
    int bytes = 0;
    char *text = shared_rank(comm) == 0 ? textfile_load(path, label, &length, problem) : NULL;
    char *shared = share_bytes(comm, text, length, &bytes);
    free(text);
    return shared;
}

/* A byte PRESENT and the text, or a byte 0, then a zero byte: for each. */
static char *pack(const char *const *texts, int count, size_t *length) {
    *length = 0;
    for (int i = 0; i < count; i++)
        *length += 2 + (texts[i] ? strlen(texts[i]) : 0);
    char *packed = check_alloc(*length + 1, 1);
    char *at = packed;
    for (int i = 0; i < count; i++) {
        size_t bytes = texts[i] ? strlen(texts[i]) : 0;
        *at = texts[i] ? PRESENT : 0;
        if (bytes > 0)
            memcpy(at + 1, texts[i], bytes);
        at += bytes + 2;
    }
    return packed;
}

static char *copy_of(const char *text) {
    size_t bytes = strlen(text) + 1;
    return memcpy(check_alloc(bytes, 1), text, bytes);
}

void shared_texts(MPI_Comm comm, const char *const *texts, int count, char **shared) {
    size_t length = 0;
    int bytes = 0;
    char *packed = shared_rank(comm) == 0 ? pack(texts, count, &length) : NULL;
    char *received = share_bytes(comm, packed, length, &bytes);
    const char *at = received;
    for (int i = 0; i < count; i++) {
        bool present = *at++ == PRESENT;
        shared[i] = present ? copy_of(at) : NULL;
        at += strlen(at) + 1;
    }
    free(packed);
    free(received);
}

char *shared_expand(const char *path, const char *host) {
    size_t room = path ? strlen(path) + 1 : 1;
    for (const char *at = path; at && (at = strstr(at, "%h")) != NULL; at += 2)
        room += strlen(host);
    char *copy = path ? check_alloc(room, 1) : NULL;
    size_t used = 0;
    while (path && *path) {
        bool mark = strncmp(path, "%h", 2) == 0;
        used += (size_t)snprintf(copy + used, room - used, "%.*s", mark ? (int)strlen(host) : 1,
                                 mark ? host : path);
        path += mark ? 2 : 1;
    }
    return copy;
}
