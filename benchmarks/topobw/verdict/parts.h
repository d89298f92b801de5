/*
 * Finds the parts of the network that explain the bad tests of a listed plan: links, or nodes that send or
 * receive.
 *
 * A good test clears the parts that it loads in full. A part that is not cleared explains every bad test that
 * loads or crosses it; the one that explains most comes first, until none is left. Of two that explain as
 * much, one that a bad test loads fully is preferred to one that it only crosses. Two links that explain the
 * very same tests are named together. A detour is explained only by a link that the way of no test crosses,
 * and explains slow tests that its way met in their phase. A bad test with no part left makes a finding of
 * its own. Both directions of a cable make one finding. Pure; rank 0 alone uses it.
 *
 * Leaves out: larger components.
 */
#pragma once

#include "topobw/verdict/blame.h"

/* As blame() of blame.h; a finding's part is to be freed with it. ways[i] are the routers on the way of
 * transfer i, NULL if they are not known; those of the answers follow after all transfers. */
struct finding *parts_blame(const struct plan *plan, const struct link_result *results,
                            const char *const *ways, int *count, int *explained_by);

/* Returns whether a test is of the very link that a part is, in either direction. */
bool parts_is_own(const struct listed_test *test, const char *part);
