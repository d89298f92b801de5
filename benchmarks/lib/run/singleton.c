/* Compares the launcher's number of ranks with MPI's; see singleton.h. */
#include "lib/run/singleton.h"

#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int singleton_of(void) {
    const struct launcher *launcher = launcher_of_many();
    return launcher && check_ranks() == 1 ? value_of(launcher->processes) : 0;
}

void singleton_refuse(const char *program) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    int processes = singleton_of();
    if (processes == 0)
        return;
    MPI_CHECK(MPI_Get_library_version(library, &length));
    library[strcspn(library, ",\n")] = '\0';
    for (char *tab = library; (tab = strchr(tab, '\t')) != NULL;)
        *tab = ' '; /* MPICH's */
    if (value_of(launcher_of_many()->number) == 0)
        (void)fprintf(stderr,
                      "%s: %d singletons instead of %d ranks: %s does not understand what started it\n",
                      program, processes, processes, library);
    MPI_CHECK(MPI_Finalize());
    exit(EXIT_MPI_FAILED);
}
