/* Troubles of a link: it falls silent, damages cells, or has jitter, all the time or in spells.
 *
 * - A silent link sends nothing. Cells wait for it with their credits, so nothing is lost, and go on when
 * the spell ends. A link that is down for good is another matter: routes avoid it (network_change).
 * - A damaged cell fails the check at the far end, which asks for it again: the cell is sent after a round
 * trip (two latencies), until it arrives whole. Cells behind it wait, so their order stays (the link-level
 * retry of Gemini, Slingshot and InfiniBand). Every sending is damaged with the same probability.
 * - With jitter a cell's latency is longer by a random time up to `jitter_ns`. No cell overtakes another.
 *
 * Leaves out: damage in bursts, and the end of a link that was damaged too often. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A spell begins `at_ns` after the trouble was put on the link, and again every `every_ns`, unless that is 0.
 * It lasts for `for_ns`, or for ever if that is 0. */
struct trouble {
    uint64_t at_ns, for_ns, every_ns;
    bool silent;
    double damaged; /* share of all sendings, below 1 */
    uint64_t jitter_ns;
    uint64_t begun_ns, random, last_here_ns, next_try_ns;
};

/* Return the end of the spell in which a link is silent, `now_ns` if it is not. */
uint64_t trouble_silent_until_ns(const struct trouble *trouble, uint64_t now_ns);

/* Return how often a cell that is sent now is sent again. */
uint32_t trouble_replays(struct trouble *trouble, uint64_t now_ns);

/* Return when a cell that would be at the far end at `here_ns` is there. */
uint64_t trouble_here_ns(struct trouble *trouble, uint64_t now_ns, uint64_t here_ns);

/* Put a trouble, or none, in the place of another one; the same one goes on. */
void trouble_change(struct trouble **trouble, const struct trouble *changed, uint64_t now_ns);
