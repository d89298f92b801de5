/* The counters of a running router: a file that the router maps and writes, and that others map and read.
 *
 * Layout: one `struct counters_header`, then `links` entries of `struct link_counters` in the order of the
 * description. The writer makes `sequence` odd while it changes anything. A reader copies the file, and
 * copies it again where `sequence` was odd or changed meanwhile. All values are in the byte order of the
 * machine.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define COUNTERS_MAGIC 0x31524f5955524c52ULL
enum { LATENESS_BUCKETS = 320, COUNTED_NAME_BYTES = 48 };

/* A histogram with eight buckets per power of two: see `bucket_of`. */
struct histogram {
    uint64_t count;
    uint64_t sum;
    uint64_t max;
    uint64_t buckets[LATENESS_BUCKETS];
};

/* `rx` counts what reached the link's far end, `tx` what left its near end, `wire_bytes` what is between
 * them. Stalls are times: `input_stall_ns` that cells waited behind this link for their next one,
 * `output_stall_ns` that the link was idle although cells waited for it, because its buffer had no credit
 * left. `waited` counts the cells that could not leave at once, `replays` how often one was sent again.
 * `outages` counts the silent spells that a cell met, `outage_ns` is how long they last from then on (0 for
 * ever), and `delayed_ns` what jitter added. `backlog` is what waits for the link now. */
struct link_counters {
    char host[COUNTED_NAME_BYTES];
    char port[16];
    char far_host[COUNTED_NAME_BYTES];
    char far_port[16];
    uint64_t rate_byte_s;
    uint64_t tx_bytes;
    uint64_t tx_cells;
    uint64_t tx_chunks;
    uint64_t rx_bytes;
    uint64_t rx_cells;
    uint64_t wire_bytes;
    uint64_t dropped;
    uint64_t waited;
    uint64_t replays;
    uint64_t outages;
    uint64_t outage_ns;
    uint64_t delayed_ns;
    uint64_t input_stall_ns;
    uint64_t output_stall_ns;
    uint64_t backlog_bytes;
    uint64_t backlog_cells;
};

/* `late_ns` is the time by which a chunk was handed over after it was due, and read after it could have been;
 * `late_ppm` the same as millionths of its whole time on its way. `flight_ns` is the sum of those times. */
struct counters_header {
    uint64_t magic;
    uint64_t links;
    uint64_t pid;
    atomic_uint_least64_t generation;
    atomic_uint_least64_t sequence;
    uint64_t realtime_priority;
    uint64_t chunks_read;
    uint64_t chunks_delivered;
    uint64_t chunks_lost;
    uint64_t chunks_unroutable;
    uint64_t write_errors;
    uint64_t in_flight;
    uint64_t flight_ns;
    uint64_t crossed; /* cells from other machines, and of them those that came after their time */
    uint64_t crossed_late;
    uint64_t clock_error_ns; /* of the other machines' clocks, at most */
    struct histogram late_ns;
    struct histogram late_ppm;
};

/* Values 0 to 7 have a bucket each; above, eight buckets share a power of two. */
static inline unsigned bucket_of(uint64_t value) {
    if (value < 8)
        return (unsigned)value;
    unsigned power = 63U - (unsigned)__builtin_clzll(value);
    unsigned bucket = (power - 2) * 8 + (unsigned)((value >> (power - 3)) & 7);
    return bucket < LATENESS_BUCKETS ? bucket : LATENESS_BUCKETS - 1;
}

/* The smallest value of a bucket. */
static inline uint64_t bucket_start(unsigned bucket) {
    return bucket < 8 ? bucket : (8ULL + bucket % 8) << (bucket / 8 - 1);
}

static inline void histogram_add(struct histogram *histogram, uint64_t value) {
    histogram->count++;
    histogram->sum += value;
    histogram->max = value > histogram->max ? value : histogram->max;
    histogram->buckets[bucket_of(value)]++;
}
