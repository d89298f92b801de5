/*
 * What a team measured, as series: of each point the team's value, then each pair's.
 *
 *     aggregate_bandwidth_gbyte_s   bytes of all pairs over the time of the slowest
 *     slowest_latency_us            the time of the slowest pair
 *     pair_bandwidth_gbyte_s, pair_latency_us   of each pair, by its own time; for the document alone
 *
 * Leaves out: which pairs there are, and the labels that say so; the benchmark knows.
 */
#ifndef RAILYARD_LIB_TEAM_SERIES_H
#define RAILYARD_LIB_TEAM_SERIES_H

#include "lib/output.h"
#include "lib/team.h"

/*
 * On rank 0. Adds all series of a result. To the given labels come "test" in front and "size_bytes" behind,
 * and for a pair "from" and "to" (hosts), with `ranks` also "from_rank" and "to_rank".
 */
void team_series(const struct team *team, const struct team_result *result, const struct lane_config *config,
                 const struct label *labels, int label_count, bool ranks,
                 const struct evidence_list *evidence, struct series_list *list);

/* What was not measured, and why: one for each chosen test. The reason must outlive the list. */
void team_missing(const struct lane_config *config, const struct label *labels, int label_count,
                  const char *reason, struct series_list *list);

#endif
