/* railyard-enter [-r] [-s] HOST COMMAND [ARGUMENT...]
 *
 * Runs a command on a host of the virtual torus that RAILYARD_TORUS names: in its network, with its host
 * name, its /etc/hosts and its /sys, or in the container that the host is (below), there as the image's
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
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    EXIT_USAGE = 2,
    SHORTEST_SLICE_NS = 100000,
    NICE = -10,
    GROUPS = 64,
    CAPABILITIES = 64,
    DECIMAL = 10,
    HEXADECIMAL = 16,
    SIGNALLED = 128,
    MOST_BYTES = 1 << 21
};

/* As shells exit for a command that cannot be run. */
const int failure_status = 126;

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

/* Containers.
 * A host of the engine docker is a container. Its namespaces are joined directly: with `docker exec` 64
 * starts take ten times as long, and the caller could not end the process, which is not its child. Namespaces
 * not joined: cgroup (the launch's own limits hold) and user (the engine makes none). */

/* The fields of the first process in /proc/PID/status. */
struct identity {
    uid_t user;
    gid_t group;
    gid_t groups[GROUPS];
    size_t group_count;
    unsigned long long capabilities;
};

static pid_t child;

/* All of a small file, ended by two NULs; never freed. */
static char *contents(int folder, const char *name) {
    int descriptor = openat(folder, name, O_RDONLY | O_CLOEXEC);
    char *text = zeroed(MOST_BYTES + 2, 1);
    if (descriptor < 0)
        fail("read", name);
    size_t length = 0;
    for (ssize_t got; (got = read(descriptor, text + length, MOST_BYTES - length)) != 0;) {
        if (got < 0)
            fail("read", name);
        length += (size_t)got;
    }
    close(descriptor);
    return text;
}

static int same_network(int process, const char *torus, const char *host) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/run/netns/railyard.%s.%s", torus, host);
    struct stat named;
    struct stat own;
    return stat(path, &named) == 0 && fstatat(process, "ns/net", &own, 0) == 0 &&
           named.st_dev == own.st_dev && named.st_ino == own.st_ino;
}

/* Return the /proc folder of the first process of the container that is this host, or -1 where the host is
 * none. End the program when the container of a host has ended. */
static int container_open(const char *torus, const char *host) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/run/railyard/%s/containers/%s", torus, host);
    if (access(path, F_OK) != 0)
        return -1;
    long pid = strtol(contents(AT_FDCWD, path), NULL, DECIMAL);
    snprintf(path, sizeof path, "/proc/%ld", pid);
    int process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* The number may be another process's by now; the folder, once open, stays with one. */
    if (process < 0 || !same_network(process, torus, host)) {
        errno = ESRCH;
        fail("enter the container of (take the torus down and up again)", host);
    }
    return process;
}

/* Returns the text after "NAME:" in /proc/PID/status. */
static const char *field(const char *status, const char *name) {
    const char *value = strstr(status, name);
    if (value != NULL)
        return value + strlen(name);
    errno = EINVAL;
    fail("find in /proc/PID/status:", name);
}

static struct identity identity_of(int process) {
    const char *status = contents(process, "status");
    struct identity value = {
        .user = (uid_t)strtoul(field(status, "\nUid:"), NULL, DECIMAL),
        .group = (gid_t)strtoul(field(status, "\nGid:"), NULL, DECIMAL),
        .capabilities = strtoull(field(status, "\nCapBnd:"), NULL, HEXADECIMAL),
    };
    const char *rest = field(status, "\nGroups:");
    while (value.group_count < GROUPS && (rest += strspn(rest, " \t"))[0] != '\n' && *rest != '\0') {
        char *end;
        value.groups[value.group_count++] = (gid_t)strtoul(rest, &end, DECIMAL);
        rest = end;
    }
    return value;
}

static void join(int process) {
    static const struct {
        const char *name;
        int kind;
    } namespaces[] = {{"ns/net", CLONE_NEWNET},
                      {"ns/ipc", CLONE_NEWIPC},
                      {"ns/uts", CLONE_NEWUTS},
                      {"ns/pid", CLONE_NEWPID},
                      {"ns/mnt", CLONE_NEWNS}};
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++) {
        int descriptor = openat(process, namespaces[i].name, O_RDONLY | O_CLOEXEC);
        if (descriptor < 0 || setns(descriptor, namespaces[i].kind) != 0)
            fail("enter the container's", namespaces[i].name);
        close(descriptor);
    }
}

/* A signal from the terminal reaches the child by itself. */
static void pass_on(int number, siginfo_t *from, void *context) {
    (void)context;
    if (from->si_code <= 0)
        kill(child, number);
}

static void take_identity(const struct identity *who) {
    for (int capability = 0; capability < CAPABILITIES; capability++) {
        if ((who->capabilities >> capability & 1) == 0) {
            (void)prctl(PR_CAPBSET_DROP, capability, 0, 0,
                        0); /* beyond the last one of this kernel: EINVAL */
        }
    }
    if (setgroups(who->group_count, who->groups) != 0 || setresgid(who->group, who->group, who->group) != 0 ||
        setresuid(who->user, who->user, who->user) != 0)
        fail("become", "the container's user");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        fail("ask for", "the parent's end");
}

/* `block` is NAME=VALUE texts, each ended by a NUL, as /proc/PID/environ has them. */
static void take_environment(char *block, const char *torus, int preload) {
    const char *terminal = getenv("TERM");
    char *copy = terminal == NULL ? NULL : strdup(terminal);
    char *name = strdup(torus);
    clearenv();
    for (char *entry = block; *entry != '\0'; entry += strlen(entry) + 1)
        putenv(entry);
    const char *idle = getenv("RAILYARD_IDLE");
    int failed = name == NULL || setenv("RAILYARD_TORUS", name, 1) != 0;
    failed |= copy != NULL && setenv("TERM", copy, 0) != 0;
    failed |= preload && idle != NULL && setenv("LD_PRELOAD", idle, 1) != 0;
    if (failed)
        fail("set", "the environment");
}

/* Make the caller what `docker exec` would start: in the container's namespaces, with the user, groups,
 * environment and capability bounds of its first process, and in the same folder where that exists there.
 * Return in a child; its parent waits, passes signals on and ends with its status. With `root` the child is
 * the container's root, with `preload` it is to load what the image names in RAILYARD_IDLE. */
static void container_become(int process, const char *torus, const char *host, int root, int preload) {
    char *environment = contents(process, "environ");
    struct identity who = identity_of(process);
    if (root) {
        who.user = 0;
        who.group = 0;
        who.group_count = 0;
    }
    char *folder = getcwd(NULL, 0);
    join(process);
    child = fork();
    if (child < 0)
        fail("start a process in the container of", host);
    if (child > 0) {
        /* Wait for the child and exit like it. The fork is needed because only a child enters a PID
         * namespace. */
        static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
        struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
        for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
            sigaction(passed[i], &action, NULL);
        int status;
        while (waitpid(child, &status, 0) < 0)
            if (errno != EINTR)
                fail("wait for", "the command");
        exit(WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status));
    }
    take_identity(&who);
    take_environment(environment, torus, preload);
    if (folder == NULL || chdir(folder) != 0) {
        const char *home = getenv("HOME");
        (void)(home != NULL && chdir(home) == 0);
    }
    free(folder);
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
    char *line = zeroed(length, 1);
    for (char **word = words; *word != NULL; word++) {
        strcat(line, *word);
        strcat(line, word[1] != NULL ? " " : "");
    }
    return line;
}

/* Run a command on a host that is on another machine, where the torus has several; else return. */
static void try_elsewhere(const char *torus, char **host_and_command, int shell) {
    char path[512];
    snprintf(path, sizeof path, "/run/railyard/%s/elsewhere", torus);
    size_t count = 0;
    while (host_and_command[count] != NULL)
        count++;
    char **words = zeroed(count + 3, sizeof *words);
    words[0] = path;
    words[1] = host_and_command[0];
    words[2] = "-s";
    memcpy(words + 2 + shell, host_and_command + 1, count * sizeof *words);
    execv(path, words);
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
        char path[512];
        snprintf(path, sizeof path, "/run/netns/railyard.%s.%s", torus, host);
        if (access(path, F_OK) != 0)
            try_elsewhere(torus, arguments + optind, shell);
        enter_network(path, path);
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
