/* Clocks and their differences; see clock.h. */
#include "lib/measure/clock.h"

#include "lib/run/check.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TAG_ASK = 41, TAG_TELL = 42, READINGS = 64, READINGS_LEAST = 4, KEY_BYTES = 192, TICKS_LEAST = 100 };

static const double longest_s = 0.02; /* on a busy machine a ping can take long */
static const double shortest_drift_s =
    0.05; /* over less time the error of the readings outweighs the drift */

#ifdef RAILYARD_HOST_FROM_MPI
double clock_now_s(void) {
    return MPI_Wtime();
}

double clock_tick_s(void) {
    return 0; /* simulated time has no ticks */
}

double clock_date_s(void) {
    return 0;
}

static void clock_name(char *name) {
    (void)snprintf(name, KEY_BYTES, "simulated");
}
#else
double clock_now_s(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double clock_date_s(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + round(1e-6 * (double)now.tv_nsec) / 1e3;
}

double clock_tick_s(void) {
    struct timespec tick;
#ifdef RAILYARD_TEST_FAULT
    const char *text = getenv("RAILYARD_TEST_TICK_S");
    if (text)
        return strtod(text, NULL);
#endif
    (void)clock_getres(CLOCK_MONOTONIC, &tick);
    return (double)tick.tv_sec + 1e-9 * (double)tick.tv_nsec;
}

/* Identifies the clock by boot and time namespace; where the kernel does not report them, each process counts
 * as its own clock. */
static void clock_name(char *name) {
    char boot[64] = "";
    char space[96] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (!file || !fgets(boot, sizeof boot, file))
        (void)snprintf(boot, sizeof boot, "process %ld of rank %d", (long)getpid(), check_rank());
    if (file)
        (void)fclose(file);
    if (readlink("/proc/self/ns/time", space, sizeof space - 1) < 0)
        space[0] = '\0';
    (void)snprintf(name, KEY_BYTES, "%s %s", boot, space);
}
#endif

bool clock_too_short(double interval_s) {
    return interval_s < TICKS_LEAST * clock_tick_s();
}

static int rank_in(MPI_Comm comm) {
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    return rank;
}

struct clock clock_open(MPI_Comm comm, bool pings) {
    struct clock clock = {0};
    char name[KEY_BYTES];
    int rank = rank_in(comm);
    clock_name(name);
    /* FNV-1a, cut to what a colour may be. */
    const char *text = name;
    uint32_t value = UINT32_C(0x811c9dc5);
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * UINT32_C(0x01000193);
    clock.name = (int)(value & 0x7fffffff);
    int ends[] = {clock.name, -clock.name}; /* the least and the largest name */
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT, MPI_MIN, comm));
    clock.made = !pings && ends[0] != -ends[1];
    if (clock.made) {
        MPI_CHECK(MPI_Comm_split(comm, clock.name, rank, &clock.same));
        MPI_CHECK(MPI_Comm_split(comm, rank_in(clock.same) == 0 ? 0 : MPI_UNDEFINED, rank, &clock.leaders));
    } else if (pings) {
        clock.same = MPI_COMM_SELF;
        clock.leaders = comm;
    } else {
        clock.same = comm;
        clock.leaders = rank == 0 ? MPI_COMM_SELF : MPI_COMM_NULL;
    }
    return clock;
}

void clock_close(struct clock *clock) {
    if (!clock->made)
        return;
    if (clock->leaders != MPI_COMM_NULL)
        MPI_CHECK(MPI_Comm_free(&clock->leaders));
    MPI_CHECK(MPI_Comm_free(&clock->same));
}

static void ask(MPI_Comm comm, int parent, int more, double *answer) {
    MPI_CHECK(MPI_Send(&more, 1, MPI_INT, parent, TAG_ASK, comm));
    MPI_CHECK(MPI_Recv(answer, 1, MPI_DOUBLE, parent, TAG_TELL, comm, MPI_STATUS_IGNORE));
}

static struct clock_reading ask_time(MPI_Comm comm, int parent) {
    struct clock_reading best = {0};
    double shortest_s = INFINITY;
    double begin_s = clock_now_s();
    double parents_bound_s = 0;
    for (int i = 0; i < READINGS && (i < READINGS_LEAST || clock_now_s() - begin_s < longest_s); i++) {
        double theirs_s = 0;
        double sent_s = clock_now_s();
        ask(comm, parent, 1, &theirs_s);
        double back_s = clock_now_s();
        if (back_s - sent_s < shortest_s) {
            shortest_s = back_s - sent_s;
            best = (struct clock_reading){back_s, theirs_s - (sent_s + back_s) / 2, shortest_s / 2};
        }
    }
    ask(comm, parent, 0, &parents_bound_s);
    best.bound_s += parents_bound_s;
    return best;
}

static struct clock_reading read_tree(MPI_Comm comm) {
    struct clock_reading reading = {.at_s = clock_now_s()};
    int ranks = 0;
    int rank = rank_in(comm);
    MPI_CHECK(MPI_Comm_size(comm, &ranks));
    for (int step = 1; step < ranks; step *= 2)
        if (rank < step && rank + step < ranks) {
            /* Answers a child's pings with this rank's estimate of rank 0's time. */
            int child = rank + step;
            int more = 1;
            MPI_CHECK(MPI_Recv(&more, 1, MPI_INT, child, TAG_ASK, comm, MPI_STATUS_IGNORE));
            while (more) {
                double now_s = clock_now_s() + reading.ahead_s;
                MPI_CHECK(MPI_Send(&now_s, 1, MPI_DOUBLE, child, TAG_TELL, comm));
                MPI_CHECK(MPI_Recv(&more, 1, MPI_INT, child, TAG_ASK, comm, MPI_STATUS_IGNORE));
            }
            MPI_CHECK(MPI_Send(&reading.bound_s, 1, MPI_DOUBLE, child, TAG_TELL, comm));
        } else if (rank >= step && rank < 2 * step) {
            reading = ask_time(comm, rank - step);
        }
    return reading;
}

static struct clock_reading read_all(const struct clock *clock) {
    struct clock_reading reading = {0};
    if (clock->leaders != MPI_COMM_NULL)
        reading = read_tree(clock->leaders);
    MPI_CHECK(MPI_Bcast(&reading, (int)sizeof reading, MPI_BYTE, 0, clock->same));
    return reading;
}

void clock_read(struct clock *clock) {
    clock->first = read_all(clock);
    clock->last = clock->first;
}

void clock_read_again(struct clock *clock) {
    clock->last = read_all(clock);
}

double clock_known_error_s(const struct clock *clock, MPI_Comm comm) {
    int name = clock->name;
    MPI_CHECK(MPI_Bcast(&name, 1, MPI_INT, 0, comm));
    double error_s = name == clock->name ? fabs(clock->last.ahead_s) : 0;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &error_s, 1, MPI_DOUBLE, MPI_MAX, comm));
    return error_s;
}

double clock_bound_s(const struct clock *clock, MPI_Comm comm) {
    double bound_s = fmax(clock->first.bound_s, clock->last.bound_s);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &bound_s, 1, MPI_DOUBLE, MPI_MAX, comm));
    return bound_s;
}

static double ahead_s(const struct clock *clock, double own_s) {
    const struct clock_reading *first = &clock->first;
    const struct clock_reading *last = &clock->last;
    double between_s = last->at_s - first->at_s;
    if (between_s < shortest_drift_s)
        return last->ahead_s;
    return first->ahead_s + (last->ahead_s - first->ahead_s) * (own_s - first->at_s) / between_s;
}

double clock_global_s(const struct clock *clock, double own_s) {
    return own_s + ahead_s(clock, own_s);
}

double clock_own_s(const struct clock *clock, double global_s) {
    return global_s - ahead_s(clock, global_s - clock->first.ahead_s);
}
