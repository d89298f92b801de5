/* Finds the ranks of a torus in /proc and sums up how long they ran and waited for a processor. */
#define _GNU_SOURCE
#include "ranks.h"
#include "../common.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIDS = 1 << 22, ENVIRONMENT_BYTES = 1 << 16 };

/* One rank. Its files disappear when it ends. */
struct process {
    uint32_t pid;
    int schedstat;
    int comm;
    bool timed;
    uint64_t run_ns;
    uint64_t wait_ns;
};

struct ranks {
    ino_t *namespaces;
    size_t namespace_count;
    struct process *processes; /* ranks that were found and have not ended */
    size_t count;
    char environment[ENVIRONMENT_BYTES];
};

static int by_number(const void *left, const void *right) {
    ino_t a = *(const ino_t *)left, b = *(const ino_t *)right;
    return (a > b) - (a < b);
}

struct ranks *ranks_open(const ino_t *namespaces, size_t count) {
    struct ranks *ranks = zeroed(1, sizeof *ranks);
    ranks->namespaces = zeroed(count, sizeof *namespaces);
    memcpy(ranks->namespaces, namespaces, count * sizeof *namespaces);
    ranks->namespace_count = count;
    qsort(ranks->namespaces, count, sizeof *namespaces, by_number);
    return ranks;
}

static int open_file(const char *pid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%.16s/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Read a file of a process from its start, also one that was read before. */
static ssize_t read_file(int file, char *text, size_t size) {
    ssize_t length = pread(file, text, size - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    return length;
}

static bool on_a_node(const struct ranks *ranks, const char *pid) {
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%.16s/ns/net", pid);
    return stat(path, &status) == 0 && bsearch(&status.st_ino, ranks->namespaces, ranks->namespace_count,
                                               sizeof *ranks->namespaces, by_number) != NULL;
}

/* Return whether a process has a variable in which launchers store a rank's number. */
static bool has_a_rank(struct ranks *ranks, const char *pid) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK="};
    int file = open_file(pid, "environ");
    ssize_t length = read_file(file, ranks->environment, sizeof ranks->environment);
    close(file);
    for (const char *text = ranks->environment; text < ranks->environment + length;
         text += strlen(text) + 1) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(text, names[i], strlen(names[i])) == 0)
                return true;
    }
    return false;
}

static bool is_known(const struct ranks *ranks, uint32_t pid) {
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->processes[i].pid == pid)
            return true;
    return false;
}

static bool read_times(struct process *process) {
    char text[128], name[32];
    if (read_file(process->schedstat, text, sizeof text) <= 0 ||
        read_file(process->comm, name, sizeof name) <= 0)
        return false;
    process->timed = strcmp(name, TIMED_NAME "\n") == 0;
    return sscanf(text, "%" SCNu64 " %" SCNu64, &process->run_ns, &process->wait_ns) == 2;
}

static void close_files(const struct process *process) {
    close(process->schedstat);
    close(process->comm);
}

static void remember(struct ranks *ranks, const char *pid) {
    ranks->processes = grown(ranks->processes, ranks->count + 1, sizeof *ranks->processes);
    struct process current = {.pid = (uint32_t)strtoul(pid, NULL, 10),
                              .schedstat = open_file(pid, "schedstat"),
                              .comm = open_file(pid, "comm")};
    if (read_times(&current))
        ranks->processes[ranks->count++] = current;
    else
        close_files(&current);
}

void ranks_find(struct ranks *ranks) {
    DIR *all = opendir("/proc");
    for (struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;) {
        unsigned long pid = strtoul(entry->d_name, NULL, 10);
        if (pid > 0 && pid <= PIDS && !is_known(ranks, (uint32_t)pid) && on_a_node(ranks, entry->d_name) &&
            has_a_rank(ranks, entry->d_name))
            remember(ranks, entry->d_name);
    }
    if (all != NULL)
        closedir(all);
}

struct look ranks_look(struct ranks *ranks) {
    struct look look = {0};
    for (size_t i = 0; i < ranks->count; i++) {
        struct process before = ranks->processes[i], now = before;
        if (!read_times(&now)) {
            close_files(&before);
            continue;
        }
        uint64_t waited = now.wait_ns - before.wait_ns;
        look.run_ns += now.run_ns - before.run_ns;
        look.wait_ns += waited;
        look.most_wait_ns = waited > look.most_wait_ns ? waited : look.most_wait_ns;
        look.timed += before.timed && now.timed;
        ranks->processes[look.ranks++] = now;
    }
    ranks->count = look.ranks;
    return look;
}
