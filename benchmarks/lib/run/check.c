/* Stops the run with one line that names the place; see check.h. */
#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 256, PAGE_BYTES = 4096 };

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

_Noreturn void check_stop(const char *text, const char *file, int line) {
    char host[HOST_BYTES] = "?";
    int rank = -1;
    (void)gethostname(host, sizeof host - 1);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)fprintf(stderr, "rank %d on %s: %s:%d: %s\n", rank, host, base_name(file), line, text);
    (void)MPI_Abort(MPI_COMM_WORLD, EXIT_MPI_FAILED);
    abort();
}

void check_mpi(int code, const char *file, int line) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return;
    (void)MPI_Error_string(code, text, &length);
    check_stop(text, file, line);
}

/* ---- singletons ---- */

struct launcher {
    const char *processes;
    const char *number;
};

static const struct launcher launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

static int value_of(const char *variable) {
    const char *text = getenv(variable);
    return text ? (int)strtol(text, NULL, 10) : 0;
}

/* The launcher that started more than one process; none where there is no such launcher. */
static const struct launcher *launcher_of_many(void) {
    for (int i = 0; i < LAUNCHERS; i++)
        if (value_of(launchers[i].processes) > 1)
            return &launchers[i];
    return NULL;
}

int check_singletons(void) {
    const struct launcher *launcher = launcher_of_many();
    return launcher && check_ranks() == 1 ? value_of(launcher->processes) : 0;
}

/* ---- start and memory ---- */

void check_mpi_init(int *argc, char ***argv) {
    MPI_CHECK(MPI_Init(argc, argv));
    MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    /* Ends this process with one line, printed by the launcher's first process, where it is a singleton. */
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    int processes = check_singletons();
    if (processes == 0)
        return;
    MPI_CHECK(MPI_Get_library_version(library, &length));
    library[strcspn(library, ",\n")] = '\0';
    for (char *tab = library; (tab = strchr(tab, '\t')) != NULL;)
        *tab = ' '; /* MPICH's */
    if (value_of(launcher_of_many()->number) == 0)
        (void)fprintf(stderr,
                      "%s: %d singletons instead of %d ranks: %s does not understand what started it\n",
                      base_name((*argv)[0]), processes, processes, library);
    MPI_CHECK(MPI_Finalize());
    exit(EXIT_MPI_FAILED);
}

static void *or_stop(void *memory, size_t count, size_t item_bytes) {
    char text[128];
    if (!memory) {
        (void)snprintf(text, sizeof text, "no memory for %zu items of %zu bytes", count, item_bytes);
        check_stop(text, __FILE__, __LINE__);
    }
    return memory;
}

void *check_alloc(size_t count, size_t item_bytes) {
    return or_stop(calloc(count ? count : 1, item_bytes), count, item_bytes);
}

void *check_alloc_pages(size_t bytes) {
    size_t pages = bytes / PAGE_BYTES + 1;
    return memset(or_stop(aligned_alloc(PAGE_BYTES, pages * PAGE_BYTES), pages, PAGE_BYTES), 0, bytes);
}

void *check_grow(void *items, int count, int *room, size_t item_bytes) {
    if (count < *room)
        return items;
    *room = *room ? 2 * *room : 16;
    void *larger = check_alloc((size_t)*room, item_bytes);
    if (count > 0)
        memcpy(larger, items, (size_t)count * item_bytes);
    free(items);
    return larger;
}

int check_rank(void) {
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    return rank;
}

int check_ranks(void) {
    int ranks = 0;
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    return ranks;
}
