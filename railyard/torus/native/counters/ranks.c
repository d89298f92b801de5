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
    struct rank_node *nodes;
    size_t node_count;
    struct process *processes; /* ranks that were seen */
    size_t count;
    uint32_t look;
    char environment[ENVIRONMENT_BYTES];
};

static int by_inode(const void *left, const void *right) {
    ino_t a = ((const struct rank_node *)left)->inode, b = ((const struct rank_node *)right)->inode;
    return (a > b) - (a < b);
}

struct ranks *ranks_open(const struct rank_node *nodes, size_t count) {
    struct ranks *ranks = calloc(1, sizeof *ranks);
    if (ranks == NULL || (ranks->nodes = calloc(count + 1, sizeof *nodes)) == NULL) {
        fputs("railyard-counters: cannot allocate memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    memcpy(ranks->nodes, nodes, count * sizeof *nodes);
    ranks->node_count = count;
    qsort(ranks->nodes, count, sizeof *nodes, by_inode);
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

/* The node of a process, or NULL of one elsewhere. */
static const struct rank_node *node_of(const struct ranks *ranks, const char *pid) {
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%.16s/ns/net", pid);
    if (stat(path, &status) != 0) {
        return NULL;
    }
    struct rank_node wanted = {.inode = status.st_ino};
    return bsearch(&wanted, ranks->nodes, ranks->node_count, sizeof wanted, by_inode);
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

static uint64_t least(uint64_t one, uint64_t other) {
    return one < other ? one : other;
}

void ranks_look(struct ranks *ranks, double seconds, const uint64_t *quiet_ns) {
    uint64_t run_ns = 0, wait_ns = 0, most_ns = 0, delay_ns = 0, counted = 0;
    DIR *all = opendir("/proc");
    ranks->look++;
    for (struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;) {
        char text[128];
        uint64_t run, wait;
        unsigned long pid = strtoul(entry->d_name, NULL, 10);
        const struct rank_node *node = pid == 0 || pid > PIDS ? NULL : node_of(ranks, entry->d_name);
        if (node == NULL) {
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
            delay_ns +=
                least(waited, quiet_ns != NULL && node->number >= 0 ? quiet_ns[node->number] : waited);
            counted++;
        }
        *process =
            (struct process){.pid = (uint32_t)pid, .look = ranks->look, .run_ns = run, .wait_ns = wait};
    }
    if (all != NULL) {
        closedir(all);
    }
    forget_ended(ranks);
    printf("w %.4f %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", seconds, counted, run_ns,
           wait_ns, most_ns, delay_ns);
}
