/* Reads what a torus's user-space router has counted: a mapped file, see router/counters.h. */
#define _GNU_SOURCE
#include "router.h"
#include "../router/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 10000 };

struct routed {
    const struct counters_header *live;
    struct counters_header *copy;
    size_t size;
    uint64_t *bytes_before, *packets_before;
    uint64_t *timed_bytes;
    uint64_t *back; /* link -> the link the other way */
};

static void give_up(const char *what) {
    fprintf(stderr, "railyard-counters: cannot %s the counters of the router: %s\n", what,
            errno ? strerror(errno) : "the file is incomplete");
    exit(EXIT_FAILURE);
}

static const struct link_counters *links_of(const struct routed *routed) {
    return (const struct link_counters *)(routed->copy + 1);
}

/* Copy all at one moment between two steps of the router. One that died in the middle of a step leaves what
 * it had. */
static void take(struct routed *routed) {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t before = atomic_load_explicit(&routed->live->sequence, memory_order_acquire);
        memcpy(routed->copy, routed->live, routed->size);
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 && before == atomic_load_explicit(&routed->live->sequence, memory_order_relaxed))
            return;
        usleep(20);
    }
}

static void pair(struct routed *routed) {
    const struct link_counters *links = links_of(routed);
    uint64_t count = routed->copy->links;
    for (uint64_t i = 0; i < count; i++) {
        for (uint64_t k = i + 1; k < count; k++) {
            if (strcmp(links[i].host, links[k].far_host) == 0 &&
                strcmp(links[i].port, links[k].far_port) == 0) {
                routed->back[i] = k;
                routed->back[k] = i;
                break;
            }
        }
    }
}

struct routed *routed_open(const char *torus) {
    char path[256];
    snprintf(path, sizeof path, "/run/railyard/%s/router.counters", torus);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    struct stat status;
    struct routed *routed = calloc(1, sizeof *routed);
    if (routed == NULL || fstat(file, &status) != 0 || (size_t)status.st_size < sizeof *routed->live)
        give_up("read");
    routed->size = (size_t)status.st_size;
    routed->live = mmap(NULL, routed->size, PROT_READ, MAP_SHARED, file, 0);
    routed->copy = malloc(routed->size);
    size_t count = (routed->size - sizeof *routed->live) / sizeof(struct link_counters);
    routed->bytes_before = calloc(count, sizeof *routed->bytes_before);
    routed->packets_before = calloc(count, sizeof *routed->packets_before);
    routed->timed_bytes = calloc(count, sizeof *routed->timed_bytes);
    routed->back = calloc(count, sizeof *routed->back);
    if (routed->live == MAP_FAILED || !routed->copy || !routed->bytes_before || !routed->packets_before ||
        !routed->timed_bytes || !routed->back || routed->live->magic != COUNTERS_MAGIC ||
        routed->live->links != count) {
        errno = 0;
        give_up("map");
    }
    close(file);
    take(routed);
    pair(routed);
    return routed;
}

static void print_histogram(const char *name, const struct histogram *histogram) {
    printf("h %s %" PRIu64 " %" PRIu64 " %" PRIu64, name, histogram->count, histogram->sum, histogram->max);
    for (unsigned i = 0; i < LATENESS_BUCKETS; i++)
        if (histogram->buckets[i])
            printf(" %" PRIu64 ":%" PRIu64, bucket_start(i), histogram->buckets[i]);
    putchar('\n');
}

/* Bytes on the wire count as received: the two ends of a link then agree at any moment. */
static void print_link(const struct link_counters *link, const struct link_counters *back) {
    printf("i %s %s %" PRIu64 " %" PRIu64 " 0 %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", link->host, link->port,
           back->rx_bytes + back->wire_bytes, back->rx_cells, link->tx_bytes, link->tx_cells, link->dropped);
    printf("q %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " 0 %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", link->host,
           link->port, link->rate_byte_s, link->tx_bytes, link->tx_cells, link->waited, link->backlog_bytes,
           link->backlog_cells);
    printf("s %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", link->host, link->port,
           link->input_stall_ns, link->output_stall_ns, link->replays, link->tx_chunks);
}

void routed_snapshot(struct routed *routed) {
    take(routed);
    const struct counters_header *h = routed->copy;
    const struct link_counters *links = links_of(routed);
    for (uint64_t i = 0; i < h->links; i++)
        print_link(&links[i], &links[routed->back[i]]);
    printf("r %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
           "\n",
           h->pid, h->chunks_read, h->chunks_delivered, h->chunks_lost, h->chunks_unroutable, h->write_errors,
           h->in_flight, h->flight_ns);
    print_histogram("late_ns", &h->late_ns);
    print_histogram("late_ppm", &h->late_ppm);
}

struct busiest routed_sweep(struct routed *routed, double seconds, bool timed) {
    struct busiest busiest = {.share = -1};
    take(routed);
    const struct link_counters *links = links_of(routed);
    for (uint64_t i = 0; i < routed->copy->links; i++) {
        uint64_t bytes = links[i].tx_bytes - routed->bytes_before[i];
        double share = links[i].rate_byte_s ? (double)bytes / ((double)links[i].rate_byte_s * seconds) : 0;
        if (share > busiest.share) {
            busiest.host = links[i].host;
            busiest.port = links[i].port;
            busiest.share = share;
        }
        busiest.bytes += bytes;
        routed->timed_bytes[i] += timed ? bytes : 0;
        busiest.packets += links[i].tx_cells - routed->packets_before[i];
        routed->bytes_before[i] = links[i].tx_bytes;
        routed->packets_before[i] = links[i].tx_cells;
    }
    return busiest;
}

struct busiest routed_timed(const struct routed *routed, double seconds) {
    struct busiest busiest = {.share = -1};
    const struct link_counters *links = links_of(routed);
    for (uint64_t i = 0; i < routed->copy->links; i++) {
        double rate = (double)links[i].rate_byte_s;
        double share = rate > 0 ? (double)routed->timed_bytes[i] / (rate * seconds) : 0;
        if (share > busiest.share)
            busiest = (struct busiest){.host = links[i].host, .port = links[i].port, .share = share};
    }
    return busiest;
}
