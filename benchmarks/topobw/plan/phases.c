/* The sending direction of each position in each phase; see phases.h. */
#include "topobw/plan/phases.h"

#include <stdbool.h>

const char *phase_name(enum phase phase) {
    static const char *const names[PHASES_PER_RING] = {"even plus",  "odd minus", "odd plus",
                                                       "even minus", "last plus", "first minus"};
    return names[phase];
}

int ring_step(int extent, int position, int step) {
    return (position + step + extent) % extent;
}

/* The cable between the last and the first position of a ring of odd length joins two even ones. */
static bool is_end_cable(int extent, int position, int step) {
    return extent % 2 == 1 && (step > 0 ? position == extent - 1 : position == 0);
}

int phase_step(int extent, int position, enum phase phase) {
    bool odd = phase == PHASE_ODD_MINUS || phase == PHASE_ODD_PLUS;
    int step = phase == PHASE_EVEN_PLUS || phase == PHASE_ODD_PLUS ? 1 : -1;
    if (phase == PHASE_LAST_PLUS || phase == PHASE_FIRST_MINUS) {
        step = phase == PHASE_LAST_PLUS ? 1 : -1;
        return extent > 1 && is_end_cable(extent, position, step) ? step : 0;
    }
    if (extent == 1 || (position % 2 == 1) != odd || is_end_cable(extent, position, step))
        return 0;
    if (extent == 2 && phase >= PHASE_ODD_PLUS)
        return 0; /* the one cable again, by its other name */
    return step;
}
