/* railyard-fence.so: no rank returns from MPI_Init before all are ready for messages.
 *
 * Where Slurm 22.05 serves PMIx 4.2 to Open MPI 4.1, a rank sometimes passes the last fence of MPI_Init
 * early, and its first message crashes one that is not ready: 11 of 60 launches of 8 ranks. Preloaded (by
 * `railyard torus srun`, into the ranks) this adds one more fence behind MPI_Init and MPI_Init_thread, by
 * PMIx's blocking call. Without PMIx in the process it does nothing. Fortran programs, whose MPI_Init is
 * another symbol, are left alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

enum { SUCCESS = 0 };

typedef int init_function(int *, char ***);
typedef int init_thread_function(int *, char ***, int, int *);
typedef int fence_function(const void *, size_t, const void *, size_t);

/* What a name stands for in a library, or in those loaded after this one; POSIX's own idiom, for an object
 * pointer from dlsym that is a function. */
static void find(void *library, const char *name, void *function) {
    *(void **)function = dlsym(library, name);
}

/* All processes of the job: no list of them. */
static void fence(void) {
    void *pmix = dlopen("libpmix.so.2", RTLD_NOW | RTLD_NOLOAD);
    fence_function *wait_for_all = NULL;
    if (pmix != NULL) {
        find(pmix, "PMIx_Fence", (void *)&wait_for_all);
    }
    if (wait_for_all != NULL) {
        (void)wait_for_all(NULL, 0, NULL, 0);
    }
}

int MPI_Init(int *count, char ***arguments) {
    init_function *real = NULL;
    find(RTLD_NEXT, "MPI_Init", (void *)&real);
    int status = real(count, arguments);
    if (status == SUCCESS) {
        fence();
    }
    return status;
}

int MPI_Init_thread(int *count, char ***arguments, int required, int *provided) {
    init_thread_function *real = NULL;
    find(RTLD_NEXT, "MPI_Init_thread", (void *)&real);
    int status = real(count, arguments, required, provided);
    if (status == SUCCESS) {
        fence();
    }
    return status;
}
