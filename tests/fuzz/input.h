/* What a fuzzed reader gets in the place of a file. The readers are compiled with -Dfopen=fuzz_fopen. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The input that fuzz_fopen opens from now on, whatever the path. */
void fuzz_input(const uint8_t *data, size_t size);

FILE *fuzz_fopen(const char *path, const char *mode);

/* Close what the last fuzz_fopen opened, if its reader has not. */
void fuzz_close(void);

int fuzz_fclose(FILE *file);

/* The entry points of libFuzzer. */
int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
