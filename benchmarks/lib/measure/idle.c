/* Sleeping ranks; see idle.h. */
#include "lib/measure/idle.h"

#include "lib/run/check.h"

#include <time.h>

static const double first_sleep_s = 0.001;
static const double last_sleep_s = 0.02;

/* Defined in railyard-idle.so, if that is preloaded. */
extern void railyard_only_waits(int yes) __attribute__((weak));

void idle_only_waits(bool yes) {
    if (railyard_only_waits)
        railyard_only_waits(yes);
}

void idle_sleep(double seconds) {
    struct timespec pause = {.tv_sec = (time_t)seconds};
    pause.tv_nsec = (long)(1e9 * (seconds - (double)pause.tv_sec));
    (void)nanosleep(&pause, NULL);
}

void idle_barrier(void) {
    MPI_Request request;
    int done = 0;
    double pause_s = first_sleep_s;
    MPI_CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    for (;;) {
        MPI_CHECK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done)
            return;
        idle_sleep(pause_s);
        pause_s = 2 * pause_s < last_sleep_s ? 2 * pause_s : last_sleep_s;
    }
}
