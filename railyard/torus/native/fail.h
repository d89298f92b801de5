/* The error exit of railyard-enter. */
#ifndef RAILYARD_FAIL_H
#define RAILYARD_FAIL_H

/* Prints one line with errno's text, exits with 126. */
_Noreturn void fail(const char *what, const char *name);

#endif
