/* Copying in simulated time; see copytime.h. */
#include "halo/copytime.h"

#ifdef RAILYARD_HOST_FROM_MPI
#include <stdlib.h>
#include <time.h>

enum { LINE_CELLS = 8 }; /* cells per cache line of 64 bytes */

static double core_byte_s(void) {
    const char *text = getenv("RAILYARD_CORE_GBYTE_S");
    return text ? 1e9 * strtod(text, NULL) : 0;
}

void copytime_pass(const struct face_shape *shape) {
    size_t lines = shape->blocks * ((shape->length + LINE_CELLS - 1) / LINE_CELLS);
    double bytes = (double)((lines * LINE_CELLS + shape->blocks * shape->length) * sizeof(double));
    double rate_byte_s = core_byte_s();
    if (!(rate_byte_s > 0))
        return;
    double seconds = bytes / rate_byte_s;
    struct timespec pause = {.tv_sec = (time_t)seconds};
    pause.tv_nsec = (long)(1e9 * (seconds - (double)pause.tv_sec));
    (void)nanosleep(&pause, NULL); /* smpicc makes it pass in simulated time */
}
#else
void copytime_pass(const struct face_shape *shape) {
    (void)shape;
}
#endif
