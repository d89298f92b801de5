/* One line about what is wrong, agreed by all ranks and printed once; see problem.h. */
#include "lib/run/problem.h"

#include "lib/run/check.h"

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

/* Prints the message as one line, even if a value that the user typed contains line breaks. */
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
    int nothing = 0;
    return problem_agree_least(comm, problem, program, &nothing);
}

bool problem_agree_least(MPI_Comm comm, const struct problem *problem, const char *program, int *number) {
    struct problem agreed = *problem;
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    int mine[] = {problem_is_set(problem) ? rank : INT_MAX, *number};
    int least[2];
    /* Not MPI_Allreduce, in which all ranks communicate at once: slower where dozens share a core. */
    MPI_CHECK(MPI_Reduce(mine, least, 2, MPI_INT, MPI_MIN, 0, comm));
    MPI_CHECK(MPI_Bcast(least, 2, MPI_INT, 0, comm));
    int first = least[0];
    *number = least[1];
    if (first == INT_MAX)
        return false;
    MPI_CHECK(MPI_Bcast(agreed.text, PROBLEM_BYTES, MPI_CHAR, first, comm));
    if (rank == 0)
        print_line(program, agreed.text);
    return true;
}

bool problem_tell(MPI_Comm comm, const struct problem *problem, const char *program) {
    int rank = 0;
    int is_set = problem_is_set(problem);
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    MPI_CHECK(MPI_Bcast(&is_set, 1, MPI_INT, 0, comm));
    if (is_set && rank == 0)
        print_line(program, problem->text);
    return is_set;
}
