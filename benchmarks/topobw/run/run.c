/* Rounds through the phases; see run.h. */
#include "topobw/run/run.h"

#include "lib/measure/idle.h"
#include "lib/measure/sampling.h"
#include "lib/output/json.h"
#include "lib/run/check.h"
#include "topobw/run/deadline.h"
#include "topobw/verdict/parts.h"
#include "topobw/verdict/routeprobe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_CLOCK = 32, CLOCK_READINGS = 4 };

/* The first transfer of a link is this small, where that is at most an eighth of a whole one. */
enum { FIRST_BYTES = 1 << 16, FIRST_PART = 8 };

/* Before it, where that is at most an eighth of a whole one, a message crosses the link that is small enough
 * not to fill a lossless network's buffers before a link that is all but dead: those of the node's other
 * messages. The link has no answer where this promises more than the time limit for FIRST_BYTES, several
 * times in a row; a busy machine makes one of them slow. */
enum { KNOCK_BYTES = 1 << 12, KNOCKS = 3 };
static const double least_knock_limit_s = 60.0 * KNOCK_BYTES / FIRST_BYTES;

/* A longer way is not asked for the names of its routers. */
enum { HOPS_MAX = 10 };

/* Time limit of a transfer as a multiple of the time that the first transfer predicts. */
static const double limit_factor = 4;

static const double first_pause_s = 0.5;
static const double longest_pause_s = 4;

const char *const topobw_routes[ROUTES_STRICT + 1] = {"off", "strict"};

/* ---- the numbers of a rank ---- */

static size_t numbers_per_phase(const struct topobw *run) {
    return 1 + (size_t)run->hops + 2 * (size_t)run->rounds;
}

static size_t numbers_per_rank(const struct topobw *run) {
    return (size_t)run->slots * numbers_per_phase(run);
}

double *topobw_routers(const struct topobw *run, double *numbers, int phase) {
    return &numbers[(size_t)run->slot_of_phase[phase] * numbers_per_phase(run)];
}

double *topobw_hops(const struct topobw *run, double *numbers, int phase) {
    return topobw_routers(run, numbers, phase) + 1;
}

/* Start and end of sending, in the clock of the link's first sender. */
static double *times_of(const struct topobw *run, double *numbers, int phase, int round) {
    return topobw_hops(run, numbers, phase) + run->hops + 2 * round;
}

static double *numbers_of_rank(const struct topobw *run, int rank) {
    return run->all + (size_t)rank * numbers_per_rank(run);
}

static const double *times_of_transfer(const struct topobw *run, const struct transfer *transfer, int round) {
    int phase = run->plan.links[transfer->link].phase;
    return times_of(run, numbers_of_rank(run, transfer->from_rank), phase, round);
}

double topobw_seconds(const struct topobw *run, const struct transfer *transfer, int round) {
    const double *times = times_of_transfer(run, transfer, round);
    return times[1] - times[0];
}

double topobw_link_seconds(const struct topobw *run, int link, int round) {
    const struct tested_link *tested = &run->plan.links[link];
    const struct transfer *transfers = &run->plan.transfers[tested->first_transfer];
    double start_s = times_of_transfer(run, transfers, round)[0];
    double end_s = times_of_transfer(run, transfers, round)[1];
    for (int k = 1; k < tested->sharers; k++) {
        start_s = fmin(start_s, times_of_transfer(run, &transfers[k], round)[0]);
        end_s = fmax(end_s, times_of_transfer(run, &transfers[k], round)[1]);
    }
    return end_s - start_s;
}

double topobw_rate(const struct topobw *run, int link, double seconds) {
    const struct stream_config *config = &run->config.stream;
    double bytes = (double)config->message_bytes * config->messages * run->plan.links[link].sharers;
    return isfinite(seconds) && seconds > 0 ? 1e-9 * bytes / seconds : 0;
}

static double transfer_bytes(const struct stream_config *config) {
    return (double)config->message_bytes * config->messages;
}

/* Returns whether a small transfer of the given bytes precedes each transfer. */
static bool has_first_transfer(const struct stream_config *config, size_t bytes) {
    return transfer_bytes(config) >= (double)bytes * FIRST_PART;
}

static struct stream_config first_config(const struct stream_config *config, size_t bytes) {
    struct stream_config first = *config;
    first.messages = 1;
    first.message_bytes = config->message_bytes < bytes ? config->message_bytes : bytes;
    return first;
}

static void note_given_up(struct topobw *run, const struct stream_config *config, double limit_s) {
    run->given_up_bytes = transfer_bytes(config);
    run->given_up_s = limit_s;
}

/* ---- one phase ---- */

bool topobw_on_any(const struct topobw *run, int here) {
    int any = 0;
    deadline_arm(2 * run->limit_s); /* the others may still wait for a transfer */
    MPI_CHECK(MPI_Allreduce(&here, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    deadline_disarm();
    return any;
}

bool topobw_meet(const struct topobw *run) {
    return topobw_on_any(run, run->stuck);
}

/* Estimates how far the first sender's clock is ahead, from the reading with the shortest round trip. False
 * if there was no answer in time; theirs_s must outlive a cancelled request. */
static bool ask_time(const struct role *role, double until_s, double *theirs_s, double *ahead_s) {
    double shortest_s = INFINITY;
    for (int i = 0; i < CLOCK_READINGS; i++) {
        MPI_Request requests[2];
        double sent_s = MPI_Wtime();
        MPI_CHECK(
            MPI_Irecv(theirs_s, 1, MPI_DOUBLE, role->first_sharer, TAG_CLOCK, MPI_COMM_WORLD, &requests[0]));
        MPI_CHECK(MPI_Isend(NULL, 0, MPI_CHAR, role->first_sharer, TAG_CLOCK, MPI_COMM_WORLD, &requests[1]));
        if (!deadline_wait(requests, 2, until_s))
            return false;
        double back_s = MPI_Wtime();
        if (back_s - sent_s < shortest_s) {
            shortest_s = back_s - sent_s;
            *ahead_s = *theirs_s - (sent_s + back_s) / 2;
        }
    }
    return true;
}

/*
 * Starts the senders that share a link together, with times on the first one's clock. A link is measured from
 * the first start to the last end, because a sender that has the link to itself for a while looks faster.
 * *ahead_s is to be added to this rank's clock. False if another sharer is not ready in time.
 */
static bool meet_sharers(struct topobw *run, const struct role *role, double until_s, double *ahead_s) {
    *ahead_s = 0;
    if (role->to < 0 || role->sharers < 2)
        return true;
    if (check_rank() != role->first_sharer)
        return ask_time(role, until_s, &run->clock_s, ahead_s);
    /* Answers every other sender's requests with the time; false when one did not come in time. */
    MPI_Status status;
    for (int i = 0; i < CLOCK_READINGS * (role->sharers - 1); i++) {
        MPI_Request request;
        MPI_CHECK(MPI_Irecv(NULL, 0, MPI_CHAR, MPI_ANY_SOURCE, TAG_CLOCK, MPI_COMM_WORLD, &request));
        if (!deadline_wait_status(&request, &status, until_s))
            return false;
        double now_s = MPI_Wtime();
        MPI_CHECK(MPI_Send(&now_s, 1, MPI_DOUBLE, status.MPI_SOURCE, TAG_CLOCK, MPI_COMM_WORLD));
    }
    return true;
}

#ifdef RAILYARD_TEST_FAULT
/* In tests: returns the pretended time of the rank RAILYARD_TEST_SLOW. In round k it is the k-th number of
 * RAILYARD_TEST_TIMES, then the last; by default 1, and 2 in every third round. */
static double pretended_ms(int round) {
    const char *times = getenv("RAILYARD_TEST_TIMES");
    if (!times)
        return round % 3 == 1 ? 2 : 1;
    for (const char *comma = times; round > 0 && (comma = strchr(times, ',')); round--)
        times = comma + 1;
    return atof(times);
}
#endif

/* In test builds: every transfer takes a millisecond, but for those of one rank, whatever the machine does
 * besides. */
static void pretend_times(struct topobw *run, int phase, int round) {
#ifdef RAILYARD_TEST_FAULT
    const char *slow = getenv("RAILYARD_TEST_SLOW");
    if (slow && run->roles[phase].to >= 0) {
        double *times = times_of(run, run->own, phase, round);
        times[0] = 1;
        times[1] = 1 + 1e-3 * (atoi(slow) == check_rank() ? pretended_ms(round) : 1);
    }
#else
    (void)run;
    (void)phase;
    (void)round;
#endif
}

/* Every rank completes a phase even if its own transfer fails, so that all ranks make the same collective
 * calls at its end. */
static void measure_phase(struct topobw *run, struct stream *stream, int phase, int round,
                          struct problem *problem) {
    const struct role *role = &run->roles[phase];
    double ahead_s = 0;
    stream_prepare(stream, role->from);
    bool ready =
        stream_meet(stream, role->to, role->from) && meet_sharers(run, role, stream->until_s, &ahead_s);
    run->stuck = !ready;
    struct stream_times times = {MPI_Wtime(), INFINITY};
    if (ready)
        times = stream_run(stream, role->to, role->from, &run->stuck);
    if (role->to >= 0) {
        times_of(run, run->own, phase, round)[0] = times.start_s + ahead_s;
        times_of(run, run->own, phase, round)[1] = times.end_s + ahead_s;
    }
    if (!run->stuck)
        stream_verify(stream, role->from, problem);
    pretend_times(run, phase, round);
}

/* ---- the first transfers of a phase ---- */

/* Seconds of this rank's first transfer, 0 where it has none or gave it up; forgets its times. */
static double take_seconds(struct topobw *run, int phase) {
    double *times = times_of(run, run->own, phase, 0);
    double seconds = times[1] - times[0];
    if (run->roles[phase].to < 0 || isinf(seconds))
        return 0;
    times[0] = times[1] = 0;
    return seconds;
}

/* Measures one small transfer of a phase, within --deadline. */
static void measure_first(struct topobw *run, struct stream *stream, const struct stream_config *config,
                          int phase, struct problem *problem) {
    struct stream small = *stream; /* the same buffers, which are larger */
    small.config = config;
    small.limit_s = config->limit_s;
    measure_phase(run, &small, phase, 0, problem);
}

/* Collective. Sends one very small message over each link of the phase: see KNOCK_BYTES. */
static void knock_phase(struct topobw *run, struct stream *stream, int phase, struct problem *problem) {
    struct stream_config config = first_config(&run->config.stream, KNOCK_BYTES);
    double limit_s = fmax(config.limit_s * KNOCK_BYTES / FIRST_BYTES, least_knock_limit_s);
    double fastest_s = INFINITY;
    bool slow = true;
    run->given_up_s = config.limit_s;
    run->given_up_bytes = transfer_bytes(&config) * config.limit_s / limit_s;
    for (int i = 0; slow && i < KNOCKS; i++) {
        measure_first(run, stream, &config, phase, problem);
        run->stuck = topobw_meet(run);
        if (run->stuck)
            return;
        fastest_s = fmin(fastest_s, take_seconds(run, phase));
        slow = topobw_on_any(run, fastest_s > limit_s);
    }
    run->stuck = slow;
    if (fastest_s > limit_s)
        times_of(run, run->own, phase, 0)[1] = INFINITY;
}

static void tell_limit(const struct topobw *run, double seconds) {
    const struct stream_config *config = &run->config.stream;
    if (check_rank() == 0 && run->limit_s == config->limit_s)
        (void)fprintf(
            stderr,
            "topobw: a transfer takes about %.3g s here, so its time limit is raised from --deadline "
            "%g; a smaller --size or --messages is faster\n",
            seconds, config->limit_s);
}

/*
 * Collective. Sends one small message over each link of the phase before the first whole transfer. A link
 * that does not deliver it has no answer. The time limit of whole transfers follows from the slowest, so that
 * a slow link that delivers is measured.
 */
static void try_phase(struct topobw *run, struct stream *stream, int phase, struct problem *problem) {
    struct stream_config config = first_config(&run->config.stream, FIRST_BYTES);
    measure_first(run, stream, &config, phase, problem);
    double seconds = take_seconds(run, phase) * transfer_bytes(&run->config.stream) / transfer_bytes(&config);
    run->stuck = topobw_meet(run);
    note_given_up(run, &config, config.limit_s);
    if (run->stuck)
        return;
    deadline_arm(run->limit_s);
    double longest_s = sampling_longest(seconds);
    deadline_disarm();
    if (limit_factor * longest_s <= run->limit_s)
        return;
    tell_limit(run, longest_s);
    run->limit_s = limit_factor * longest_s;
    stream->limit_s = run->limit_s;
}

/* ---- rank 0's view ---- */

/* Returns the routers on the way of a transfer from one of its ends, to be freed; NULL if one has no name. */
static char *way_of_transfer(const struct topobw *run, const struct transfer *transfer, int from_rank) {
    const struct tested_link *link = &run->plan.links[transfer->link];
    const double *hops = topobw_hops(run, numbers_of_rank(run, from_rank), link->phase);
    int routers = (int)*topobw_routers(run, numbers_of_rank(run, transfer->to_rank), link->phase);
    size_t room = (size_t)run->hops * (EVIDENCE_HOST_BYTES + 1) + 2, length = 1;
    if (routers < 1 || routers > run->hops)
        return NULL;
    char *way = check_alloc(room, 1);
    way[0] = '>';
    for (int i = 0; i < routers; i++) {
        if (hops[i] == 0 || !route_probe_name(hops[i], way + length, EVIDENCE_HOST_BYTES)) {
            free(way);
            return NULL;
        }
        length += strlen(way + length);
        way[length++] = '>';
        way[length] = '\0';
    }
    return way;
}

/* Returns whether a link's packets cross it: all of their routers are those of the test, in order. */
static enum way way_of_link(const struct topobw *run, const struct tested_link *link, int routers) {
    if (run->config.routes == ROUTES_OFF || run->stuck)
        return WAY_NOT_ASKED;
    if (routers != plan_routers(link))
        return routers > plan_routers(link) ? WAY_OTHER : WAY_UNSEEN;
    enum way way = WAY_USUAL;
    for (int k = 0; routers > PLAN_NEIGHBOURS && k < link->sharers; k++) {
        const char *named = run->ways[link->first_transfer + k];
        if (named && !listed_is_usual(link->listed, named))
            return WAY_OTHER;
        if (!named)
            way = WAY_UNSEEN;
    }
    return way;
}

bool topobw_is_unjudged(const struct topobw *run, int link) {
    const struct link_result *result = &run->results[link];
    return result->way == WAY_UNSEEN && result->seconds > 0 && !result->bad;
}

/* Returns the shortest time of the link over its rounds; infinity if one was cancelled, 0 without a round. If
 * the measurement stopped after a single reading, which may be disturbed, no rate is excluded. */
static void read_link(const struct topobw *run, int link, double *readings, struct link_result *result) {
    int count = 0;
    result->seconds = 0;
    for (int round = 0; round < run->rounds; round++) {
        double seconds = topobw_link_seconds(run, link, round);
        bool is_best = isinf(seconds) || result->seconds == 0 || seconds < result->seconds;
        if (seconds <= 0)
            continue;
        readings[count++] = seconds;
        if (is_best && !isinf(result->seconds))
            result->seconds = seconds;
    }
    result->rate_gbyte_s = topobw_rate(run, link, result->seconds);
    result->possible_gbyte_s =
        run->stuck && count == 1 ? INFINITY : topobw_rate(run, link, readings_shortest(readings, count));
}

static void judge(struct topobw *run) {
    struct verdict_config config = {.tolerance = run->config.tolerance_percent / 100,
                                    .factor = run->config.factor,
                                    .host_gbyte_s = run->rates.host_gbyte_s};
    double *readings = check_alloc((size_t)run->rounds, sizeof *readings);
    if (!run->ways) {
        int count = run->plan.transfer_count;
        run->ways = check_alloc(2 * (size_t)count, sizeof *run->ways);
        for (int t = 0; run->hops > 0 && t < count; t++) {
            const struct transfer *transfer = &run->plan.transfers[t];
            run->ways[t] = way_of_transfer(run, transfer, transfer->from_rank);
            run->ways[count + t] = way_of_transfer(run, transfer, transfer->to_rank);
        }
    }
    for (int link = 0; link < run->plan.link_count; link++) {
        read_link(run, link, readings, &run->results[link]);
        int most = ROUTE_UNKNOWN;
        for (int k = 0; k < run->plan.links[link].sharers; k++) {
            int receiver = run->plan.transfers[run->plan.links[link].first_transfer + k].to_rank;
            int routers =
                (int)*topobw_routers(run, numbers_of_rank(run, receiver), run->plan.links[link].phase);
            most = routers > most ? routers : most;
        }
        run->results[link].routers = most;
        run->results[link].way = way_of_link(run, &run->plan.links[link], run->results[link].routers);
    }
    free(readings);
    run->factor = verdict_judge(&config, &run->plan, run->results);
    for (int link = 0; link < run->plan.link_count; link++)
        if ((run->results[link].state == LINK_SOUND || run->results[link].state == LINK_UNJUDGED) &&
            stability_is_unstable(&run->stability, link)) {
            run->results[link].state = LINK_UNSTABLE;
            run->results[link].bad = run->config.soak_s > 0;
            run->results[link].missing = fmax(0, 1 - run->stability.of_link[link].lowest);
        }
}

/* ---- soak: the data stored of each round ---- */

/* Names of the links first, so that a line needs no more than numbers. */
static void open_stream(struct topobw *run, struct problem *problem) {
    char name[LINK_NAME_BYTES];
    run->rounds_file = run->config.rounds_file ? fopen(run->config.rounds_file, "w") : NULL;
    if (!run->rounds_file) {
        if (run->config.rounds_file)
            problem_set(problem, "--stream %s: cannot be written", run->config.rounds_file);
        return;
    }
    struct json json = json_start(run->rounds_file);
    json.one_line = true;
    json_object(&json);
    json_key_array(&json, "links");
    for (int link = 0; link < run->plan.link_count; link++) {
        plan_link_name(&run->plan.links[link], name);
        json_text(&json, name);
    }
    json_array_end(&json);
    json_object_end(&json);
}

/* On rank 0, which has all numbers. A full disk ends the stream but not the run. */
static void keep_rounds(struct topobw *run, int rounds) {
    double *rates = check_alloc((size_t)run->plan.link_count, sizeof *rates);
    for (int round = 0; round < rounds; round++) {
        for (int link = 0; link < run->plan.link_count; link++)
            rates[link] = topobw_rate(run, link, topobw_link_seconds(run, link, round));
        stability_add(&run->stability, rates);
        if (run->rounds_file) {
            struct json json = json_start(run->rounds_file);
            json.one_line = true;
            json_object(&json);
            json_key_integer(&json, "round", run->rounds_done);
            json_key_double(&json, "at_s", MPI_Wtime() - run->begun_s);
            json_key_array(&json, "rates_gbyte_s");
            for (int link = 0; link < run->plan.link_count; link++)
                json_double(&json, rates[link]);
            json_array_end(&json);
            json_object_end(&json);
            (void)fflush(run->rounds_file);
        }
        run->rounds_done++;
    }
    free(rates);
}

/* Returns whether to measure a link that looks bad again. Half of the further rounds are for all such links,
 * the others only for those whose readings differ too much for a verdict. */
static bool is_suspect(const struct topobw *run, const struct link_result *result, int next_round) {
    return result->slow && (!result->proven || next_round < run->config.repeats + run->config.retests);
}

/* Collective. Rank 0 has all numbers and judges; returns the phases with links to be measured again, on all
 * ranks. */
static uint64_t gather_and_judge(struct topobw *run, int new_rounds, int next_round) {
    uint64_t phases = 0;
    int count = (int)numbers_per_rank(run);
    deadline_arm(run->limit_s);
    MPI_CHECK(MPI_Gather(run->own, count, MPI_DOUBLE, run->all, count, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    if (check_rank() == 0) {
        keep_rounds(run, new_rounds);
        judge(run);
        for (int link = 0; link < run->plan.link_count; link++)
            if (is_suspect(run, &run->results[link], next_round))
                phases |= UINT64_C(1) << run->plan.links[link].phase;
    }
    MPI_CHECK(MPI_Bcast(&phases, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    deadline_disarm();
    return phases;
}

/* The rate of a transfer in its fastest round. */
static double transfer_rate(const struct topobw *run, const struct transfer *transfer) {
    double best = 0;
    for (int round = 0; round < run->rounds; round++) {
        double seconds = topobw_seconds(run, transfer, round);
        if (seconds > 0 && (best == 0 || seconds < best))
            best = seconds;
    }
    return topobw_rate(run, transfer->link, best) / run->plan.links[transfer->link].sharers;
}

/* A transfer is bad if its link is bad and it got less than its share of the link's expected rate; if the
 * link is judged as a whole, each of its transfers is bad. */
static bool is_bad_transfer(const struct topobw *run, const struct transfer *transfer, double rate) {
    const struct link_result *result = &run->results[transfer->link];
    const struct tested_link *link = &run->plan.links[transfer->link];
    if (result->state != LINK_SLOW || link->sharers == 1)
        return result->bad;
    double share = fmax(result->expected_gbyte_s, result->peers_gbyte_s) / link->sharers;
    return rate < (1 - run->config.tolerance_percent / 100) * share;
}

static void find_blame(struct topobw *run) {
    run->explained_by = check_alloc((size_t)run->plan.link_count, sizeof(int));
    if (run->plan.is_listed) {
        run->findings = parts_blame(&run->plan, run->results, (const char *const *)run->ways,
                                    &run->finding_count, run->explained_by);
        return;
    }
    size_t transfers = (size_t)run->plan.transfer_count;
    bool *bad = check_alloc(transfers, sizeof *bad);
    double *rates = check_alloc(transfers, sizeof *rates);
    for (size_t t = 0; t < transfers; t++) {
        rates[t] = transfer_rate(run, &run->plan.transfers[t]);
        bad[t] = is_bad_transfer(run, &run->plan.transfers[t], rates[t]);
    }
    run->findings = blame(&run->plan, run->results, bad, rates, run->config.tolerance_percent / 100,
                          &run->finding_count, run->explained_by);
    free(bad);
    free(rates);
}

/* Returns whether a finding is about another part of the network than the link that it explains. */
static bool is_other_part(const struct finding *finding, const struct tested_link *link) {
    if (link->listed && finding->part)
        return !parts_is_own(link->listed, finding->part);
    return finding->component == COMPONENT_NODE || finding->component == COMPONENT_ROUTER;
}

/* Slow links and detours that a finding about another part explains are not judged themselves. */
static void mark_explained(struct topobw *run) {
    for (int i = 0; i < run->finding_count; i++)
        run->findings[i].state = run->results[run->findings[i].link].state;
    for (int link = 0; link < run->plan.link_count; link++) {
        int finding = run->explained_by[link];
        bool is_explained = run->results[link].state == LINK_SLOW || run->results[link].state == LINK_DETOUR;
        if (finding < 0 || !is_explained || !is_other_part(&run->findings[finding], &run->plan.links[link]))
            continue;
        run->results[link].state = LINK_EXPLAINED;
        if (run->plan.is_listed)
            run->results[link].missing = 0;
    }
}

/* ---- all rounds ---- */

static uint64_t used_phases(const struct topobw *run) {
    uint64_t mask = 0;
    for (int phase = 0; phase < PHASES_MAX; phase++)
        if (run->plan.phases[phase])
            mask |= UINT64_C(1) << phase;
    MPI_CHECK(MPI_Bcast(&mask, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    return mask;
}

/* Ends after the first phase in which any rank gave up a transfer. */
static void measure_round(struct topobw *run, struct stream *stream, uint64_t phases, int round,
                          struct problem *problem) {
    bool is_first = run->rounds_begun++ == 0;
    bool knocks = is_first && has_first_transfer(&run->config.stream, KNOCK_BYTES);
    bool tries_first = is_first && has_first_transfer(&run->config.stream, FIRST_BYTES);
    for (int phase = 0; phase < PHASES_MAX && !run->stuck; phase++)
        if (phases >> phase & 1) {
            if (knocks)
                knock_phase(run, stream, phase, problem);
            if (tries_first && !run->stuck)
                try_phase(run, stream, phase, problem);
            if (run->stuck)
                return;
            measure_phase(run, stream, phase, round, problem);
            note_given_up(run, &run->config.stream, run->limit_s);
            run->stuck = topobw_meet(run);
        }
}

static void make_room(struct topobw *run, uint64_t phases) {
    run->rounds = run->config.repeats + 2 * run->config.retests;
    for (int phase = 0; phase < PHASES_MAX; phase++)
        if (phases >> phase & 1)
            run->slot_of_phase[phase] = run->slots++;
    run->own = check_alloc(numbers_per_rank(run), sizeof(double));
    for (int phase = 0; phase < PHASES_MAX; phase++)
        if (phases >> phase & 1)
            *topobw_routers(run, run->own, phase) = ROUTE_UNKNOWN;
    if (check_rank() == 0) {
        run->all = check_alloc((size_t)check_ranks() * numbers_per_rank(run), sizeof(double));
        run->results = check_alloc((size_t)run->plan.link_count, sizeof *run->results);
        run->stability = stability_make(&run->plan);
    }
}

/* Before every retest but the first, longer each time: a disturbance passes, a fault stays. */
static void pause_before(int retest) {
    if (retest > 0)
        idle_sleep(fmin(ldexp(first_pause_s, retest - 1), longest_pause_s));
}

/* Collective. Returns whether more rounds follow, by rank 0's clock. */
static bool soaks(const struct topobw *run) {
    int more = !run->stuck && MPI_Wtime() - run->begun_s < run->config.soak_s;
    if (run->config.soak_s <= 0 || run->stuck)
        return false; /* the same on all ranks */
    MPI_CHECK(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return more;
}

void topobw_measure(struct topobw *run, struct problem *problem) {
    struct stream stream = stream_open(&run->config.stream);
    uint64_t phases = used_phases(run);
    /* Makes room for the routers of a way where they are to be asked for their names. */
    int is_traced = 0;
    for (int phase = 0; run->config.routes != ROUTES_OFF && phase < PHASES_MAX; phase++)
        is_traced |= run->roles[phase].is_traced;
    MPI_CHECK(MPI_Allreduce(&is_traced, &run->hops, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    run->hops *= HOPS_MAX;
    make_room(run, phases);
    run->limit_s = run->config.stream.limit_s;
    run->begun_s = MPI_Wtime();
    if (check_rank() == 0)
        open_stream(run, problem);
    uint64_t suspects = 0;
    for (bool first = true; first || soaks(run); first = false) {
        for (int round = 0; round < run->config.repeats && !run->stuck; round++) {
            measure_round(run, &stream, phases, round, problem);
            if (first && round == 0 && run->config.routes != ROUTES_OFF && !run->stuck)
                topobw_probe_routes(run, phases);
        }
        suspects = gather_and_judge(run, run->config.repeats, run->config.repeats);
    }
    for (int round = run->config.repeats; round < run->rounds && suspects && !run->stuck; round++) {
        pause_before(round - run->config.repeats);
        measure_round(run, &stream, suspects, round, problem);
        suspects = gather_and_judge(run, 0, round + 1);
    }
    if (run->stuck && run->config.routes != ROUTES_OFF)
        topobw_probe_silence(run);
    if (check_rank() == 0) {
        find_blame(run);
        mark_explained(run);
        for (int link = 0; link < run->plan.link_count; link++)
            run->unjudged += topobw_is_unjudged(run, link);
    }
    if (!run->stuck)
        stream_close(&stream); /* else MPI may still use the buffers */
}

void topobw_free(struct topobw *run) {
    free(run->own);
    free(run->all);
    free(run->results);
    for (int t = 0; run->ways && t < 2 * run->plan.transfer_count; t++)
        free(run->ways[t]);
    free(run->ways);
    stability_free(&run->stability);
    if (run->rounds_file)
        (void)fclose(run->rounds_file);
    for (int finding = 0; finding < run->finding_count; finding++)
        free(run->findings[finding].part), free(run->findings[finding].other);
    free(run->findings);
    free(run->explained_by);
    plan_free(&run->plan);
    link_rates_free(&run->rates);
    coordinates_free(&run->coordinates);
}
