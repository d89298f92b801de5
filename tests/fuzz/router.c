/* Fuzzes the router's readers: a description, and behind a line `---` messages, which are simulated.
 *
 * The router ends where its input is wrong, so its sources are compiled with -Dexit=fuzz_exit
 * -Dfree=fuzz_free, and common.c is left out: all memory of an input is freed behind it. */
#undef exit
#undef fclose
#undef fopen
#undef free
#include "../../railyard/torus/native/common.h"
#include "../../railyard/torus/native/router/simulate.h"
#include "input.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Messages that are read of an input, so that none takes minutes. */
enum { MOST_MESSAGES = 4 };

void fuzz_exit(int status) __attribute__((noreturn));
void fuzz_free(void *memory);

struct block {
    struct block *before, *next;
    size_t bytes, unused;
};

static struct block all = {.before = &all, .next = &all};
static jmp_buf ended;

static void release(struct block *block) {
    block->before->next = block->next;
    block->next->before = block->before;
    free(block);
}

void fuzz_free(void *memory) {
    if (memory != NULL)
        release((struct block *)memory - 1);
}

void fuzz_exit(int status) {
    longjmp(ended, status + 1);
}

const int failure_status = EXIT_FAILURE;

void fail(const char *what, const char *name) {
    (void)what;
    (void)name;
    fuzz_exit(EXIT_FAILURE);
}

void *zeroed(size_t count, size_t size) {
    struct block *block = calloc(1, sizeof *block + count * size);
    if (block == NULL)
        fail("allocate", "memory");
    *block = (struct block){.before = &all, .next = all.next, .bytes = count * size};
    all.next->before = block;
    all.next = block;
    return block + 1;
}

/* Moves at every call, so that a pointer into the old memory is a finding. */
void *grown(void *old, size_t count, size_t size) {
    void *memory = zeroed(count, size);
    if (old != NULL) {
        memcpy(memory, old, ((struct block *)old)[-1].bytes);
        fuzz_free(old);
    }
    return memory;
}

static void run(const uint8_t *data, size_t size) {
    const uint8_t *mark = memmem(data, size, "---\n", 4), *messages = mark ? mark + 4 : data + size;
    const uint8_t *end = messages;
    for (int i = 0; i < MOST_MESSAGES && end < data + size; i++) {
        const uint8_t *line = memchr(end, '\n', (size_t)(data + size - end));
        end = line ? line + 1 : data + size;
    }
    struct network network = {0};
    struct link_name *names;
    fuzz_input(data, (size_t)(mark ? mark - data : (ptrdiff_t)size));
    description_read("input", &network, &names);
    network_prepare(&network, counters_new(NULL, &network, names), 0);
    fuzz_input(messages, (size_t)(end - messages));
    (void)simulate(&network, fuzz_fopen("messages", "r"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (setjmp(ended) == 0)
        run(data, size);
    fuzz_close();
    while (all.next != &all)
        release(all.next);
    return 0;
}
