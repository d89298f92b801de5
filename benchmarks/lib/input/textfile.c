/* Text files shared by broadcast, and their lines and words; see textfile.h. */
#include "lib/input/textfile.h"

#include "lib/input/parse.h"
#include "lib/run/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 16 << 20, TEXT_BYTES_FIRST = 64 << 10, SHORT_TEXT_BYTES = 512 };

static char *grown(char *text, size_t bytes) {
    char *larger = check_alloc(bytes, 1);
    if (text)
        memcpy(larger, text, bytes / 2);
    free(text);
    return larger;
}

/* Reads to the end of the file, or to one byte beyond the limit. */
static char *read_stream(FILE *file, size_t *length) {
    size_t room = TEXT_BYTES_FIRST;
    char *text = grown(NULL, room);
    *length = 0;
    for (;;) {
        *length += fread(text + *length, 1, room - 1 - *length, file);
        if (*length < room - 1 || room > TEXT_BYTES_MAX)
            return text;
        room *= 2;
        text = grown(text, room);
    }
}

char *textfile_load(const char *path, const char *label, size_t *length, struct problem *problem) {
    FILE *file = fopen(path, "r");
    if (!file) {
        problem_set(problem, "%s %s: cannot be read: %s", label, path, strerror(errno));
        return NULL;
    }
    char *text = read_stream(file, length);
    if (ferror(file))
        problem_set(problem, "%s %s: cannot be read: %s", label, path, strerror(errno));
    else if (*length > TEXT_BYTES_MAX)
        problem_set(problem, "%s %s: longer than %d bytes", label, path, TEXT_BYTES_MAX);
    (void)fclose(file);
    return text;
}

/* The length of a text, and the text itself if it is short, so that one broadcast is enough. */
struct short_text {
    int bytes; /* -1: there is none */
    char text[SHORT_TEXT_BYTES];
};

/* Each rank gets a part, and then all parts. In MPI_Bcast of some kilobytes rank 0 would send everything
 * several times: 1 s instead of 0.4 s for 15 kB to 64 ranks, where a NIC sends 141 kB/s (the virtual torus).
 */
static void share_long(MPI_Comm comm, const char *bytes, int length, char *copy) {
    int ranks = 0;
    MPI_CHECK(MPI_Comm_size(comm, &ranks));
    int part = (length + ranks - 1) / ranks;
    char *whole = check_alloc((size_t)part * (size_t)ranks, 1);
    char *own = check_alloc((size_t)part, 1);
    if (bytes)
        memcpy(whole, bytes, (size_t)length);
    MPI_CHECK(MPI_Scatter(whole, part, MPI_CHAR, own, part, MPI_CHAR, 0, comm));
    MPI_CHECK(MPI_Allgather(own, part, MPI_CHAR, whole, part, MPI_CHAR, comm));
    memcpy(copy, whole, (size_t)length);
    free(own);
    free(whole);
}

char *textfile_share_bytes(MPI_Comm comm, const char *bytes, size_t length, int *shared_length) {
    struct short_text first = {.bytes = bytes ? (int)length : -1};
    if (bytes)
        memcpy(first.text, bytes, length < SHORT_TEXT_BYTES ? length : SHORT_TEXT_BYTES);
    MPI_CHECK(MPI_Bcast(&first, (int)sizeof first, MPI_BYTE, 0, comm));
    *shared_length = first.bytes;
    if (first.bytes < 0)
        return NULL;
    char *copy = check_alloc((size_t)first.bytes + 1, 1);
    memcpy(copy, first.text, (size_t)(first.bytes < SHORT_TEXT_BYTES ? first.bytes : SHORT_TEXT_BYTES));
    if (first.bytes > SHORT_TEXT_BYTES)
        share_long(comm, bytes, first.bytes, copy);
    return copy;
}

char *textfile_share(MPI_Comm comm, const char *path, const char *label, struct problem *problem) {
    size_t length = 0;
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    char *text = rank == 0 ? textfile_load(path, label, &length, problem) : NULL;
    if (rank == 0 && problem_is_set(problem)) {
        free(text);
        text = NULL;
    }
    char *shared = textfile_share_bytes(comm, text, length, &(int){0});
    free(text);
    return shared;
}

static const char blanks[] = " \t\r\v\f";

char *textfile_line(char **rest, int *number) {
    while (*rest && **rest) {
        char *line = *rest;
        char *end = strchr(line, '\n');
        *rest = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        ++*number;
        line += strspn(line, blanks);
        size_t length = strcspn(line, "#");
        while (length > 0 && strchr(blanks, line[length - 1]))
            length--;
        line[length] = '\0';
        if (*line)
            return line;
    }
    return NULL;
}

char *textfile_word(char **rest) {
    char *word = *rest + strspn(*rest, blanks);
    size_t length = strcspn(word, blanks);
    if (length == 0)
        return NULL;
    *rest = word[length] ? word + length + 1 : word + length;
    word[length] = '\0';
    return word;
}

bool textfile_integer(char **rest, int low, int high, int *value) {
    uint64_t number = 0;
    const char *word = textfile_word(rest);
    if (!word || !parse_number(word, &number) || number < (uint64_t)low || number > (uint64_t)high)
        return false;
    *value = (int)number;
    return true;
}
