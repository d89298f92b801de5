/* Implements troubles of a link. */
#include "troubles.h"
#include "../common.h"
#include "events.h"

#include <stdlib.h>

/* Return the end of the spell in which `now_ns` is, or `now_ns` if it is in none. */
static uint64_t spell_end_ns(const struct trouble *trouble, uint64_t now_ns) {
    uint64_t first_ns = trouble->begun_ns + trouble->at_ns;
    if (now_ns < first_ns)
        return now_ns;
    if (trouble->for_ns == 0)
        return NEVER;
    uint64_t begin_ns = first_ns;
    if (trouble->every_ns)
        begin_ns += (now_ns - first_ns) / trouble->every_ns * trouble->every_ns;
    return now_ns < begin_ns + trouble->for_ns ? begin_ns + trouble->for_ns : now_ns;
}

static bool is_on(const struct trouble *trouble, uint64_t now_ns) {
    return spell_end_ns(trouble, now_ns) > now_ns;
}

uint64_t trouble_silent_until_ns(const struct trouble *trouble, uint64_t now_ns) {
    return trouble->silent ? spell_end_ns(trouble, now_ns) : now_ns;
}

uint32_t trouble_replays(struct trouble *trouble, uint64_t now_ns) {
    uint32_t replays = 0;
    while (is_on(trouble, now_ns) && random_share(&trouble->random) < trouble->damaged)
        replays++;
    return replays;
}

uint64_t trouble_here_ns(struct trouble *trouble, uint64_t now_ns, uint64_t here_ns) {
    if (trouble->jitter_ns && is_on(trouble, now_ns))
        here_ns += (uint64_t)(random_share(&trouble->random) * (double)trouble->jitter_ns);
    if (here_ns <= trouble->last_here_ns)
        here_ns = trouble->last_here_ns + 1; /* events at one time have no order */
    return trouble->last_here_ns = here_ns;
}

void trouble_change(struct trouble **trouble, const struct trouble *changed, uint64_t now_ns) {
    struct trouble *old = *trouble;
    if (changed == NULL) {
        free(old);
        *trouble = NULL;
        return;
    }
    if (old != NULL && old->at_ns == changed->at_ns && old->for_ns == changed->for_ns &&
        old->every_ns == changed->every_ns && old->silent == changed->silent &&
        old->damaged == changed->damaged && old->jitter_ns == changed->jitter_ns)
        return;
    uint64_t last_here_ns = old != NULL ? old->last_here_ns : 0;
    if (old == NULL)
        *trouble = zeroed(1, sizeof **trouble);
    **trouble = *changed;
    (*trouble)->begun_ns = now_ns;
    (*trouble)->last_here_ns = last_here_ns;
}
