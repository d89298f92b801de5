/* Makes the counters of a router (counters.h): a file that others read while it runs, or memory. */
#define _GNU_SOURCE
#include "../common.h"
#include "description.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void copy(char *to, size_t size, const char *from) {
    snprintf(to, size, "%s", from);
}

static struct counters_header *mapped(const char *path, size_t size) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0 || ftruncate(file, (off_t)size) != 0)
        fail("make", path);
    struct counters_header *header = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (header == MAP_FAILED)
        fail("map", path);
    close(file);
    return header;
}

struct counters_header *counters_new(const char *path, const struct network *network,
                                     const struct link_name *names) {
    size_t size = sizeof(struct counters_header) + network->link_count * sizeof(struct link_counters);
    struct counters_header *header = path != NULL ? mapped(path, size) : zeroed(1, size);
    struct link_counters *counters = (struct link_counters *)(header + 1);
    for (uint32_t i = 0; i < network->link_count; i++) {
        const struct link *link = &network->links[i];
        copy(counters[i].host, sizeof counters[i].host, network->hosts[link->source].name);
        copy(counters[i].far_host, sizeof counters[i].far_host, network->hosts[link->target].name);
        copy(counters[i].port, sizeof counters[i].port, names[i].port);
        copy(counters[i].far_port, sizeof counters[i].far_port, names[i].far_port);
    }
    header->links = network->link_count;
    header->pid = (uint64_t)getpid();
    header->magic = COUNTERS_MAGIC;
    return header;
}
