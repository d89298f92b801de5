/* Polls as an MPI library does that has nothing to do. Usage: idle_program POLLS. Prints how long its polls
 * of an empty pipe took (ms), how many of the yields between them the kernel saw, and the same of yields
 * without polls.
 *
 * The kernel refuses sched_yield() here with an error, so that a yield that reaches it can be told. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int refuse_yields(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof rules / sizeof *rules, .filter = rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int argc, char **argv) {
    int polls = argc > 1 ? atoi(argv[1]) : 0;
    int ends[2];
    if (pipe(ends) || refuse_yields())
        return 1;
    struct pollfd nothing = {.fd = ends[0], .events = POLLIN};
    int seen = 0, alone = 0;
    double start = now_ms();
    for (int i = 0; i < polls; i++) {
        poll(&nothing, 1, 0);
        seen += sched_yield() != 0;
    }
    double took = now_ms() - start;
    for (int i = 0; i < polls; i++)
        alone += sched_yield() != 0;
    printf("%.1f %d %d\n", took, seen, alone);
    return 0;
}
