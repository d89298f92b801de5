/* Works through passes as a program does that tests some requests and then computes. Usage:
 * busy_program PASSES POLLS. Prints how often it slept. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void compute(long ns) {
    struct timespec begun, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec < ns);
}

int main(int argc, char **argv) {
    int ends[2];
    if (argc != 3 || pipe(ends))
        return 1;
    struct pollfd nothing = {.fd = ends[0], .events = POLLIN};
    struct rusage usage;
    for (int pass = 0; pass < atoi(argv[1]); pass++) {
        for (int i = 0; i < atoi(argv[2]); i++)
            poll(&nothing, 1, 0);
        compute(300000);
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_nvcsw);
    return 0;
}
