/* Finds the ranks of a torus in /proc and sums up how long they ran and waited for a processor. */
#define _GNU_SOURCE
#include "ranks.h"

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

/* One process; `look` is the number of the last look that saw it. */
struct process {
    uint32_t pid;
    uint32_t look;
    uint64_t run_ns;
    uint64_t wait_ns;
};

struct ranks {
    ino_t *namespaces;
    size_t namespace_count;
    struct process *processes; /* ranks that were seen */
    size_t count;
    uint32_t look;
    char environment[ENVIRONMENT_BYTES];
};

static int by_number(const void *left, const void *right) {
    ino_t a = *(const ino_t *)left, b = *(const ino_t *)right;
    return (a > b) - (a < b);
}

struct ranks *ranks_open(const ino_t *namespaces, size_t count) {
    struct ranks *ranks = calloc(1, sizeof *ranks);
    if (ranks == NULL || (ranks->namespaces = calloc(count + 1, sizeof *namespaces)) == NULL) {
        fputs("railyard-counters: cannot allocate memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    memcpy(ranks->namespaces, namespaces, count * sizeof *namespaces);
    ranks->namespace_count = count;
    qsort(ranks->namespaces, count, sizeof *namespaces, by_number);
    return ranks;
}

static ssize_t read_file(const char *pid, const char *name, char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%.16s/%s", pid, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    ssize_t length = read(file, text, size - 1);
    close(file);
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

/* Launchers give each rank its number by a variable. */
static bool has_a_rank(struct ranks *ranks, const char *pid) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK="};
    ssize_t length = read_file(pid, "environ", ranks->environment, sizeof ranks->environment);
    for (const char *text = ranks->environment; text < ranks->environment + length;
         text += strlen(text) + 1) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (strncmp(text, names[i], strlen(names[i])) == 0) {
                return true;
            }
        }
    }
    return false;
}

static struct process *known(struct ranks *ranks, uint32_t pid) {
    for (size_t i = 0; i < ranks->count; i++) {
        if (ranks->processes[i].pid == pid) {
            return &ranks->processes[i];
        }
    }
    return NULL;
}

static struct process *remember(struct ranks *ranks, uint32_t pid) {
    struct process *grown = realloc(ranks->processes, (ranks->count + 1) * sizeof *grown);
    if (grown == NULL) {
        return NULL;
    }
    ranks->processes = grown;
    ranks->processes[ranks->count] = (struct process){.pid = pid};
    return &ranks->processes[ranks->count++];
}

/* Those that ended make room: a process number may come back as another process. */
static void forget_ended(struct ranks *ranks) {
    size_t kept = 0;
    for (size_t i = 0; i < ranks->count; i++) {
        if (ranks->processes[i].look == ranks->look) {
            ranks->processes[kept++] = ranks->processes[i];
        }
    }
    ranks->count = kept;
}

void ranks_look(struct ranks *ranks, double seconds) {
    uint64_t run_ns = 0, wait_ns = 0, most_ns = 0, counted = 0;
    DIR *all = opendir("/proc");
    ranks->look++;
    for (struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;) {
        char text[128];
        uint64_t run, wait;
        unsigned long pid = strtoul(entry->d_name, NULL, 10);
        if (pid == 0 || pid > PIDS || !on_a_node(ranks, entry->d_name)) {
            continue;
        }
        struct process *process = known(ranks, (uint32_t)pid);
        bool is_new = process == NULL;
        if ((is_new && (!has_a_rank(ranks, entry->d_name) || !(process = remember(ranks, (uint32_t)pid)))) ||
            read_file(entry->d_name, "schedstat", text, sizeof text) <= 0 ||
            sscanf(text, "%" SCNu64 " %" SCNu64, &run, &wait) != 2) {
            continue;
        }
        if (!is_new && run >= process->run_ns && wait >= process->wait_ns) {
            uint64_t waited = wait - process->wait_ns;
            run_ns += run - process->run_ns;
            wait_ns += waited;
            most_ns = waited > most_ns ? waited : most_ns;
            counted++;
        }
        *process =
            (struct process){.pid = (uint32_t)pid, .look = ranks->look, .run_ns = run, .wait_ns = wait};
    }
    if (all != NULL) {
        closedir(all);
    }
    forget_ended(ranks);
    printf("w %.4f %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", seconds, counted, run_ns, wait_ns,
           most_ns);
}
