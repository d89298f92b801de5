/* fly_study PATTERN XxYxZ BYTES REPEATS BACKGROUND_BYTES: a job beside other traffic, in one launch.
 *
 * The first X Y Z ranks are the job. Each repeat, they run one pattern, begun together; rank 0 prints the
 * seconds of the slowest of them, after one repeat that it does not print.
 *
 *     halo       BYTES to each of the six neighbours on a periodic grid
 *     alltoall   BYTES from each rank to each other, a pair at a time
 *     allreduce  the messages of a ring allreduce of BYTES: 2 (n - 1) steps of BYTES / n; nothing is added up
 *
 * Rank k of the others sends four messages of BACKGROUND_BYTES at once to the next of the others, again and
 * again until the job has ended. Who shares which link is the host file's part. Without others the job is
 * alone.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_DATA = 1, TAG_STOP = 2, WINDOW = 4, NEIGHBOURS = 6 };

struct job {
    MPI_Comm comm; /* of the job, or of the others */
    int rank;
    int ranks;
    int extents[3];
    int bytes;
    char *out;
    char *in;
};

static void halo(const struct job *job) {
    MPI_Request requests[2 * NEIGHBOURS];
    const int *e = job->extents;
    const int at[3] = {job->rank / (e[1] * e[2]), job->rank / e[2] % e[1], job->rank % e[2]};
    int count = 0;
    for (int i = 0; i < NEIGHBOURS; i++) {
        int to[3] = {at[0], at[1], at[2]};
        int d = i / 2;
        to[d] = (at[d] + (i % 2 ? 1 : e[d] - 1)) % e[d];
        int peer = (to[0] * e[1] + to[1]) * e[2] + to[2];
        if (peer == job->rank)
            continue;
        char *in = job->in + (size_t)i * (size_t)job->bytes;
        MPI_Irecv(in, job->bytes, MPI_BYTE, peer, TAG_DATA, job->comm, &requests[count++]);
        MPI_Isend(job->out, job->bytes, MPI_BYTE, peer, TAG_DATA, job->comm, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void exchange(const struct job *job, int bytes, int to, int from) {
    MPI_Sendrecv(job->out, bytes, MPI_BYTE, to, TAG_DATA, job->in, bytes, MPI_BYTE, from, TAG_DATA, job->comm,
                 MPI_STATUS_IGNORE);
}

static void alltoall(const struct job *job) {
    for (int step = 1; step < job->ranks; step++)
        exchange(job, job->bytes, (job->rank + step) % job->ranks,
                 (job->rank - step + job->ranks) % job->ranks);
}

static void allreduce(const struct job *job) {
    for (int step = 0; step < 2 * (job->ranks - 1); step++)
        exchange(job, job->bytes / job->ranks, (job->rank + 1) % job->ranks,
                 (job->rank - 1 + job->ranks) % job->ranks);
}

static const struct {
    const char *name;
    void (*run)(const struct job *job);
} patterns[] = {{"halo", halo}, {"alltoall", alltoall}, {"allreduce", allreduce}};

enum { PATTERNS = sizeof patterns / sizeof patterns[0] };

static void measure(const struct job *job, int pattern, int repeats) {
    for (int repeat = 0; repeat <= repeats; repeat++) {
        double slowest_s = 0;
        MPI_Barrier(job->comm);
        double begun_s = MPI_Wtime();
        patterns[pattern].run(job);
        double seconds = MPI_Wtime() - begun_s;
        MPI_Reduce(&seconds, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, 0, job->comm);
        if (job->rank == 0 && repeat > 0)
            printf("seconds %.9g\n", slowest_s);
    }
}

/* One of the others. Their first rank hears from the job's that it has ended. */
static void load(const struct job *others) {
    int stop = 0;
    MPI_Request stopped = MPI_REQUEST_NULL;
    if (others->rank == 0)
        MPI_Irecv(NULL, 0, MPI_BYTE, 0, TAG_STOP, MPI_COMM_WORLD, &stopped);
    while (!stop) {
        MPI_Request requests[2 * WINDOW];
        for (int i = 0; i < WINDOW; i++) {
            char *in = others->in + (size_t)i * (size_t)others->bytes;
            MPI_Irecv(in, others->bytes, MPI_BYTE, (others->rank - 1 + others->ranks) % others->ranks,
                      TAG_DATA, others->comm, &requests[2 * i]);
            MPI_Isend(others->out, others->bytes, MPI_BYTE, (others->rank + 1) % others->ranks, TAG_DATA,
                      others->comm, &requests[2 * i + 1]);
        }
        MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
        if (others->rank == 0)
            MPI_Test(&stopped, &stop, MPI_STATUS_IGNORE);
        MPI_Bcast(&stop, 1, MPI_INT, 0, others->comm);
    }
}

static int usage(int rank) {
    if (rank == 0)
        fprintf(stderr, "usage: fly_study halo|alltoall|allreduce XxYxZ BYTES REPEATS BACKGROUND_BYTES, on "
                        "X Y Z ranks or more\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
}

int main(int argc, char **argv) {
    int rank = 0;
    int ranks = 0;
    int pattern = 0;
    struct job job = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while (argc == 6 && pattern < PATTERNS && strcmp(argv[1], patterns[pattern].name) != 0)
        pattern++;
    int *e = job.extents;
    if (argc != 6 || pattern == PATTERNS || sscanf(argv[2], "%dx%dx%d", &e[0], &e[1], &e[2]) != 3)
        return usage(rank);
    int members = e[0] * e[1] * e[2];
    if (members < 2 || members > ranks || atoi(argv[3]) < 1 || atoi(argv[4]) < 1 || atoi(argv[5]) < 1)
        return usage(rank);
    job.bytes = atoi(argv[rank < members ? 3 : 5]);
    job.out = calloc((size_t)job.bytes + 1, 1);
    job.in = calloc((size_t)job.bytes + 1, NEIGHBOURS);
    if (!job.out || !job.in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_split(MPI_COMM_WORLD, rank < members, rank, &job.comm);
    MPI_Comm_rank(job.comm, &job.rank);
    MPI_Comm_size(job.comm, &job.ranks);
    if (rank < members)
        measure(&job, pattern, atoi(argv[4]));
    else
        load(&job);
    if (rank == 0 && ranks > members)
        MPI_Send(NULL, 0, MPI_BYTE, members, TAG_STOP, MPI_COMM_WORLD);
    MPI_Comm_free(&job.comm);
    free(job.in);
    free(job.out);
    MPI_Finalize();
    return 0;
}
