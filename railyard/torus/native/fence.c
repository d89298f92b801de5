/* railyard-fence.so: no rank returns from MPI_Init before all are ready for messages.
 *
 * Where Slurm 22.05 serves PMIx 4.2 to Open MPI 4.1, a rank sometimes passes the last fence of MPI_Init
 * early, and its first message crashes one that is not ready: 11 of 60 launches of 8 ranks. The same crash is
 * known of Slurm 23.11, PMIx 5.0 and Open MPI 5.0 (open-mpi/ompi issue 12495: its reporter attributes it
 * to Slurm, no fix is named; pull request 13559 explains why an early message is fatal).
 *
 * Preloaded (by `railyard torus srun`, into the ranks) this lets a rank wait behind MPI_Init and
 * MPI_Init_thread until all tasks of its step are there. The nodes of a virtual torus are one machine, so
 * they count themselves in a file that all of them see and map, and no fence of Slurm's is needed. A step
 * whose ranks do not come ends by the launcher's own means. Fortran programs, whose MPI_Init is another
 * symbol, are left alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS = 0, OWNER_ONLY = 0600, DECIMAL = 10, PAUSE_US = 1000, PATH_BYTES = 256 };

typedef int init_function(int *, char ***);
typedef int init_thread_function(int *, char ***, int, int *);

/* Return an environment variable; an empty text if it is not set. */
static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value == NULL ? "" : value;
}

/* Map the step's counter, which starts at 0; NULL if there is none. */
static atomic_int *counter(const char *path) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, OWNER_ONLY);
    if (descriptor < 0)
        return NULL;
    if (ftruncate(descriptor, sizeof(atomic_int)) != 0) {
        close(descriptor);
        return NULL;
    }
    void *shared = mmap(NULL, sizeof(atomic_int), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return shared == MAP_FAILED ? NULL : shared;
}

static void wait_for_all(void) {
    int tasks = (int)strtol(variable("SLURM_STEP_NUM_TASKS"), NULL, DECIMAL);
    char path[PATH_BYTES];
    /* A job that Slurm started again has the same number, and its first start may have left a counter. */
    snprintf(path, sizeof path, "/run/railyard/%s/slurm/fences/%s.%s.%s", variable("RAILYARD_TORUS"),
             variable("SLURM_JOB_ID"), variable("SLURM_STEP_ID"), variable("SLURM_RESTART_COUNT"));
    int by_mpirun = getenv("OMPI_COMM_WORLD_SIZE") != NULL; /* the step's tasks are its daemons then */
    atomic_int *there = tasks > 1 && !by_mpirun ? counter(path) : NULL;
    if (there == NULL)
        return;
    if (atomic_fetch_add(there, 1) + 1 == tasks)
        unlink(path); /* ranks that wait have the file mapped */
    while (atomic_load(there) < tasks)
        usleep(PAUSE_US);
    munmap((void *)there, sizeof *there);
}

/* Return the function of that name in the next library. */
static void find(const char *name, void *function) {
    *(void **)function = dlsym(RTLD_NEXT, name); /* the cast that POSIX's page of dlsym() shows */
}

int MPI_Init(int *count, char ***arguments) {
    init_function *real = NULL;
    find("MPI_Init", (void *)&real);
    int status = real(count, arguments);
    if (status == SUCCESS)
        wait_for_all();
    return status;
}

int MPI_Init_thread(int *count, char ***arguments, int required, int *provided) {
    init_thread_function *real = NULL;
    find("MPI_Init_thread", (void *)&real);
    int status = real(count, arguments, required, provided);
    if (status == SUCCESS)
        wait_for_all();
    return status;
}
