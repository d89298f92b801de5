/* How railyard-enter ends when it cannot do what it was asked to. */
#ifndef RAILYARD_FAIL_H
#define RAILYARD_FAIL_H

/* Prints one line with errno's text, exits with 126. */
_Noreturn void fail(const char *what, const char *name);

#endif
