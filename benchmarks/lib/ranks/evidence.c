/* Reads from the kernel where this rank runs, merges the ranks of a node and gathers the nodes; see
 * evidence.h. */
#include "lib/ranks/evidence.h"

#include "lib/run/check.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CPUS_FIRST = 1024, CPUS_MAX = 1 << 20, NUMBER_BYTES = 16, TEXT_BYTES_FIRST = 1024, UNKNOWN = -2 };

#ifdef RAILYARD_HOST_FROM_MPI
void evidence_host(char *host) {
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_CHECK(MPI_Get_processor_name(name, &length));
    memset(host, 0, EVIDENCE_HOST_BYTES);
    (void)snprintf(host, EVIDENCE_HOST_BYTES, "%.*s", length, name);
    host[strcspn(host, ".")] = '\0'; /* a simulated host is the NIC of rail K, NODE.nicK; return the node */
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

/* ---- text that grows ---- */

struct text {
    char *bytes;
    size_t length;
    size_t room;
};

static void text_add(struct text *text, const char *bytes, size_t count) {
    while (text->length + count > text->room) {
        size_t room = text->room ? 2 * text->room : TEXT_BYTES_FIRST;
        char *larger = check_alloc(room, 1);
        if (text->length > 0)
            memcpy(larger, text->bytes, text->length);
        free(text->bytes);
        text->bytes = larger;
        text->room = room;
    }
    memcpy(text->bytes + text->length, bytes, count);
    text->length += count;
}

static void text_number(struct text *text, const char *before, int number) {
    char word[2 * NUMBER_BYTES];
    int length = number == UNKNOWN ? snprintf(word, sizeof word, "%s?", before)
                                   : snprintf(word, sizeof word, "%s%d", before, number);
    text_add(text, word, (size_t)length);
}

/* Returns how many numbers from the first on are equal (step 0) or consecutive (step 1). */
static int run_length(const int *numbers, int count, int step) {
    int length = 1;
    while (length < count && numbers[length] == numbers[length - 1] + step)
        length++;
    return length;
}

/* Adds a column: equal neighbours as `0*128`, rising ones as `0-127`; a rise ends where equal ones begin. */
static void text_column(struct text *text, const int *numbers, int count) {
    for (int at = 0, length = 1; at < count; at += length) {
        int equal = run_length(numbers + at, count - at, 0);
        int rising = numbers[at] < 0 ? 1 : run_length(numbers + at, count - at, 1);
        if (rising > 1 && at + rising < count && numbers[at + rising] == numbers[at + rising - 1])
            rising--;
        text_number(text, at > 0 ? "," : "", numbers[at]);
        if (equal > 1)
            text_number(text, "*", equal);
        else if (rising > 1)
            text_number(text, "-", numbers[at] + rising - 1);
        length = equal > 1 ? equal : rising;
    }
}

/* ---- one rank ---- */

struct place {
    char host[EVIDENCE_HOST_BYTES];
    int rank;
    int cpu;       /* -1: unknown */
    int numa_node; /* -1: unknown */
};

static void list_cpus(const cpu_set_t *set, size_t set_bytes, struct text *text) {
    int *cpus = check_alloc(8 * set_bytes, sizeof *cpus);
    int count = 0;
    for (size_t cpu = 0; cpu < 8 * set_bytes; cpu++)
        if (CPU_ISSET_S(cpu, set_bytes, set))
            cpus[count++] = (int)cpu;
    text_column(text, cpus, count);
    free(cpus);
}

/* Reads the CPUs that this rank may run on, in larger and larger sets, because the kernel refuses one smaller
 * than its own. */
static void allowed_cpus(struct text *text) {
    for (size_t room = CPUS_FIRST; room <= CPUS_MAX; room *= 2) {
        size_t bytes = CPU_ALLOC_SIZE(room);
        cpu_set_t *set = check_alloc(1, bytes);
        bool known = sched_getaffinity(0, bytes, set) == 0;
        if (known)
            list_cpus(set, bytes, text);
        free(set);
        if (known)
            break;
    }
    text_add(text, "", 1);
}

/* ---- parts of all ranks ---- */

void *evidence_collect(MPI_Comm comm, const void *part, int bytes, int *total) {
    int rank = 0;
    int size = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    MPI_CHECK(MPI_Comm_size(comm, &size));
    int *counts = check_alloc(rank == 0 ? (size_t)size : 0, sizeof *counts);
    int *offsets = check_alloc(rank == 0 ? (size_t)size : 0, sizeof *offsets);
    MPI_CHECK(MPI_Gather(&bytes, 1, MPI_INT, counts, 1, MPI_INT, 0, comm));
    *total = 0;
    for (int i = 0; rank == 0 && i < size; i++) {
        offsets[i] = *total;
        *total += counts[i];
    }
    void *all = rank == 0 ? check_alloc((size_t)*total, 1) : NULL;
    MPI_CHECK(MPI_Gatherv(part, bytes, MPI_CHAR, all, counts, offsets, MPI_CHAR, 0, comm));
    free(offsets);
    free(counts);
    return all;
}

/* ---- the ranks of a node ---- */

/* What the first rank of a node gathers from its ranks; `cpus` are the texts of their CPUs. */
struct node {
    int count;
    struct place *places;
    const char **cpus;
    char *text;
};

static void gather_node(MPI_Comm comm, struct node *node) {
    struct text own = {0};
    struct place here = {.cpu = sched_getcpu(), .numa_node = numa_node(), .rank = check_rank()};
    int local = 0;
    int size = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &local));
    MPI_CHECK(MPI_Comm_size(comm, &size));
    evidence_host(here.host);
    allowed_cpus(&own);
    node->count = local == 0 ? size : 0;
    node->places = check_alloc((size_t)node->count, sizeof *node->places);
    node->cpus = check_alloc((size_t)node->count, sizeof *node->cpus);
    int bytes = (int)sizeof here;
    MPI_CHECK(MPI_Gather(&here, bytes, MPI_BYTE, node->places, bytes, MPI_BYTE, 0, comm));
    int total = 0;
    node->text = evidence_collect(comm, own.bytes, (int)own.length, &total);
    const char *cpus = node->text;
    for (int i = 0; i < node->count; i++, cpus += strlen(cpus) + 1)
        node->cpus[i] = cpus;
    free(own.bytes);
}

/* The number of a rank's set of CPUs among the different ones; adds it to them. */
static int set_number(const char **sets, int *count, const char *cpus) {
    for (int i = 0; i < *count; i++)
        if (strcmp(sets[i], cpus) == 0)
            return i;
    sets[*count] = cpus;
    return (*count)++;
}

enum { RANKS, CPU, SET, NUMA, COLUMNS };

/* Adds the row of a host: its name, its ranks, and its layout, each with its end. */
static void fold_host(const struct node *node, const char *host, struct text *text) {
    int *columns[COLUMNS];
    const char **sets = check_alloc((size_t)node->count, sizeof *sets);
    int set_count = 0;
    int count = 0;
    for (int i = 0; i < COLUMNS; i++)
        columns[i] = check_alloc((size_t)node->count, sizeof(int));
    for (int i = 0; i < node->count; i++) {
        const struct place *place = &node->places[i];
        if (strcmp(place->host, host) != 0)
            continue;
        columns[RANKS][count] = place->rank;
        columns[CPU][count] = place->cpu;
        columns[SET][count] = *node->cpus[i] ? set_number(sets, &set_count, node->cpus[i]) : UNKNOWN;
        columns[NUMA][count++] = place->numa_node;
    }
    text_add(text, host, strlen(host) + 1);
    text_column(text, columns[RANKS], count);
    text_add(text, "", 1);
    text_number(text, "", count);
    for (int i = CPU; i < COLUMNS; i++) {
        text_add(text, "\n", 1);
        text_column(text, columns[i], count);
    }
    for (int i = 0; i < set_count; i++) {
        text_add(text, "\n", 1);
        text_add(text, sets[i], strlen(sets[i]));
    }
    text_add(text, "", 1);
    for (int i = 0; i < COLUMNS; i++)
        free(columns[i]);
    free(sets);
}

/* ---- rank 0 ---- */

static const char *after(const char *text) {
    return text + strlen(text) + 1;
}

static int compare_layouts(const void *left, const void *right) {
    const struct evidence_row *const *a = left;
    const struct evidence_row *const *b = right;
    int order = strcmp((*a)->layout, (*b)->layout);
    return order != 0 ? order : (*a > *b) - (*a < *b);
}

/* Numbers the different layouts. */
static void number_layouts(struct evidence_list *list) {
    struct evidence_row **sorted = check_alloc((size_t)list->row_count, sizeof *sorted);
    list->layouts = check_alloc((size_t)list->row_count, sizeof *list->layouts);
    for (int row = 0; row < list->row_count; row++)
        sorted[row] = &list->rows[row];
    qsort(sorted, (size_t)list->row_count, sizeof *sorted, compare_layouts);
    for (int i = 0; i < list->row_count; i++) {
        if (i == 0 || strcmp(sorted[i]->layout, sorted[i - 1]->layout) != 0)
            list->layouts[list->layout_count++] = sorted[i]->layout;
        sorted[i]->layout_number = list->layout_count - 1;
    }
    free(sorted);
}

/* Stores `row` in row_of_rank for every rank in the row's column of ranks. */
static void place_ranks(struct evidence_list *list, int row) {
    const char *text = list->rows[row].ranks;
    while (*text) {
        char *end = NULL;
        long first = strtol(text, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long rank = first; rank <= last; rank++)
            list->row_of_rank[rank] = row;
        text = *end == ',' ? end + 1 : end;
    }
}

static void gather(MPI_Comm comm, struct evidence_list *list) {
    struct node node = {0};
    struct text own = {0};
    *list = (struct evidence_list){0};
    gather_node(comm, &node);
    /* Counts the rows of a node: one, unless its ranks report different host names. */
    for (int i = 0; i < node.count; i++) {
        bool known = false;
        for (int before = 0; before < i && !known; before++)
            known = strcmp(node.places[before].host, node.places[i].host) == 0;
        if (!known)
            fold_host(&node, node.places[i].host, &own);
    }
    int bytes = 0;
    list->text = evidence_collect(MPI_COMM_WORLD, own.bytes, (int)own.length, &bytes);
    free(own.bytes);
    free(node.places);
    free(node.cpus);
    free(node.text);
    if (check_rank() != 0)
        return;
    list->ranks = check_ranks();
    list->row_of_rank = check_alloc((size_t)list->ranks, sizeof *list->row_of_rank);
    int ends = 0;
    for (size_t i = 0; i < ((size_t)bytes); i++)
        ends += list->text[i] == '\0';
    list->row_count = ends / 3;
    list->rows = check_alloc((size_t)list->row_count, sizeof *list->rows);
    const char *text = list->text;
    for (int row = 0; row < list->row_count; row++) {
        const char *ranks = after(text);
        list->rows[row] = (struct evidence_row){.host = text, .ranks = ranks, .layout = after(ranks)};
        text = after(after(ranks));
    }
    number_layouts(list);
    for (int row = 0; row < list->row_count; row++)
        place_ranks(list, row);
}

MPI_Comm evidence_node(void) {
#ifdef RAILYARD_HOST_FROM_MPI
    return MPI_COMM_SELF;
#else
    static MPI_Comm node = MPI_COMM_NULL; /* once, as making it takes several rounds of messages */
    if (node == MPI_COMM_NULL)
        MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    return node;
#endif
}

void evidence_gather(struct evidence_list *list) {
    gather(evidence_node(), list);
}

void evidence_gather_alone(struct evidence_list *list) {
    gather(MPI_COMM_SELF, list);
}

const char *evidence_host_of(const struct evidence_list *list, int rank) {
    return list->rows[list->row_of_rank[rank]].host;
}

static int compare_hosts(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

int evidence_hosts(const struct evidence_list *list) {
    const char **hosts = check_alloc((size_t)list->row_count, sizeof *hosts);
    int different = list->row_count > 0;
    for (int row = 0; row < list->row_count; row++)
        hosts[row] = list->rows[row].host;
    qsort(hosts, (size_t)list->row_count, sizeof *hosts, compare_hosts);
    for (int i = 1; i < list->row_count; i++)
        different += strcmp(hosts[i - 1], hosts[i]) != 0;
    free(hosts);
    return different;
}

void evidence_free(struct evidence_list *list) {
    free(list->rows);
    free(list->layouts);
    free(list->row_of_rank);
    free(list->text);
}
