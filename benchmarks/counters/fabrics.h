/*
 * The counter groups of NICs, and the path of a group's file.
 *
 * Leaves out: groups of routers, which a user names.
 */
#ifndef RAILYARD_COUNTERS_FABRICS_H
#define RAILYARD_COUNTERS_FABRICS_H

enum { COUNTER_FABRICS = 6 };

/* The groups of NICs, in the order in which a node is searched for their devices. */
extern const char *const counter_fabrics[COUNTER_FABRICS];

/* Writes the path of a group's file, COUNTER_PATH_BYTES at most; a name with a slash is a path already. */
void counter_group_path(const char *name, char *path);

#endif
