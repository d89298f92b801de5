/* Sleeping ranks; see idle.h. */
#include "lib/idle.h"

#include "lib/check.h"

#include <time.h>

static const long first_sleep_ns = 1000000;
static const long last_sleep_ns = 20000000;

static void sleep_ns(long nanoseconds) {
    struct timespec pause = {.tv_sec = 0, .tv_nsec = nanoseconds};
    (void)nanosleep(&pause, NULL); /* cut short by a signal: the caller looks again */
}

void idle_sleep(double seconds) {
    struct timespec pause = {.tv_sec = (time_t)seconds};
    pause.tv_nsec = (long)(1e9 * (seconds - (double)pause.tv_sec));
    (void)nanosleep(&pause, NULL);
}

void idle_barrier(void) {
    MPI_Request request;
    int done = 0;
    long pause_ns = first_sleep_ns;
    MPI_CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    for (;;) {
        MPI_CHECK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done)
            return;
        sleep_ns(pause_ns);
        pause_ns = 2 * pause_ns < last_sleep_ns ? 2 * pause_ns : last_sleep_ns;
    }
}
