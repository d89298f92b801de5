/*
 * Finds the parts of the network that explain the bad tests of a listed plan: links, or nodes that send or
 * receive.
 *
 * A good test clears the parts that it loads in full. A part that is not cleared explains every bad test that
 * loads or crosses it; the one that explains most comes first, until none is left. Of two that explain as
 * much, one that a bad test loads fully is preferred to one that it only crosses. A bad test with no part
 * left makes a finding of its own. Pure; rank 0 alone uses it.
 *
 * Leaves out: cables as one finding (each direction is a part) and larger components.
 */
#ifndef RAILYARD_TOPOBW_VERDICT_PARTS_H
#define RAILYARD_TOPOBW_VERDICT_PARTS_H

#include "topobw/verdict/blame.h"

/* As blame() of blame.h; a finding's part is to be freed with it. */
struct finding *parts_blame(const struct plan *plan, const struct link_result *results, int *count,
                            int *explained_by);

#endif
