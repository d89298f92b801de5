/* Place the router's counters in a file for readers, or in memory only. */
#ifndef ROUTER_COUNTERS_FILE_H
#define ROUTER_COUNTERS_FILE_H

#include "description.h"

struct counters_header *counters_in_memory(const struct network *network, const struct link_name *names);

struct counters_header *counters_in_file(const char *path, const struct network *network,
                                         const struct link_name *names);

#endif
