/*
 * contention: pairs between two groups of nodes, all at the same time.
 *
 * Models the high-contention point-to-point case of the LLNL poster on multirail InfiniBand (Catalyst): many
 * ranks of a node talk to ranks of many other nodes at once, so that they meet in the nodes' NICs and in the
 * network, and the NIC policy shows. With n nodes in each group, rank l of node a of the first group meets
 * rank l of node (a + l * spread + round) mod n of the second.
 *
 * Leaves out: more than one partner of a rank at the same time, and where in the network the pairs meet.
 */
#include "contention/config.h"
#include "contention/nodes.h"
#include "lib/check.h"
#include "lib/evidence.h"
#include "lib/output.h"
#include "lib/parameters.h"
#include "lib/problem.h"
#include "lib/report.h"
#include "lib/table.h"
#include "lib/team.h"
#include "lib/team_series.h"

static const char program[] = "contention";

struct run {
    struct contention_config config;
    struct nodes nodes;
    int group_nodes; /* nodes of each group; an odd one out rests */
};

/* ---- the groups ---- */

/* The node at a place of the first or second group. */
static int node_at(const struct run *run, bool second, int place) {
    if (run->config.grouping == GROUPS_ALTERNATE)
        return 2 * place + second;
    return second ? run->group_nodes + place : place;
}

/* The fewest ranks of any node that takes part. */
static int fewest_ranks(const struct run *run, int *node) {
    *node = 0;
    for (int i = 0; i < 2 * run->group_nodes; i++)
        if (run->nodes.rank_count[i] < run->nodes.rank_count[*node])
            *node = i;
    return run->nodes.rank_count[*node];
}

static void settle_pairs(struct run *run, struct problem *problem) {
    struct number_list *pairs = &run->config.pairs;
    int node = 0;
    int most = fewest_ranks(run, &node);
    if (pairs->count == 0)
        *pairs = (struct number_list){.count = 1, .value = {(size_t)most}};
    for (int i = 0; i < pairs->count; i++)
        if (pairs->value[i] > (size_t)most)
            problem_set(problem, "--pairs %zu: node %d of the run has %d ranks; valid: 1 to %d",
                        pairs->value[i], node, most, most);
}

/* Collective. */
static void find_groups(struct run *run, struct problem *problem) {
    if (run->config.grouping == GROUPS_RANKS)
        nodes_of_ranks(&run->nodes);
    else
        nodes_find(&run->nodes);
    run->group_nodes = run->nodes.count / 2;
    if (run->group_nodes == 0)
        problem_set(
            problem,
            "--groups %s: all ranks run on one node; valid: ranks on 2 nodes or more, or --groups ranks",
            grouping_name(run->config.grouping));
    else
        settle_pairs(run, problem);
}

static struct team make_team(const struct run *run, int pairs_per_node, int round) {
    struct team team = team_make(run->group_nodes * pairs_per_node);
    for (int place = 0; place < run->group_nodes; place++)
        for (int local = 0; local < pairs_per_node; local++) {
            int pair = place * pairs_per_node + local;
            long shifted = place + (long)local * run->config.spread + round;
            int partner = (int)(shifted % run->group_nodes);
            team.from[pair] = nodes_rank(&run->nodes, node_at(run, false, place), local);
            team.to[pair] = nodes_rank(&run->nodes, node_at(run, true, partner), local);
        }
    return team;
}

/* ---- measure ---- */

enum { ROUND_LABELS = 2 };

/* Collective. All pairs of one round at once; false on all ranks when data were wrong. */
static bool run_round(const struct run *run, int pairs_per_node, int round,
                      const struct evidence_list *evidence, struct series_list *list) {
    const struct lane_config *lane = &run->config.lane;
    const struct label labels[ROUND_LABELS] = {{"pairs_per_node", NULL, pairs_per_node},
                                               {"round", NULL, round}};
    struct team team = make_team(run, pairs_per_node, round);
    struct team_result result;
    bool good = team_measure(&team, lane, program, &result);
    if (good && check_rank() == 0)
        team_series(&team, &result, lane, labels, ROUND_LABELS, true, evidence, list);
    team_result_free(&result);
    team_free(&team);
    return good;
}

static bool run_rounds(const struct run *run, const struct evidence_list *evidence,
                       struct series_list *list) {
    for (int i = 0; i < run->config.pairs.count; i++)
        for (int round = 0; round < run->config.rounds; round++)
            if (!run_round(run, (int)run->config.pairs.value[i], round, evidence, list))
                return false;
    return true;
}

/* ---- print and write ---- */

static int resting_nodes(const struct run *run) {
    return run->nodes.count - 2 * run->group_nodes;
}

static void write_parameters(struct json *json, const void *context) {
    const struct run *run = context;
    json_key_text(json, "groups", grouping_name(run->config.grouping));
    json_key_integer(json, "group_nodes", run->group_nodes);
    json_key_integer(json, "resting_nodes", resting_nodes(run));
    parameters_numbers(json, "pairs_per_node", &run->config.pairs);
    json_key_integer(json, "spread", run->config.spread);
    json_key_integer(json, "rounds", run->config.rounds);
    parameters_lane(json, &run->config.lane);
}

static void print_heading(const void *context, const struct evidence_list *evidence) {
    const struct run *run = context;
    const struct lane_config *lane = &run->config.lane;
    table_heading(program, evidence);
    (void)printf(", groups %s: 2 x %d %s%s\n", grouping_name(run->config.grouping), run->group_nodes,
                 run->config.grouping == GROUPS_RANKS ? "ranks" : "nodes",
                 resting_nodes(run) ? ", one rests" : "");
    (void)printf(
        "all pairs at once; window %d, %d repeats after %d warmups; every size verified; each pair is "
        "in the JSON\n\n",
        lane->window, lane->sampling.repeats, lane->sampling.warmups);
}

static int measure(const struct run *run) {
    struct series_list list = {0};
    struct evidence_list evidence;
    int status = EXIT_DATA_WRONG;
    evidence_gather(&evidence);
    struct document document = {program, write_parameters, run, &evidence, &list};
    if (run_rounds(run, &evidence, &list))
        status = report(&document, print_heading, run->config.lane.sampling.json);
    series_free(&list);
    evidence_free(&evidence);
    return status;
}

static int run_settled(struct run *run) {
    struct problem problem = {0};
    find_groups(run, &problem);
    int status = problem_agree(&problem, program) ? EXIT_USAGE : measure(run);
    nodes_free(&run->nodes);
    return status;
}

static int run_program(int argc, char **argv) {
    struct run run = {0};
    enum options_outcome outcome = contention_config_read(argc, argv, &run.config);
    return outcome == OPTIONS_RUN ? run_settled(&run) : options_status(outcome);
}

int main(int argc, char **argv) {
    return check_main(argc, argv, run_program);
}
