/* A common start; see start.h. */
#include "lib/measure/start.h"

#include "lib/measure/idle.h"
#include "lib/measure/sampling.h"
#include "lib/ranks/evidence.h"
#include "lib/run/check.h"

#include <math.h>
#include <unistd.h>

static const double least_slack_s = 20e-6;
/* The longest slack: most_slack_s, or most_agreements x the time of one agreement if that is longer. */
static const double most_slack_s = 0.02;
static const double most_agreements = 4;
static const double drift_s = 0.25; /* clocks older than this are read again */
static const double spin_s = 0.5e-3;

const char *const start_names[] = {"auto", "clock", "barrier"};

/* What rank 0 broadcasts before a sample. */
struct word {
    double start_s;
    int read_clocks;
};

/* Returns whether each rank of a node can have its own CPU. */
static bool all_have_cpus(MPI_Comm comm) {
    MPI_Comm node;
    int ranks = 0;
    MPI_CHECK(MPI_Comm_size(comm, &ranks));
    bool all = ranks == check_ranks();
    if (all)
        node = evidence_node();
    else
        MPI_CHECK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI_CHECK(MPI_Comm_size(node, &ranks));
    if (!all)
        MPI_CHECK(MPI_Comm_free(&node));
    int enough = ranks <= sysconf(_SC_NPROCESSORS_ONLN);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, comm));
    return enough;
}

#ifdef RAILYARD_HOST_FROM_MPI
enum { SIMULATED = 1 }; /* in a simulation, where polling a clock takes real time and sleeping takes none */
#else
enum { SIMULATED = 0 };
#endif

static enum start choose(MPI_Comm comm, enum start asked) {
    if (asked != START_AUTO)
        return asked;
    return SIMULATED || !all_have_cpus(comm) ? START_BARRIER : START_CLOCK;
}

struct starter starter_open(MPI_Comm comm, enum start asked, bool pings) {
    struct starter starter = {.comm = comm, .start = choose(comm, asked), .clock = clock_open(comm, pings)};
    clock_read(&starter.clock);
    starter.one_clock = clock_bound_s(&starter.clock, comm) <= 0;
    starter.read_s = clock_now_s();
    if (starter.start == START_CLOCK) {
        struct word word = {0};
        MPI_CHECK(MPI_Barrier(comm));
        double begin_s = clock_now_s();
        MPI_CHECK(MPI_Bcast(&word, (int)sizeof word, MPI_BYTE, 0, comm));
        MPI_CHECK(MPI_Barrier(comm));
        double agreement = sampling_longest(clock_now_s() - begin_s);
        starter.slack_s = fmax(least_slack_s, agreement);
        starter.most_slack_s = fmax(most_slack_s, most_agreements * agreement);
    }
    return starter;
}

void starter_close(struct starter *starter) {
    clock_close(&starter->clock);
}

double starter_begin(struct starter *starter, double tolerance_s, double *late_s) {
    if (starter->start == START_BARRIER) {
        MPI_CHECK(MPI_Barrier(starter->comm));
        *late_s = 0;
        return clock_now_s();
    }
    struct word word = {0};
    word.read_clocks = !starter->one_clock && clock_now_s() - starter->read_s > drift_s;
    word.start_s = clock_global_s(&starter->clock, clock_now_s()) + starter->slack_s;
    MPI_CHECK(MPI_Bcast(&word, (int)sizeof word, MPI_BYTE, 0, starter->comm));
    if (word.read_clocks) {
        clock_read_again(&starter->clock);
        starter->read_s = clock_now_s();
        return starter_begin(starter, tolerance_s, late_s);
    }
    double own_s = clock_own_s(&starter->clock, word.start_s);
    starter->margin_s = own_s - clock_now_s();
    /* Sleeps, and polls the clock at the end where a sleep may be too long: ranks that share a CPU disturb
     * each other by it. */
    double poll_s = SIMULATED || tolerance_s > 2 * spin_s ? 0 : spin_s;
    double left_s = own_s - clock_now_s();
    if (left_s > 2 * poll_s)
        idle_sleep(left_s - poll_s);
    while (clock_now_s() < own_s)
        ;
    *late_s = clock_now_s() - own_s;
    return own_s;
}

void starter_fit(struct starter *starter, double least_s) {
    starter->slack_s = fmax(least_slack_s, 1.25 * (starter->slack_s - least_s));
}

void starter_slower(struct starter *starter) {
    starter->slack_s = fmin(starter->most_slack_s, 1.5 * starter->slack_s);
}

void starter_faster(struct starter *starter) {
    starter->slack_s = fmax(least_slack_s, 0.98 * starter->slack_s);
}
