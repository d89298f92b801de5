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

void preload_own_calls(int begin) {
    void (*counts_nothing)(int begin) = NULL;
    void *function = dlsym(RTLD_DEFAULT, "railyard_capture_pause");
    if (!function)
        return;
    memcpy(&counts_nothing, &function, sizeof counts_nothing);
    counts_nothing(begin);
}
