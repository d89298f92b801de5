/*
 * topobw: the rate of every link between neighbouring routers of a torus, and a verdict on each.
 *
 * Models TopoBW (Ezell, CUG'13): nodes send to the nodes of the next router, dimension by dimension, in
 * phases in which no router sends and receives at once (plan.h), both nodes of a router together. All links
 * are tested in at most 18 phases, whatever the size of the torus; only rank 0 stores more than its own part.
 * Beyond the paper: each link is judged (verdict.h), several bad ones are explained by one component
 * (blame.h), links that look bad are tested again before they are named, the routers on each way are counted
 * and named (routeprobe.h), and a link that does not answer ends as a verdict.
 *
 * Leaves out: two nodes of one router sending to each other, and loads that cross more than one link.
 */
#include "counters/nics.h"
#include "counters/railyard-counters.h"
#include "lib/input/options.h"
#include "lib/run/check.h"
#include "topobw/report.h"
#include "topobw/run/deadline.h"
#include "topobw/run/relay.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static const char program[] = "topobw";

/* ---- options ---- */

static bool parse_message(const char *text, void *field) {
    size_t bytes = 0;
    if (!parse_size(text, &bytes) || bytes == 0)
        return false;
    *(size_t *)field = bytes;
    return true;
}

static bool parse_limit(const char *text, void *field) {
    double seconds = 0;
    if (!parse_seconds(text, &seconds) || seconds < 1)
        return false;
    *(double *)field = seconds;
    return true;
}

#define FIELD(name) offsetof(struct topobw_config, name)

static const struct option_row rows[] = {
    ROW_COORDINATES("required", FIELD(coordinates)),
    ROW_ABSENT("links", "FILE", "none: links are compared only with their peers",
               "a links file: host RATE, then link X+ x y z CLASS RATE lines, GB/s",
               "class and expected rate of each link", parse_text, FIELD(links)),
    ROW_ABSENT("factor", "NUMBER", "the median over all links", "above 0",
               "payload rate of a sound link over its rate in the links file", parse_positive, FIELD(factor)),
    ROW("size", "BYTES", "1MiB", "1 to 1024MiB, with B, KiB or MiB", "message size", parse_message,
        FIELD(stream.message_bytes)),
    ROW("messages", "COUNT", "8", "1 to 1000000", "messages per transfer, all in flight", parse_count,
        FIELD(stream.messages)),
    ROW("repeats", "COUNT", "3", "1 to 1000000", "rounds through all phases; the fastest is used",
        parse_count, FIELD(repeats)),
    ROW("retests", "COUNT", "5", "0 to 1000000",
        "maximum number of further rounds for links that look bad, 0 to 4 s apart; twice that if the times "
        "of "
        "such a link differ too much",
        parse_count0, FIELD(retests)),
    ROW("tolerance", "PERCENT", "3", "above 0, below 100",
        "how far below its peers a sound link may be; twice that below expectation", parse_percent,
        FIELD(tolerance_percent)),
    ROW("deadline", "SECONDS", "60", "1 to 1000000",
        "time limit of one phase, after which its links are dead", parse_limit, FIELD(stream.limit_s)),
    ROW_NAMES("routes", "HOW", "strict",
              "strict (a link that packets go round is bad at any rate, one whose way is not seen is not "
              "judged), off",
              "how to judge the ways of datagrams to each host name", FIELD(routes), options_one,
              topobw_routes),
    ROW_ABSENT("nic-suffix", "TEXT", "none: the host's own name", "like .nic3 on a virtual torus",
               "what the name of the NIC that MPI uses adds to its host's, for the ways of datagrams",
               parse_text, FIELD(nic_suffix)),
    ROW("soak", "SECONDS", "0", "0 to 1000000",
        "repeat rounds for this time, and treat unstable links as bad", parse_seconds, FIELD(soak_s)),
    ROW_ABSENT("stream", "FILE", "none", "a path that can be written",
               "file to which rank 0 writes the links' rates after each round, a JSON document per line",
               parse_text, FIELD(rounds_file)),
    ROW_ABSENT("counters", "FILE", "none", "a path that can be written",
               "file to which rank 0 writes the counts of the counters library (RAILYARD_COUNTERS_*)",
               parse_text, FIELD(counters)),
    ROW_SEED(FIELD(stream.seed)),
    ROW_JSON(FIELD(json)),
};

static void settle(void *configuration, const struct options_given *given, struct problem *problem) {
    const struct topobw_config *config = configuration;
    (void)given;
    if (check_ranks() < 2)
        problem_set(problem, "1 rank: links between nodes are measured; expected 2 ranks or more");
    if (!config->coordinates)
        problem_set(problem, "--coordinates: missing; expected --coordinates FILE");
    if (!config->links && config->factor > 0)
        problem_set(problem, "--factor %g: needs --links FILE", config->factor);
    output_probe(config->json, problem);
    output_probe(config->rounds_file, problem);
}

static const struct option_table options = {
    .program = program,
    .purpose = "rate of every link between neighbouring routers, and a verdict on each",
    OPTION_ROWS(rows),
    .settle = settle,
    .more_statuses = ", 5 a link is bad, 6 a link is not judged",
};

/* ---- the run ---- */

enum { START_LIMIT_S = 60, REACH_LIMIT_S = 30, LEAVE_LIMIT_S = 5 };

/* On rank 0. */
static void plan_run(struct topobw *run, struct problem *problem) {
    const int *extents = run->coordinates.extents;
    if (run->config.links)
        link_rates_read(run->config.links, extents, &run->rates, problem);
    if (problem_is_set(problem))
        return;
    plan_make(&run->coordinates, &run->rates, &run->plan);
    if (run->plan.link_count == 0)
        problem_set(problem,
                    "--coordinates %s: no two of the %d ranks are on neighbouring routers (torus %dx%dx%d)",
                    run->config.coordinates, check_ranks(), extents[0], extents[1], extents[2]);
    /* Every tested link must be listed in the links file. */
    char name[LINK_NAME_BYTES];
    for (int link = 0; run->config.links && link < run->plan.link_count; link++)
        if (run->plan.links[link].rate->link_class == NULL) {
            plan_link_name(&run->plan.links[link], name);
            problem_set(problem, "--links %s: no line for the link %s", run->config.links, name);
            return;
        }
}

/* Collective. False on all ranks, after a message, if there is nothing to measure. */
static bool prepare(struct topobw *run) {
    struct problem problem = {0};
    char host[EVIDENCE_HOST_BYTES];
    evidence_host(host);
    coordinates_gather(run->config.coordinates, host, &run->coordinates, &problem);
    if (check_rank() == 0 && !problem_is_set(&problem))
        plan_run(run, &problem);
    if (problem_agree(&problem, program))
        return false;
    plan_share(&run->plan, run->roles);
    return true;
}

static void write_document(const struct topobw *run, const struct evidence_list *evidence,
                           struct problem *problem) {
    struct series_list list = {0};
    struct topobw_document context = {run, evidence};
    struct document document = {.benchmark = program,
                                .write_parameters = topobw_write_parameters,
                                .context = &context,
                                .evidence = evidence,
                                .list = &list,
                                .verified = run->verified};
    char *names = check_alloc((size_t)run->plan.link_count, LINK_NAME_BYTES);
    topobw_series(run, names, &list);
    output_write(run->config.json, &document, topobw_write_verdict, problem);
    series_free(&list);
    free(names);
}

/* Collective. Rank 0 prints and writes; the exit status of all ranks. */
static int report(const struct topobw *run) {
    struct problem problem = {0};
    struct evidence_list evidence;
    int status = run->finding_count > 0 ? EXIT_LINK_FAULT
                 : run->unjudged > 0    ? EXIT_NOT_JUDGED
                                        : EXIT_SUCCESS;
    evidence_gather_alone(&evidence);
    if (check_rank() == 0) {
        topobw_print(run, &evidence);
        if (run->config.json)
            write_document(run, &evidence, &problem);
        /* One line on stderr for a bad verdict. */
        char text[FINDING_TEXT_BYTES];
        if (!(run->finding_count == 0) || !(run->unjudged == 0)) {
            if (run->finding_count == 0)
                topobw_unjudged_text(run, text);
            else
                topobw_finding_text(run, &evidence, &run->findings[0], text);
            (void)fprintf(stderr, "%s: %s", program, text);
            if (run->finding_count > 1)
                (void)fprintf(stderr, "; and %d more finding%s", run->finding_count - 1,
                              run->finding_count > 2 ? "s" : "");
            (void)fprintf(stderr, "\n");
            (void)fflush(stderr);
        }
    }
    evidence_free(&evidence);
    MPI_CHECK(MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return problem_agree(&problem, program) ? EXIT_NOT_WRITTEN : status;
}

/* Collective. Starts counting if requested; false on all ranks, after a message, if that fails. */
static bool start_counting(struct topobw *run, railyard_counters **counters) {
    struct railyard_counters_options chosen = {.output = run->config.counters};
    double begun_s = MPI_Wtime();
    *counters = NULL;
    if (!run->config.counters)
        return true;
    if (railyard_counters_init(MPI_COMM_WORLD, &chosen, counters) != 0)
        return false;
    bool good = railyard_counters_read(*counters) == 0;
    run->counters_s += MPI_Wtime() - begun_s;
    return good;
}

static bool end_counting(struct topobw *run, railyard_counters **counters) {
    double begun_s = MPI_Wtime();
    bool good = true;
    if (!*counters)
        return true;
    good = railyard_counters_read(*counters) == 0 && railyard_counters_print(*counters) == 0;
    railyard_counters_free(counters);
    run->counters_s += MPI_Wtime() - begun_s;
    return good;
}

static int run_topobw(struct topobw *run) {
    struct problem problem = {0};
    railyard_counters *counters = NULL;
    if (!start_counting(run, &counters))
        return EXIT_USAGE;
    topobw_measure(run, &problem);
    if (!run->stuck && !end_counting(run, &counters))
        return EXIT_NOT_WRITTEN;
    deadline_arm(START_LIMIT_S);
    run->verified = !problem_agree(&problem, program); /* every message was compared (stream.h) */
    int status = run->verified ? report(run) : EXIT_DATA_WRONG;
    /* Aborts a run with a cancelled transfer, as MPI_Finalize would hang; all output is written by then. */
    if (run->stuck)
        MPI_Abort(MPI_COMM_WORLD, status);
    deadline_disarm();
    return status;
}

static int run(int argc, char **argv) {
    struct topobw run = {0};
    deadline_arm(START_LIMIT_S);
    enum options_outcome outcome = options_read(&options, argc, argv, &run.config);
    if (outcome != OPTIONS_RUN)
        return options_status(outcome);
    bool ready = prepare(&run);
    deadline_disarm();
    int status = ready ? run_topobw(&run) : EXIT_USAGE;
    topobw_free(&run);
    return status;
}

int main(int argc, char **argv) {
    check_mpi_init(&argc, &argv);
    deadline_arm(START_LIMIT_S);
    relay_open(program, REACH_LIMIT_S);
    struct nics *nics = nics_begin();
    int status = run(argc, argv);
    deadline_arm(START_LIMIT_S);
    nics_end(nics);
    /* Aborts with a message if two ranks cannot communicate although every tested link answered. */
    if (!relay_close(LEAVE_LIMIT_S)) {
        if (check_rank() == 0 && status == EXIT_SUCCESS)
            (void)fprintf(stderr,
                          "%s: two ranks cannot communicate, although every tested link answers: a "
                          "link outside the test is down\n",
                          program);
        MPI_Abort(MPI_COMM_WORLD, status == EXIT_SUCCESS ? EXIT_LINK_FAULT : status);
    }
    deadline_disarm();
    /* mpirun (Open MPI 4) ends a job at the first exit status that is not 0; a line on its way from a daemon
     * was missing once. */
    const struct timespec pause = {.tv_nsec = 300000000};
    if (status != EXIT_SUCCESS)
        (void)nanosleep(&pause, NULL);
    MPI_CHECK(MPI_Finalize());
    return status;
}
