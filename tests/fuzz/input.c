/* Implements files in memory; see input.h. */
#undef exit
#undef fclose
#undef fopen
#undef free
#include "input.h"

static const uint8_t *input;
static size_t input_bytes;
static FILE *opened;

void fuzz_input(const uint8_t *data, size_t size) {
    input = data;
    input_bytes = size;
}

FILE *fuzz_fopen(const char *path, const char *mode) {
    (void)path;
    (void)mode;
    opened = fmemopen((void *)(uintptr_t)input, input_bytes, "r");
    return opened;
}

int fuzz_fclose(FILE *file) {
    opened = NULL;
    return fclose(file);
}

void fuzz_close(void) {
    if (opened)
        (void)fuzz_fclose(opened);
}
