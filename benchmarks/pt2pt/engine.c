/* Point-to-point tests of pairs that measure at the same time; see engine.h. */
#include "pt2pt/engine.h"

#include "lib/measure/payload.h"
#include "lib/run/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tags of a pair that the lower rank leads; the other pair of the same ranks has tags above these. */
enum { TAG_DATA = 1, TAG_ANSWER = 2, TAG_READY = 3, TAG_WORD = 4, TAGS = 4 };
enum { SLOT_BYTES_MAX = 64 << 20, LOAD_TRIPS = 8, UNITS_MAX = 10000000 };

/* ---- figures and points ---- */

const struct figure figures[FIGURES] = {
    {"latency", LATENCY, "us", "latency_us", "pair_latency_us", "mean_latency_us", "slowest_latency_us", 0, 0,
     0},
    {"bandwidth", BANDWIDTH, "GB/s", "bandwidth_gbyte_s", "pair_bandwidth_gbyte_s", NULL,
     "aggregate_bandwidth_gbyte_s", 1, 1, 0},
    {"bibandwidth", BIBANDWIDTH, "GB/s", "bandwidth_gbyte_s", "pair_bandwidth_gbyte_s", NULL,
     "aggregate_bandwidth_gbyte_s", 1, 2, 0},
    {"rate", RATE, "messages/s", "rate_message_s", "pair_rate_message_s", NULL, "aggregate_rate_message_s", 0,
     1, 0},
    {"tail", TAIL, "us", "latency_p50_us", "pair_latency_p50_us", "mean_latency_p50_us",
     "slowest_latency_p50_us", 0, 0, 0.5},
    {"tail", TAIL, "us", "latency_p99_us", "pair_latency_p99_us", "mean_latency_p99_us",
     "slowest_latency_p99_us", 0, 0, 0.99},
    {"tail", TAIL, "us", "latency_p999_us", "pair_latency_p999_us", "mean_latency_p999_us",
     "slowest_latency_p999_us", 0, 0, 0.999},
};

static size_t largest_size(const struct test_points *points) {
    size_t largest = 0;
    for (int i = 0; i < points->sizes.count; i++)
        if (points->sizes.value[i] > largest)
            largest = points->sizes.value[i];
    return largest;
}

void points_check(const struct test_points *points, struct problem *problem) {
    for (int f = 0; f < FIGURES; f++)
        if (points->tests[figures[f].test] && largest_size(points) < figures[f].smallest_bytes)
            problem_set(problem, "--sizes 0: %s has no rate for 0 B; expected sizes from 1 B",
                        figures[f].name);
}

int points_list(const struct test_points *points, struct point *list) {
    int count = 0;
    for (int test = 0; test < TESTS; test++)
        for (int i = 0; points->tests[test] && i < points->sizes.count; i++)
            for (int f = 0; f < FIGURES; f++)
                if ((int)figures[f].test == test && points->sizes.value[i] >= figures[f].smallest_bytes)
                    list[count++] = (struct point){f, points->sizes.value[i]};
    return count;
}

static bool has_trips(enum test test) {
    return test == LATENCY || test == TAIL;
}

double point_value(const struct engine_config *config, const struct point *point, double unit_s) {
    const struct figure *figure = &figures[point->figure];
    if (has_trips(figure->test))
        return 1e6 * unit_s / 2;
    if (figure->test == RATE)
        return config->window / unit_s;
    return 1e-9 * (double)point->bytes * config->window * figure->directions / unit_s;
}

/* ---- memory ---- */

/* Returns the messages that the incoming memory of each of a rank's ends holds. */
static int slots_of(const struct engine_config *config, int ends, size_t bytes) {
    size_t most = bytes ? SLOT_BYTES_MAX / bytes / (size_t)ends : (size_t)config->window;
    if (config->one_buffer || most < 1)
        return 1;
    return most < (size_t)config->window ? (int)most : config->window;
}

static void add_end(struct engine *engine, int ends, int peer, bool leads) {
    const struct engine_config *config = engine->config;
    struct end *end = &engine->ends[engine->end_count++];
    *end = (struct end){
        .peer = peer, .leads = leads, .reverse = leads == (check_rank() > peer), .loose = MPI_REQUEST_NULL};
    size_t most = 0;
    for (int i = 0; i < config->points.sizes.count; i++) {
        size_t bytes = config->points.sizes.value[i];
        size_t needed = bytes * (size_t)slots_of(config, ends, bytes);
        most = needed > most ? needed : most;
    }
    end->incoming = memory_alloc(&config->memory, most);
    end->requests = check_alloc(2 * (size_t)config->window + 1, sizeof *end->requests);
}

struct engine engine_open(const struct engine_config *config, MPI_Comm team, const struct pair *pairs,
                          int pair_count) {
    struct engine engine = {.config = config, .team = team, .pairs = pair_count};
    size_t largest = largest_size(&config->points);
    int rank = check_rank();
    int ends = 0;
    for (int i = 0; i < pair_count; i++)
        ends += (pairs[i].from == rank) + (pairs[i].to == rank);
    engine.ends = check_alloc((size_t)ends, sizeof *engine.ends);
    for (int i = 0; i < pair_count; i++) {
        if (pairs[i].from == rank)
            add_end(&engine, ends, pairs[i].to, true);
        if (pairs[i].to == rank)
            add_end(&engine, ends, pairs[i].from, false);
    }
    engine.outgoing = memory_alloc(&config->memory, largest);
    char *payload = memory_get(&config->memory, engine.outgoing, largest);
    payload_fill(payload, largest, payload_key(config->sampling.seed, 0, (uint64_t)rank, 0));
    memory_put(&config->memory, engine.outgoing, payload, largest);
    return engine;
}

void engine_close(struct engine *engine) {
    for (int e = 0; e < engine->end_count; e++) {
        memory_free(&engine->config->memory, engine->ends[e].incoming);
        free(engine->ends[e].requests);
        free(engine->ends[e].trips_s);
    }
    free(engine->ends);
    memory_free(&engine->config->memory, engine->outgoing);
}

/* ---- one unit: a window or a round trip ---- */

static int tag_of(const struct end *end, int tag) {
    return end->reverse ? tag + TAGS : tag;
}

static enum test test_of(const struct engine *engine) {
    return figures[engine->point.figure].test;
}

/* Sends a message without waiting for its completion; the previous one has completed long ago. */
static void send_loose(struct end *end, const void *data, int bytes, int tag) {
    MPI_CHECK(MPI_Wait(&end->loose, MPI_STATUS_IGNORE));
    MPI_CHECK(MPI_Isend(data, bytes, MPI_BYTE, end->peer, tag_of(end, tag), MPI_COMM_WORLD, &end->loose));
}

/* Sends the follower's notice that its receives are posted. Sent after its own messages, it would arrive
 * last. */
static void send_ready(struct end *end) {
    if (end->owes_ready)
        send_loose(end, NULL, 0, TAG_READY);
    end->owes_ready = false;
}

static void post_unit(struct engine *engine, struct end *end) {
    bool trips = has_trips(test_of(engine));
    bool both = trips || test_of(engine) == BIBANDWIDTH;
    int messages = trips ? 1 : engine->config->window;
    end->pending = 0;
    if (both || !end->leads)
        for (int i = 0; i < messages; i++) {
            char *slot = end->incoming + (size_t)(i % engine->slots) * engine->point.bytes;
            MPI_CHECK(MPI_Irecv(slot, (int)engine->point.bytes, MPI_BYTE, end->peer, tag_of(end, TAG_DATA),
                                MPI_COMM_WORLD, &end->requests[end->pending++]));
        }
    send_ready(end);
    if (end->leads || test_of(engine) == BIBANDWIDTH)
        for (int i = 0; i < messages; i++)
            MPI_CHECK(MPI_Isend(engine->outgoing, (int)engine->point.bytes, MPI_BYTE, end->peer,
                                tag_of(end, TAG_DATA), MPI_COMM_WORLD, &end->requests[end->pending++]));
    if (end->leads && !both)
        MPI_CHECK(MPI_Irecv(NULL, 0, MPI_BYTE, end->peer, tag_of(end, TAG_ANSWER), MPI_COMM_WORLD,
                            &end->requests[end->pending++]));
}

static bool leads_trips(const struct engine *engine, const struct end *end) {
    return end->leads && test_of(engine) == TAIL && end->trip_count < engine->units;
}

static void note_trip(struct engine *engine, struct end *end) {
    double now_s = clock_now_s();
    if (leads_trips(engine, end))
        end->trips_s[end->trip_count++] = now_s - end->trip_s;
    end->trip_s = now_s;
}

/* All round trips that are left, by a rank that has no other end to look after. */
static void run_trips(struct engine *engine, struct end *end) {
    int bytes = (int)engine->point.bytes;
    bool tail = leads_trips(engine, end);
    MPI_CHECK(MPI_Wait(&end->loose, MPI_STATUS_IGNORE));
    end->trip_s = clock_now_s();
    for (; end->units_left > 0; end->units_left--) {
        if (end->leads)
            MPI_CHECK(MPI_Send(engine->outgoing, bytes, MPI_BYTE, end->peer, tag_of(end, TAG_DATA),
                               MPI_COMM_WORLD));
        MPI_CHECK(MPI_Recv(end->incoming, bytes, MPI_BYTE, end->peer, tag_of(end, TAG_DATA), MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
        if (!end->leads)
            MPI_CHECK(MPI_Send(engine->outgoing, bytes, MPI_BYTE, end->peer, tag_of(end, TAG_DATA),
                               MPI_COMM_WORLD));
        if (tail)
            note_trip(engine, end);
    }
}

/* ---- one sample: what an end does when its requests are done ---- */

enum { MEET, TIMED, WORD, LOAD, FINISHED };

static bool blocks(const struct engine *engine) {
    return engine->end_count == 1 && has_trips(test_of(engine));
}

static void start_units(struct engine *engine, struct end *end, int step, int units) {
    end->step = step;
    end->units_left = units;
    end->pending = 0;
    end->trip_s = clock_now_s();
    if (!blocks(engine))
        post_unit(engine, end);
}

/* The follower is ready once its receives are posted. */
static void begin_end(struct engine *engine, struct end *end) {
    end->trip_count = 0;
    if (end->leads) {
        end->step = MEET;
        end->pending = 1;
        MPI_CHECK(MPI_Irecv(NULL, 0, MPI_BYTE, end->peer, tag_of(end, TAG_READY), MPI_COMM_WORLD,
                            &end->requests[0]));
        return;
    }
    end->owes_ready = true;
    start_units(engine, end, TIMED, engine->units);
    end->times.start_s = clock_now_s();
    send_ready(end);
}

static bool all_have_finished(struct engine *engine) {
    int done = 0;
    if (engine->pairs == 1)
        return true;
    if (engine->timing == 0 && engine->all_finished == MPI_REQUEST_NULL)
        return true; /* MPI_Test does this too, but not in SMPI */
    if (engine->timing == 0)
        MPI_CHECK(MPI_Test(&engine->all_finished, &done, MPI_STATUS_IGNORE));
    return done;
}

/* Also tests whether all have finished, because SMPI advances a non-blocking barrier in no other call. */
static void await_word(struct engine *engine, struct end *end) {
    (void)all_have_finished(engine);
    end->step = WORD;
    end->pending = 1;
    MPI_CHECK(MPI_Irecv(&end->grant, (int)sizeof end->grant, MPI_BYTE, end->peer, tag_of(end, TAG_WORD),
                        MPI_COMM_WORLD, &end->requests[0]));
}

/* After a unit, or all that block: the next unit, or the next step. */
static void advance_units(struct engine *engine, struct end *end) {
    if (blocks(engine)) {
        run_trips(engine, end);
    } else {
        if (leads_trips(engine, end))
            note_trip(engine, end);
        /* The follower's part after the messages of a unit have come. */
        if (!end->leads && test_of(engine) != BIBANDWIDTH) {
            if (has_trips(test_of(engine)))
                send_loose(end, engine->outgoing, (int)engine->point.bytes, TAG_DATA);
            else
                send_loose(end, NULL, 0, TAG_ANSWER);
        }
        if (--end->units_left > 0) {
            post_unit(engine, end);
            return;
        }
    }
    if (end->step == TIMED) {
        end->times.end_s = clock_now_s();
        if (--engine->timing == 0 && engine->pairs > 1)
            MPI_CHECK(MPI_Ibarrier(engine->team, &engine->all_finished));
    }
    if (end->leads) {
        /* The leader's request after its timed units: it maintains the load while other pairs measure. */
        MPI_CHECK(MPI_Wait(&end->loose, MPI_STATUS_IGNORE));
        end->grant = all_have_finished(engine) ? 0 : has_trips(test_of(engine)) ? LOAD_TRIPS : 1;
        send_loose(end, &end->grant, (int)sizeof end->grant, TAG_WORD);
        if (end->grant > 0)
            start_units(engine, end, LOAD, end->grant);
        else
            end->step = FINISHED;
    } else {
        await_word(engine, end);
    }
}

/* Waits until all requests of an end are done. */
static struct end *next_end(struct engine *engine) {
    if (engine->end_count == 1) {
        MPI_CHECK(MPI_Waitall(engine->ends->pending, engine->ends->requests, MPI_STATUSES_IGNORE));
        return engine->ends;
    }
    for (;;) {
        int done = 0;
        engine->turn = (engine->turn + 1) % engine->end_count;
        struct end *end = &engine->ends[engine->turn];
        if (end->step != FINISHED)
            MPI_CHECK(MPI_Testall(end->pending, end->requests, &done, MPI_STATUSES_IGNORE));
        if (done)
            return end;
    }
}

static void run_sample(struct engine *engine) {
    int left = engine->end_count;
    MPI_CHECK(MPI_Barrier(engine->team));
    engine->timing = engine->end_count;
    engine->all_finished = MPI_REQUEST_NULL;
    for (int e = 0; e < engine->end_count; e++)
        begin_end(engine, &engine->ends[e]);
    while (left > 0) {
        struct end *end = next_end(engine);
        if (end->step == MEET) {
            end->times.start_s = clock_now_s();
            start_units(engine, end, TIMED, engine->units);
        } else if (end->step != WORD) {
            advance_units(engine, end);
        } else if (end->grant > 0) {
            start_units(engine, end, LOAD, end->grant);
        } else {
            end->step = FINISHED;
        }
        left -= end->step == FINISHED;
    }
    MPI_CHECK(MPI_Wait(&engine->all_finished, MPI_STATUS_IGNORE));
    for (int e = 0; e < engine->end_count; e++)
        MPI_CHECK(MPI_Wait(&engine->ends[e].loose, MPI_STATUS_IGNORE));
}

/* ---- data ---- */

static void clear_incoming(struct engine *engine) {
    const struct memory *memory = &engine->config->memory;
    size_t bytes = (size_t)engine->slots * engine->point.bytes;
    for (int e = 0; e < engine->end_count; e++) {
        char *incoming = engine->ends[e].incoming;
        memory_put(memory, incoming, memset(memory_get(memory, incoming, bytes), 0, bytes), bytes);
    }
}

static void check_end(const struct engine *engine, const struct end *end, struct problem *problem) {
    size_t bytes = engine->point.bytes;
    uint64_t key = payload_key(engine->config->sampling.seed, 0, (uint64_t)end->peer, 0);
    int slots = has_trips(test_of(engine)) ? 1 : engine->slots;
    char *incoming = memory_get(&engine->config->memory, end->incoming, (size_t)slots * bytes);
    payload_test_fault(incoming, bytes, check_rank());
    for (int slot = 0; slot < slots; slot++) {
        size_t wrong = payload_first_difference(incoming + (size_t)slot * bytes, bytes, key);
        if (wrong < bytes)
            problem_set(
                problem,
                "data are wrong, no rate is printed: rank %d, message of %zu bytes from rank %d, byte %zu",
                check_rank(), bytes, end->peer, wrong);
    }
    memory_drop(&engine->config->memory, end->incoming, incoming);
}

/* Collective over the team. True on all its ranks when what any of them received is right. */
static bool data_are_right(const struct engine *engine, struct problem *problem) {
    for (int e = 0; e < engine->end_count; e++)
        if (!engine->ends[e].leads || has_trips(test_of(engine)) || test_of(engine) == BIBANDWIDTH)
            check_end(engine, &engine->ends[e], problem);
    int wrong = problem_is_set(problem);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, engine->team));
    return !wrong;
}

/* ---- how long ---- */

static int least_units(const struct engine *engine) {
    const struct engine_config *config = engine->config;
    if (!has_trips(test_of(engine)))
        return config->windows;
    return engine->point.bytes <= SMALL_BYTES ? config->batch : 1;
}

static double longest_sample_s(const struct engine *engine) {
    double longest_s = 0;
    for (int e = 0; e < engine->end_count; e++) {
        const struct times *times = &engine->ends[e].times;
        longest_s = fmax(longest_s, times->end_s - times->start_s);
    }
    return longest_s;
}

/* Collective over the team: the same on all ranks, the largest of any. */
static double agreed(const struct engine *engine, double seconds) {
    double largest_s = 0;
    MPI_CHECK(MPI_Allreduce(&seconds, &largest_s, 1, MPI_DOUBLE, MPI_MAX, engine->team));
    return largest_s;
}

static void make_room_for_trips(struct engine *engine) {
    for (int e = 0; e < engine->end_count && test_of(engine) == TAIL; e++) {
        free(engine->ends[e].trips_s);
        engine->ends[e].trips_s = check_alloc((size_t)engine->units, sizeof(double));
    }
}

/* Collective over the team. Untimed samples, longer each time while they are short; then the units of the
 * timed ones. */
static void warm_up(struct engine *engine) {
    const struct sampling *sampling = &engine->config->sampling;
    double begin_s = clock_now_s();
    double unit_s = 0;
    engine->units = least_units(engine);
    if (sampling->warmups == 0 && sampling->warmup_s <= 0 && sampling->min_time_s <= 0)
        return;
    for (int done = 0;; done++) {
        make_room_for_trips(engine);
        run_sample(engine);
        double sample_s = agreed(engine, longest_sample_s(engine));
        unit_s = sample_s / engine->units;
        if (done + 1 >= sampling->warmups && agreed(engine, clock_now_s() - begin_s) >= sampling->warmup_s)
            break;
        if (sample_s < 1e-3 && sampling->warmup_s > 0 && engine->units < UNITS_MAX / 2)
            engine->units *= 2;
    }
    /* Enough units for all samples together to take the minimum time of a point. */
    double sample_s = sampling->min_time_s / sampling->repeats;
    if (sampling->point_time_s > 0)
        sample_s = fmin(sample_s, sampling->point_time_s / sampling->repeats);
    double units = fmin(ceil(sample_s / fmax(unit_s, 1e-9)), UNITS_MAX);
    engine->units = units > least_units(engine) ? (int)units : least_units(engine);
}

/* ---- a point ---- */

static void note_sample(struct engine *engine, struct point_times *times, int sample) {
    for (int e = 0; e < engine->end_count; e++) {
        size_t at = (size_t)sample * (size_t)engine->end_count + (size_t)e;
        times->of_end[at] = engine->ends[e].times;
        if (test_of(engine) == TAIL && engine->ends[e].leads) {
            /* The smallest round trip that the share of all does not exceed. */
            int index = 0;
            sampling_sort(engine->ends[e].trips_s, engine->ends[e].trip_count);
            for (int f = 0; f < FIGURES; f++)
                if (figures[f].share > 0 && engine->ends[e].trip_count > 0) {
                    int place = (int)ceil(figures[f].share * engine->ends[e].trip_count) - 1;
                    (&times->percentiles_s[at * PERCENTILES])[index++] = engine->ends[e].trips_s[place];
                }
        }
    }
}

bool engine_measure(struct engine *engine, const struct point *point, struct point_times *times,
                    struct problem *problem) {
    const struct sampling *sampling = &engine->config->sampling;
    int first = sampling_first(sampling);
    double taken_s = 0;
    engine->point = *point;
    engine->slots = slots_of(engine->config, engine->end_count, point->bytes);
    engine->units = 1;
    make_room_for_trips(engine);
    clear_incoming(engine);
    run_sample(engine);
    if (!data_are_right(engine, problem))
        return false;
    clear_incoming(engine);
    warm_up(engine);
    make_room_for_trips(engine);
    times->units = engine->units;
    times->count = first;
    sampling_begin();
    for (int i = 0; i < times->count; i++) {
        run_sample(engine);
        note_sample(engine, times, i);
        taken_s += longest_sample_s(engine);
        if (i + 1 == first)
            times->count = sampling_count(sampling, first, agreed(engine, taken_s));
    }
    sampling_end();
    return data_are_right(engine, problem);
}
