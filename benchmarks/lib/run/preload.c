/* Looks up functions with the dynamic linker; see preload.h. */
#include "lib/run/preload.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void preload_next(const char *library, const char *name, void *function, size_t bytes) {
    void *address = dlsym(RTLD_NEXT, name);
    if (!address) {
        (void)fprintf(stderr, "%s: no %s behind this library: the program has no MPI\n", library, name);
        abort();
    }
    memcpy(function, &address, bytes);
}
