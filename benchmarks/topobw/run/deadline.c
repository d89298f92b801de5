/* Alarms around collectives; see deadline.h. */
#include "topobw/run/deadline.h"

#include "lib/measure/idle.h"
#include "lib/run/check.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

#ifndef RAILYARD_HOST_FROM_MPI
enum { OTHERS_WAIT_S = 3 };

/* Calls only functions that a signal handler may call. */
static void speak_and_end(int number) {
    static const char line[] = "railyard: not every rank answered in time (--deadline): a link between ranks "
                               "is down or a rank hangs\n";
    (void)number;
    (void)!write(STDERR_FILENO, line, sizeof line - 1);
    _exit(EXIT_LINK_FAULT);
}

void deadline_arm(double limit_s) {
    struct sigaction action = {.sa_handler = speak_and_end};
    (void)sigaction(SIGALRM, &action, NULL);
    (void)alarm((unsigned)ceil(limit_s) + (check_rank() == 0 ? 0 : OTHERS_WAIT_S));
}

void deadline_disarm(void) {
    (void)alarm(0);
}

bool deadline_wait(MPI_Request *requests, int count, double until_s) {
    int done = 0;
    idle_only_waits(true);
    do
        MPI_CHECK(MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE));
    while (!done && MPI_Wtime() <= until_s);
    idle_only_waits(false);
    return done;
}

bool deadline_wait_status(MPI_Request *request, MPI_Status *status, double until_s) {
    int done = 0;
    idle_only_waits(true);
    do
        MPI_CHECK(MPI_Test(request, &done, status));
    while (!done && MPI_Wtime() <= until_s);
    idle_only_waits(false);
    return done;
}
#else
/* A simulated network always answers, or the simulator reports a deadlock; polling would slow it down. */
void deadline_arm(double limit_s) {
    (void)limit_s;
}

void deadline_disarm(void) {}

bool deadline_wait(MPI_Request *requests, int count, double until_s) {
    (void)until_s;
    MPI_CHECK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    return true;
}

bool deadline_wait_status(MPI_Request *request, MPI_Status *status, double until_s) {
    (void)until_s;
    MPI_CHECK(MPI_Wait(request, status));
    return true;
}
#endif
