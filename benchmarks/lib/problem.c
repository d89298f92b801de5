/* One line about what is wrong, agreed by all ranks and printed once; see problem.h. */
#include "lib/problem.h"

#include "lib/check.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

void problem_set(struct problem *problem, const char *format, ...) {
    va_list arguments;
    if (problem_is_set(problem))
        return;
    va_start(arguments, format);
    (void)vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
}

bool problem_is_set(const struct problem *problem) {
    return problem->text[0] != '\0';
}

/* A value that a user typed may hold line breaks: the message stays one line. */
static void print_line(const char *program, const char *text) {
    (void)fprintf(stderr, "%s: ", program);
    for (; *text; text++)
        (void)fputc(*text == '\n' || *text == '\r' ? ' ' : *text, stderr);
    (void)fputc('\n', stderr);
    (void)fflush(stderr);
}

bool problem_agree(const struct problem *problem, const char *program) {
    return problem_agree_on(MPI_COMM_WORLD, problem, program);
}

bool problem_agree_on(MPI_Comm comm, const struct problem *problem, const char *program) {
    struct problem agreed = *problem;
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    int mine = problem_is_set(problem) ? rank : INT_MAX;
    int first = INT_MAX;
    MPI_CHECK(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm));
    if (first == INT_MAX)
        return false;
    MPI_CHECK(MPI_Bcast(agreed.text, PROBLEM_BYTES, MPI_CHAR, first, comm));
    if (rank == 0)
        print_line(program, agreed.text);
    return true;
}
