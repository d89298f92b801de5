/*
 * A whole machine under topobw, as its rank 0 sees it: the plan, the verdict, the blame and both reports are
 * topobw's own; the times of the transfers are made up.
 *
 *     topobw_rank_zero COORDINATES LINKS RANKS FACTOR SEED TOLERANCE TEXT JSON [BAD-ROUTER|@SHARES...]
 *
 * Every rank is on the node of its line. A transfer takes what the links file allows times FACTOR, divided
 * among the senders of its link, and a random disturbance of 1 % in the mean. Transfers from and to a
 * BAD-ROUTER (X,Y,Z) have 48 % of that rate. Prints a JSON document: links, phases, seconds of each step,
 * memory, findings.
 *
 * Leaves out: the other ranks, and every message.
 */
#include "rank_zero.h"

#include "lib/input/textfile.h"
#include "topobw/report.h"
#include "topobw/run/run.c"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RANK_BYTES = 16, BAD_MAX = 16, ARGUMENTS = 9 };

static const double bad_share = 0.48;
static const double disturbance = 0.01;

struct machine {
    struct topobw run;
    const char *hosts; /* EVIDENCE_HOST_BYTES each, in the order of the coordinates file */
    char *shares;      /* the text of that file, or NULL */
    double *left;      /* of each link: the share that others leave */
    int bad_count;
    int bad[BAD_MAX][TORUS_DIMENSIONS];
    uint64_t random;
};

/* ---- what ranks would have sent ---- */

static double random_share(struct machine *machine) {
    uint64_t z = (machine->random += 0x9E3779B97F4A7C15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static bool is_bad(const struct machine *machine, const int *router) {
    for (int i = 0; i < machine->bad_count; i++)
        if (memcmp(machine->bad[i], router, sizeof machine->bad[i]) == 0)
            return true;
    return false;
}

/* Seconds of one transfer, disturbed. */
static double made_up_seconds(struct machine *machine, const struct tested_link *link) {
    const struct topobw *run = &machine->run;
    struct verdict_config limits = {.host_gbyte_s = run->rates.host_gbyte_s};
    double rate = run->config.factor * verdict_limit(&limits, link) / link->sharers;
    rate *= machine->left[link - run->plan.links];
    if (is_bad(machine, link->from) || is_bad(machine, link->to))
        rate *= bad_share;
    double bytes = (double)run->config.stream.message_bytes * run->config.stream.messages;
    return bytes / (1e9 * rate) * (1 - disturbance * log(1 - random_share(machine)));
}

/* A round of the phases of the mask, in the numbers of every sender. */
static void make_up_round(struct machine *machine, uint64_t phases, int round) {
    struct topobw *run = &machine->run;
    for (int t = 0; t < run->plan.transfer_count; t++) {
        const struct transfer *transfer = &run->plan.transfers[t];
        const struct tested_link *link = &run->plan.links[transfer->link];
        if (!(phases >> link->phase & 1))
            continue;
        double *times = times_of(run, numbers_of_rank(run, transfer->from_rank), link->phase, round);
        times[0] = 1;
        times[1] = 1 + made_up_seconds(machine, link);
    }
}

/* The hosts of all ranks; their times are there already. */
static void fill(void *context, const void *own, size_t bytes, char *all) {
    const struct machine *machine = context;
    (void)own;
    if (bytes == EVIDENCE_HOST_BYTES)
        memcpy(all, machine->hosts, bytes * (size_t)check_ranks());
}

/* Lines `SHARE LINK`; a link that the test does not have is a problem. */
static void read_shares(struct machine *machine, struct problem *problem) {
    const struct plan *plan = &machine->run.plan;
    char *rest = machine->shares;
    int line_number = 0;
    machine->left = check_alloc((size_t)plan->link_count, sizeof *machine->left);
    for (int link = 0; link < plan->link_count; link++)
        machine->left[link] = 1;
    for (char *line; rest && (line = textfile_line(&rest, &line_number)) != NULL;) {
        char *wanted = NULL;
        double share = strtod(line, &wanted);
        char name[LINK_NAME_BYTES] = "";
        int link = 0;
        for (; link < plan->link_count; link++) {
            plan_link_name(&plan->links[link], name);
            if (strcmp(name, wanted + strspn(wanted, " ")) == 0)
                break;
        }
        if (link == plan->link_count || !(share > 0))
            problem_set(problem, "shares: line %d: no share above 0 of a tested link", line_number);
        else
            machine->left[link] = share;
    }
}

/* ---- the steps of topobw ---- */

/* As topobw_measure, with rounds that are made up. */
static void measure(struct machine *machine) {
    struct topobw *run = &machine->run;
    uint64_t phases = used_phases(run);
    make_room(run, phases);
    for (int rank = 0; rank < check_ranks(); rank++)
        memcpy(numbers_of_rank(run, rank), run->own, numbers_per_rank(run) * sizeof(double));
    for (int round = 0; round < run->config.repeats; round++)
        make_up_round(machine, phases, round);
    uint64_t suspects = gather_and_judge(run, run->config.repeats, run->config.repeats);
    for (int round = run->config.repeats; round < run->rounds && suspects; round++) {
        make_up_round(machine, suspects, round);
        suspects = gather_and_judge(run, 0, round + 1);
    }
    find_blame(run);
}

static void write_text(const struct topobw *run, const struct evidence_list *evidence, const char *path,
                       struct problem *problem) {
    if (!freopen(path, "w", stdout)) { /* topobw prints on stdout */
        problem_set(problem, "%s: cannot be written", path);
        return;
    }
    topobw_print(run, evidence);
    (void)fflush(stdout);
}

static void write_json(const struct topobw *run, const struct evidence_list *evidence, const char *path,
                       struct problem *problem) {
    struct series_list list = {0};
    struct topobw_document context = {run, evidence};
    struct document document = {.benchmark = "topobw",
                                .write_parameters = topobw_write_parameters,
                                .context = &context,
                                .evidence = evidence,
                                .list = &list,
                                .verified = !problem_is_set(problem)};
    char *names = check_alloc((size_t)run->plan.link_count, LINK_NAME_BYTES);
    topobw_series(run, names, &list);
    output_write(path, &document, topobw_write_verdict, problem);
    series_free(&list);
    free(names);
}

static struct evidence_list evidence_of(const struct machine *machine) {
    struct evidence_list list = {.ranks = check_ranks(), .row_count = check_ranks(), .layout_count = 1};
    list.rows = check_alloc((size_t)list.ranks, sizeof *list.rows);
    list.row_of_rank = check_alloc((size_t)list.ranks, sizeof *list.row_of_rank);
    list.layouts = check_alloc(1, sizeof *list.layouts);
    list.layouts[0] = "1\n-1\n?\n-1"; /* one rank of a node; nobody knows its CPUs */
    list.text = check_alloc((size_t)list.ranks, RANK_BYTES);
    for (int rank = 0; rank < list.ranks; rank++) {
        char *number = list.text + (size_t)rank * RANK_BYTES;
        (void)snprintf(number, RANK_BYTES, "%d", rank);
        list.rows[rank] = (struct evidence_row){.host = machine->hosts + (size_t)rank * EVIDENCE_HOST_BYTES,
                                                .ranks = number,
                                                .layout = list.layouts[0]};
        list.row_of_rank[rank] = rank;
    }
    return list;
}

static int count_phases(const struct plan *plan) {
    int count = 0;
    for (int phase = 0; phase < PHASES_MAX; phase++)
        count += plan->phases[phase];
    return count;
}

static int count_bad_links(const struct topobw *run) {
    int bad = 0;
    for (int link = 0; link < run->plan.link_count; link++)
        bad += run->results[link].bad;
    return bad;
}

static void print_findings(FILE *out, const struct topobw *run, const struct evidence_list *evidence) {
    char text[FINDING_TEXT_BYTES];
    for (int i = 0; i < run->finding_count; i++) {
        topobw_finding_text(run, evidence, &run->findings[i], text);
        (void)fprintf(out, "%s\"%s\"", i ? ", " : "", text);
    }
}

/* The document goes to the stdout of the start. */
static int run_machine(struct machine *machine, const char *text, const char *json, FILE *out) {
    struct topobw *run = &machine->run;
    struct problem problem = {0};
    double begun_s = rank_zero_now_s();
    coordinates_gather(run->config.coordinates, machine->hosts, &run->coordinates, &problem);
    if (!problem_is_set(&problem))
        link_rates_read(run->config.links, run->coordinates.extents, &run->rates, &problem);
    if (problem_tell(MPI_COMM_WORLD, &problem, "topobw_rank_zero"))
        return EXIT_USAGE;
    plan_make(&run->coordinates, &run->rates, &run->plan);
    plan_share(&run->plan, run->roles);
    read_shares(machine, &problem);
    if (problem_tell(MPI_COMM_WORLD, &problem, "topobw_rank_zero"))
        return EXIT_USAGE;
    double planned_s = rank_zero_now_s();
    measure(machine);
    double judged_s = rank_zero_now_s();
    double peak_bytes = rank_zero_peak_bytes();
    struct evidence_list evidence = evidence_of(machine);
    write_text(run, &evidence, text, &problem);
    write_json(run, &evidence, json, &problem);
    if (problem_tell(MPI_COMM_WORLD, &problem, "topobw_rank_zero"))
        return EXIT_NOT_WRITTEN;
    (void)fprintf(out,
                  "{\"ranks\": %d, \"links\": %d, \"transfers\": %d, \"phases\": %d, \"rounds\": %d, "
                  "\"gathered_bytes\": %.0f, \"plan_s\": %.3f, \"judge_s\": %.3f, \"report_s\": %.3f, "
                  "\"judged_peak_bytes\": %.0f, \"peak_bytes\": %.0f, \"bad_links\": %d, \"findings\": [",
                  check_ranks(), run->plan.link_count, run->plan.transfer_count, count_phases(&run->plan),
                  run->rounds, (double)(numbers_per_rank(run) * sizeof(double)) * check_ranks(),
                  planned_s - begun_s, judged_s - planned_s, rank_zero_now_s() - judged_s, peak_bytes,
                  rank_zero_peak_bytes(), count_bad_links(run));
    print_findings(out, run, &evidence);
    (void)fprintf(out, "]}\n");
    evidence_free(&evidence);
    free(machine->left);
    free(machine->shares);
    topobw_free(run);
    return EXIT_SUCCESS;
}

/* ---- arguments ---- */

/* The first word of each line but the first, padded as evidence_host pads it. */
static char *read_hosts(const char *path, int ranks, struct problem *problem) {
    size_t length = 0;
    int line_number = 0;
    char *text = textfile_load(path, "coordinates", &length, problem);
    char *hosts = check_alloc((size_t)ranks, EVIDENCE_HOST_BYTES);
    char *rest = text;
    char *line = text ? textfile_line(&rest, &line_number) : NULL; /* torus X Y Z */
    for (int rank = 0; rank < ranks && line; rank++) {
        line = textfile_line(&rest, &line_number);
        if (line)
            (void)snprintf(hosts + (size_t)rank * EVIDENCE_HOST_BYTES, EVIDENCE_HOST_BYTES, "%s",
                           textfile_word(&line));
        else
            problem_set(problem, "%s: %d nodes; expected %d", path, rank, ranks);
    }
    free(text);
    return hosts;
}

static void read_bad(int count, char **words, struct machine *machine, struct problem *problem) {
    for (int i = 0; i < count; i++) {
        size_t length = 0;
        if (*words[i] == '@') {
            machine->shares = textfile_load(words[i] + 1, "shares", &length, problem);
            continue;
        }
        int *router = machine->bad[machine->bad_count++];
        if (sscanf(words[i], "%d,%d,%d", &router[0], &router[1], &router[2]) != TORUS_DIMENSIONS)
            problem_set(problem, "%s: no router; expected X,Y,Z", words[i]);
    }
}

int main(int argc, char **argv) {
    struct machine machine = {0};
    struct problem problem = {0};
    int ranks = argc >= ARGUMENTS ? atoi(argv[3]) : 0;
    if (ranks < 2 || argc > ARGUMENTS + BAD_MAX) {
        (void)fprintf(stderr, "usage: topobw_rank_zero COORDINATES LINKS RANKS FACTOR SEED TOLERANCE TEXT "
                              "JSON [BAD-ROUTER|@SHARES...]\n");
        return EXIT_USAGE;
    }
    machine.run.config = (struct topobw_config){.coordinates = argv[1],
                                                .links = argv[2],
                                                .factor = atof(argv[4]),
                                                .stream = {1 << 22, 300, 60, 1},
                                                .repeats = 3,
                                                .retests = 5,
                                                .tolerance_percent = atof(argv[6])};
    machine.random = (uint64_t)atoll(argv[5]);
    rank_zero_of(ranks, fill, &machine);
    char *hosts = read_hosts(argv[1], ranks, &problem);
    machine.hosts = hosts;
    read_bad(argc - ARGUMENTS, argv + ARGUMENTS, &machine, &problem);
    FILE *out = fdopen(dup(fileno(stdout)), "w");
    int status = EXIT_USAGE;
    if (!problem_tell(MPI_COMM_WORLD, &problem, "topobw_rank_zero"))
        status = run_machine(&machine, argv[7], argv[8], out);
    (void)fclose(out);
    free(hosts);
    return status;
}
