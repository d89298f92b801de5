/*
 * paths: transfers between pairs of nodes on parallel paths along one torus dimension, at the same time.
 *
 * Models Figure 4 of Peña et al., "Analysis of Topology-Dependent MPI Performance on Gemini Networks"
 * (EuroMPI 2013): the aggregate rate of several one-to-one transfers, by dimension and hops. Where paths
 * share links the aggregate stays what one of them gets; where they do not it grows with their number.
 *
 * Leaves out: one path after another (hops), and paths along different dimensions.
 */
#include "lib/check.h"
#include "lib/evidence.h"
#include "lib/lattice.h"
#include "lib/output.h"
#include "lib/parameters.h"
#include "lib/problem.h"
#include "lib/report.h"
#include "lib/table.h"
#include "lib/team.h"
#include "lib/team_series.h"
#include "paths/config.h"
#include "paths/lines.h"

#include <stdlib.h>

static const char program[] = "paths";

/* The pairs of one dimension, hop count and number of paths. */
struct course {
    char dimension[2];
    int hops;
    int paths;
    struct team team;
    char reason[LINES_REASON_BYTES]; /* why it is not measured */
};

struct run {
    struct paths_config config;
    struct coordinates coordinates;
    struct lattice lattice;
    int course_count;
    struct course *courses;
};

/* ---- which pairs ---- */

/* The hop counts asked for; all that the dimension has when none were. */
static int hops_count(const struct run *run, int dimension) {
    int most = run->coordinates.extents[dimension] / 2;
    if (run->config.hops.count > 0)
        return run->config.hops.count;
    return most > 0 ? most : 1;
}

static int hops_at(const struct run *run, int i) {
    return run->config.hops.count > 0 ? (int)run->config.hops.value[i] : i + 1;
}

static void add_course(struct run *run, int dimension, int hops, int paths) {
    struct course *course = &run->courses[run->course_count++];
    course->dimension[0] = (char)('X' + dimension);
    course->hops = hops;
    course->paths = paths;
    course->team =
        lines_find(&run->lattice, &run->coordinates, check_ranks(), dimension, hops, paths, course->reason);
}

static void find_courses(struct run *run) {
    const struct paths_config *config = &run->config;
    size_t room = 0;
    for (const char *letter = config->dimensions; *letter; letter++)
        room += (size_t)hops_count(run, *letter - 'X') * (size_t)config->paths.count;
    run->courses = check_alloc(room, sizeof *run->courses);
    for (const char *letter = config->dimensions; *letter; letter++)
        for (int h = 0; h < hops_count(run, *letter - 'X'); h++)
            for (int p = 0; p < config->paths.count; p++)
                add_course(run, *letter - 'X', hops_at(run, h), (int)config->paths.value[p]);
}

static void check_courses(const struct run *run, struct problem *problem) {
    for (int i = 0; i < run->course_count; i++)
        if (run->courses[i].team.pairs > 0)
            return;
    problem_set(problem, "--coordinates %s: the %d ranks stand on none of the paths that were asked for (%s)",
                run->config.coordinates, check_ranks(), run->courses[0].reason);
}

static void free_run(struct run *run) {
    for (int i = 0; i < run->course_count; i++)
        team_free(&run->courses[i].team);
    free(run->courses);
    lattice_free(&run->lattice);
    coordinates_free(&run->coordinates);
}

/* ---- measure ---- */

enum { COURSE_LABELS = 3 };

/* Collective. One course; false on all ranks when its data were wrong. */
static bool run_course(const struct run *run, const struct course *course,
                       const struct evidence_list *evidence, struct series_list *list) {
    const struct lane_config *lane = &run->config.lane;
    const struct label labels[COURSE_LABELS] = {
        {"dimension", course->dimension, 0}, {"hops", NULL, course->hops}, {"paths", NULL, course->paths}};
    struct team_result result;
    if (course->team.pairs == 0) {
        team_missing(lane, labels, COURSE_LABELS, course->reason, list);
        return true;
    }
    bool good = team_measure(&course->team, lane, program, &result);
    if (good && check_rank() == 0)
        team_series(&course->team, &result, lane, labels, COURSE_LABELS, false, evidence, list);
    team_result_free(&result);
    return good;
}

static bool run_courses(const struct run *run, const struct evidence_list *evidence,
                        struct series_list *list) {
    for (int i = 0; i < run->course_count; i++)
        if (!run_course(run, &run->courses[i], evidence, list))
            return false;
    return true;
}

/* ---- print and write ---- */

static void write_parameters(struct json *json, const void *context) {
    const struct run *run = context;
    const struct paths_config *config = &run->config;
    parameters_torus(json, config->coordinates, &run->coordinates);
    json_key_integer(json, "nodes_per_router", run->lattice.nodes_per_router);
    json_key_text(json, "dimensions", config->dimensions);
    parameters_numbers(json, "hops", &config->hops);
    parameters_numbers(json, "paths", &config->paths);
    parameters_lane(json, &config->lane);
}

static void print_heading(const void *context, const struct evidence_list *evidence) {
    const struct run *run = context;
    const struct lane_config *lane = &run->config.lane;
    const int *extents = run->coordinates.extents;
    table_heading(program, evidence);
    (void)printf(", torus %dx%dx%d, %d node%s a router\n", extents[0], extents[1], extents[2],
                 run->lattice.nodes_per_router, run->lattice.nodes_per_router > 1 ? "s" : "");
    (void)printf("window %d, %d repeats after %d warmups; every size verified; each path is in the JSON\n\n",
                 lane->window, lane->sampling.repeats, lane->sampling.warmups);
}

static int measure(const struct run *run) {
    struct series_list list = {0};
    struct evidence_list evidence;
    int status = EXIT_DATA_WRONG;
    evidence_gather(&evidence);
    struct document document = {program, write_parameters, run, &evidence, &list};
    if (run_courses(run, &evidence, &list))
        status = report(&document, print_heading, run->config.lane.sampling.json);
    series_free(&list);
    evidence_free(&evidence);
    return status;
}

static int run_settled(struct run *run) {
    char host[EVIDENCE_HOST_BYTES];
    struct problem problem = {0};
    evidence_host(host);
    coordinates_read(run->config.coordinates, host, &run->coordinates, &problem);
    if (problem_agree(&problem, program))
        return EXIT_USAGE;
    lattice_make(&run->coordinates, check_ranks(), &run->lattice);
    find_courses(run);
    check_courses(run, &problem);
    return problem_agree(&problem, program) ? EXIT_USAGE : measure(run);
}

static int run_program(int argc, char **argv) {
    struct run run = {0};
    enum options_outcome outcome = paths_config_read(argc, argv, &run.config);
    int status = outcome == OPTIONS_RUN ? run_settled(&run) : options_status(outcome);
    free_run(&run);
    return status;
}

int main(int argc, char **argv) {
    return check_main(argc, argv, run_program);
}
