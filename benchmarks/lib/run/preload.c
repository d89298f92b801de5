/* Looks up functions with the dynamic linker; see preload.h. */
#include "lib/run/preload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The names that MPI's libraries have at sites, without those of its C++ and Fortran bindings. */
static int is_mpi(const char *name) {
    static const char *const names[] = {"libmpi.so", "libmpich.so", "libmpi_gnu_", "libmpi_cray",
                                        "libmpi_intel"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

struct mpis {
    const char *one, *other; /* NULL: none */
};

static int note_mpi(struct dl_phdr_info *info, size_t bytes, void *into) {
    struct mpis *mpis = into;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    (void)bytes;
    if (is_mpi(name))
        *(mpis->one ? &mpis->other : &mpis->one) = name;
    return 0;
}

void preload_next(const char *library, const char *name, void *function, size_t bytes) {
    struct mpis mpis = {NULL, NULL};
    dl_iterate_phdr(note_mpi, &mpis);
    if (mpis.other) {
        (void)fprintf(stderr, "%s: built for another MPI than the program: it has %s and %s; expected one\n",
                      library, mpis.one, mpis.other);
        _exit(2);
    }
    void *address = dlsym(RTLD_NEXT, name);
    if (!address) {
        (void)fprintf(stderr, "%s: no %s behind this library: the program has no MPI\n", library, name);
        abort();
    }
    memcpy(function, &address, bytes);
}

/* The depth of wrappers that this thread is in. */
static _Thread_local int depth;

bool preload_enter(void) {
    return depth++ == 0;
}

void preload_leave(void) {
    depth--;
}

void preload_own_calls(int begin) {
    void (*counts_nothing)(int begin) = NULL;
    void *function = dlsym(RTLD_DEFAULT, "railyard_capture_pause");
    if (!function)
        return;
    memcpy(&counts_nothing, &function, sizeof counts_nothing);
    counts_nothing(begin);
}
