/*
 * contention: pairs between two groups of nodes, after the LLNL poster on multirail InfiniBand (Catalyst).
 *
 * With n nodes in each group, rank l of node a of the first meets rank l of node (a + l * spread + round) mod
 * n of the second, so that ranks meet in the nodes' NICs, and the NIC policy shows. Leaves out: which NIC a
 * rank uses.
 */
#include "pt2pt/pairs.h"

static const char *const groupings[] = {"halves", "alternate", "ranks"};

static const struct option_row rows[] = {
    ROW_NAMES("groups", "NAME", "halves",
              "halves (of the nodes), alternate (nodes), ranks (halves of the ranks, nodes aside)",
              "the two groups; one of each makes a pair", FIELD(grouping), options_one, groupings),
    ROW_ABSENT("pairs", "LIST", "as many as a node has ranks", "counts and ranges from 1, like 1,2,4",
               "pairs per node at the same time", parse_numbers, FIELD(per_node)),
    ROW("spread", "COUNT", "1", "0 to 1000000",
        "nodes between the partners of a node's ranks; 0: all on one node", parse_count0, FIELD(spread)),
    ROW("rounds", "COUNT", "1", "1 to 1000000", "partners of each rank, one after the other", parse_count,
        FIELD(rounds)),
    ROWS_ENGINE("8,64KiB", "latency,bandwidth,bibandwidth"),
};

static void prepare_contention(struct run *run, struct problem *problem) {
    enum grouping grouping = run->config.grouping;
    nodes_find(&run->layout.nodes, grouping == GROUPS_RANKS);
    run->group_nodes = run->layout.nodes.count / 2;
    if (run->group_nodes == 0)
        problem_set(
            problem,
            "--groups %s: all ranks run on one node; expected ranks on 2 nodes or more, or --groups ranks",
            groupings[grouping]);
    else
        pairs_check_per_node(run, 2 * run->group_nodes, "pairs", problem);
}

static int count_contention(const struct run *run) {
    return run->config.per_node.count * run->config.rounds;
}

/* The node at a place of the first or second group. */
static int node_at(const struct run *run, bool second, int place) {
    if (run->config.grouping == GROUPS_ALTERNATE)
        return 2 * place + second;
    return second ? run->group_nodes + place : place;
}

static void make_contention(const struct run *run, int index, struct set *set) {
    const struct nodes *nodes = &run->layout.nodes;
    int count = (int)run->config.per_node.value[index / run->config.rounds];
    int round = index % run->config.rounds;
    set->ranks = true;
    pairs_label(set, "pairs_per_node", NULL, count);
    pairs_label(set, "round", NULL, round);
    set->team = team_make(run->group_nodes * count);
    for (int i = 0; i < set->team.pairs; i++) {
        int place = i / count;
        int local = i % count;
        int partner = (int)((place + (long)local * run->config.spread + round) % run->group_nodes);
        set->team.pair[i] =
            (struct pair){pairs_chosen_rank(nodes, node_at(run, false, place), local, count),
                          pairs_chosen_rank(nodes, node_at(run, true, partner), local, count)};
    }
}

static int resting_nodes(const struct run *run) {
    return run->layout.nodes.count - 2 * run->group_nodes;
}

static void write_contention(struct json *json, const struct run *run) {
    const struct pt2pt_config *config = &run->config;
    json_key_text(json, "groups", groupings[config->grouping]);
    json_key_integer(json, "group_nodes", run->group_nodes);
    json_key_integer(json, "resting_nodes", resting_nodes(run));
    parameters_numbers(json, "pairs_per_node", &config->per_node);
    json_key_integer(json, "spread", config->spread);
    json_key_integer(json, "rounds", config->rounds);
}

static void print_groups(const struct run *run) {
    (void)printf(", groups %s: 2 x %d %s%s", groupings[run->config.grouping], run->group_nodes,
                 run->config.grouping == GROUPS_RANKS ? "ranks" : "nodes",
                 resting_nodes(run) ? ", one rests" : "");
}

const struct pairing pairing = {prepare_contention, count_contention, make_contention, write_contention,
                                print_groups};

PAIRS_BENCHMARK(.program = "contention", .purpose = "pairs between two groups of nodes, all at the same time",
                OPTION_ROWS(rows), .settle = pairs_settle);
