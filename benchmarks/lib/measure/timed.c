/* The name of a process; see timed.h. */
#include "lib/measure/timed.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>

static void take_name(const char *name) {
    if (getenv("RAILYARD_TORUS") != NULL)
        (void)prctl(PR_SET_NAME, name);
}

void timed_begin(void) {
    take_name("railyard-timed");
}

void timed_end(void) {
    take_name(program_invocation_short_name);
}
