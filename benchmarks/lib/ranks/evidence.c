/* Asks the kernel where this rank runs, and gathers the answers; see evidence.h. */
#include "lib/ranks/evidence.h"

#include "lib/run/check.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CPUS_FIRST = 1024, CPUS_MAX = 1 << 20 };

#ifdef RAILYARD_HOST_FROM_MPI
void evidence_host(char *host) {
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_CHECK(MPI_Get_processor_name(name, &length));
    memset(host, 0, EVIDENCE_HOST_BYTES);
    (void)snprintf(host, EVIDENCE_HOST_BYTES, "%.*s", length, name);
    host[strcspn(host, ".")] = '\0'; /* a simulated host is a NIC, NODE.nicK on rail K; the node is meant */
}
#else
void evidence_host(char *host) {
    memset(host, 0, EVIDENCE_HOST_BYTES);
    if (gethostname(host, EVIDENCE_HOST_BYTES - 1) != 0)
        strcpy(host, "?");
}
#endif

static int numa_node(void) {
    unsigned cpu = 0;
    unsigned node = 0;
    return syscall(SYS_getcpu, &cpu, &node, NULL) == 0 ? (int)node : -1;
}

static int list_cpus(const cpu_set_t *set, size_t set_bytes, int *cpus) {
    int count = 0;
    for (size_t cpu = 0; cpu < 8 * set_bytes; cpu++)
        if (CPU_ISSET_S(cpu, set_bytes, set))
            cpus[count++] = (int)cpu;
    return count;
}

/* The CPUs that this rank may run on; the kernel refuses a set smaller than its own, so ask with larger ones.
 */
static int *allowed_cpus(int *count) {
    *count = 0;
    for (size_t room = CPUS_FIRST; room <= CPUS_MAX; room *= 2) {
        size_t bytes = CPU_ALLOC_SIZE(room);
        cpu_set_t *set = check_alloc(1, bytes);
        int *cpus = NULL;
        if (sched_getaffinity(0, bytes, set) == 0) {
            cpus = check_alloc(8 * bytes, sizeof *cpus);
            *count = list_cpus(set, bytes, cpus);
        }
        free(set);
        if (cpus)
            return cpus;
    }
    return check_alloc(1, sizeof(int));
}

static struct evidence evidence_here(int allowed_count) {
    struct evidence here = {.cpu = sched_getcpu(), .numa_node = numa_node(), .allowed_count = allowed_count};
    evidence_host(here.host);
    return here;
}

static void start_list(struct evidence_list *list) {
    list->ranks = check_ranks();
    list->of_rank = check_alloc((size_t)list->ranks, sizeof *list->of_rank);
}

/* Fills counts and offsets for the gathered CPUs; returns their total. */
static int layout(struct evidence_list *list, int *counts, int *offsets) {
    int total = 0;
    for (int rank = 0; rank < list->ranks; rank++) {
        struct evidence *of_rank = &list->of_rank[rank];
        of_rank->allowed_offset = offsets[rank] = total;
        counts[rank] = of_rank->allowed_count;
        total += of_rank->allowed_count;
    }
    return total;
}

static void gather_cpus(struct evidence_list *list, const int *cpus, int count) {
    int *counts = check_alloc((size_t)list->ranks, sizeof *counts);
    int *offsets = check_alloc((size_t)list->ranks, sizeof *offsets);
    int total = layout(list, counts, offsets);
    list->allowed_cpus = check_alloc((size_t)total, sizeof(int));
    MPI_CHECK(
        MPI_Gatherv(cpus, count, MPI_INT, list->allowed_cpus, counts, offsets, MPI_INT, 0, MPI_COMM_WORLD));
    free(offsets);
    free(counts);
}

void evidence_gather(struct evidence_list *list) {
    int count = 0;
    int *cpus = allowed_cpus(&count);
    struct evidence here = evidence_here(count);
    int bytes = (int)sizeof here;
    *list = (struct evidence_list){0};
    if (check_rank() == 0)
        start_list(list);
    MPI_CHECK(MPI_Gather(&here, bytes, MPI_BYTE, list->of_rank, bytes, MPI_BYTE, 0, MPI_COMM_WORLD));
    gather_cpus(list, cpus, count);
    free(cpus);
}

static int compare_hosts(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

int evidence_hosts(const struct evidence_list *list) {
    const char **hosts = check_alloc((size_t)list->ranks, sizeof *hosts);
    int different = list->ranks > 0;
    for (int rank = 0; rank < list->ranks; rank++)
        hosts[rank] = list->of_rank[rank].host;
    qsort(hosts, (size_t)list->ranks, sizeof *hosts, compare_hosts);
    for (int i = 1; i < list->ranks; i++)
        different += strcmp(hosts[i - 1], hosts[i]) != 0;
    free(hosts);
    return different;
}

void evidence_free(struct evidence_list *list) {
    free(list->of_rank);
    free(list->allowed_cpus);
}
