/* railyard-enter [-r] [-s] HOST COMMAND [ARGUMENT...]
 *
 * Runs a command on a host of the virtual torus that RAILYARD_TORUS names: in its network, with its host
 * name, its /etc/hosts and its /sys, or in the container that the host is (container.c), there as the image's
 * user or with -r as root. With -s the arguments are one shell line, as for ssh: so it serves Open MPI as its
 * remote agent (plm_rsh_agent). C and not Python or sh, because a 64-node launch starts it 64 times.
 *
 * It also requests the shortest time slice from the scheduler (0.1 ms; Linux 6.12 and later, elsewhere no
 * effect). Dozens of ranks that poll and yield share a core here; with the default slice of about 3 ms a rank
 * waits up to 0.1 s for its turn, and a neighbour's measurement with it. It also requests a higher priority,
 * so that other programs on a busy machine take little of the time that ranks need. Only root of the machine
 * gets it.
 */
#define _GNU_SOURCE
#include "container.h"
#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_CANNOT = 126, SHORTEST_SLICE_NS = 100000, NICE = -10 };

/* struct sched_attr of linux/sched/types.h, which Debian 12's C library does not offer. */
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
};

void fail(const char *what, const char *name) {
    fprintf(stderr, "railyard-enter: cannot %s %s: %s\n", what, name, strerror(errno));
    exit(EXIT_CANNOT);
}

static void enter_network(const char *torus, const char *host) {
    char path[512];
    snprintf(path, sizeof path, "/run/netns/railyard.%s.%s", torus, host);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || setns(descriptor, CLONE_NEWNET) != 0)
        fail("enter", path);
    close(descriptor);
}

/* Make a private mount namespace and host name: mounts are visible only to the command and end with it. */
static void dress(const char *torus, const char *host) {
    char hosts[512];
    snprintf(hosts, sizeof hosts, "/run/railyard/%s/hosts", torus);
    if (unshare(CLONE_NEWNS | CLONE_NEWUTS) != 0 || mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) != 0)
        fail("make namespaces for", host);
    if (sethostname(host, strlen(host)) != 0)
        fail("set host name", host);
    if (mount(hosts, "/etc/hosts", NULL, MS_BIND, NULL) != 0)
        fail("bind", hosts);
    /* Refused in some user namespaces; then /sys shows the machine's interfaces, and nothing of ours reads
     * it. */
    (void)mount("sysfs", "/sys", "sysfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

/* Failures are ignored: a launch without either is correct, with a larger error estimate. */
static void schedule_promptly(void) {
    if (getpriority(PRIO_PROCESS, 0) > NICE)
        (void)setpriority(PRIO_PROCESS, 0, NICE);
    struct attributes now = {.size = sizeof now};
    if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) == 0 && now.policy == SCHED_OTHER) {
        now.runtime_ns = SHORTEST_SLICE_NS;
        (void)syscall(SYS_sched_setattr, 0, &now, 0);
    }
}

/* The arguments joined by blanks, as ssh joins them. */
static char *joined(char **words) {
    size_t length = 1;
    for (char **word = words; *word != NULL; word++)
        length += strlen(*word) + 1;
    char *line = calloc(length, 1);
    if (line == NULL)
        fail("allocate", "the command line");
    for (char **word = words; *word != NULL; word++) {
        strcat(line, *word);
        strcat(line, word[1] != NULL ? " " : "");
    }
    return line;
}

int main(int count, char **arguments) {
    const char *torus = getenv("RAILYARD_TORUS");
    int shell = 0;
    int root = 0;
    int wrong = 0;
    opterr = 0;
    for (int option; (option = getopt(count, arguments, "+rs")) != -1;) {
        shell |= option == 's';
        root |= option == 'r';
        wrong |= option == '?';
    }
    if (wrong || count < optind + 2 || torus == NULL || strchr(torus, '/') != NULL ||
        strchr(arguments[optind], '/') != NULL) {
        fputs("usage: RAILYARD_TORUS=NAME railyard-enter [-r] [-s] HOST COMMAND [ARGUMENT...]\n", stderr);
        return EXIT_USAGE;
    }
    const char *host = arguments[optind];
    char **command = arguments + optind + 1;
    int container = container_open(torus, host);
    if (container < 0) {
        enter_network(torus, host);
        dress(torus, host);
    } else {
        container_become(container, torus, host, root, shell);
    }
    schedule_promptly();
    if (shell)
        execl("/bin/sh", "sh", "-c", joined(command), (char *)NULL);
    else
        execvp(command[0], command);
    fail("run", command[0]);
}
