/* Where the router's counters are: in a file for others, or in memory alone. */
#ifndef ROUTER_COUNTERS_FILE_H
#define ROUTER_COUNTERS_FILE_H

#include "description.h"

struct counters_header *counters_in_memory(const struct network *network, const struct link_name *names);

struct counters_header *counters_in_file(const char *path, const struct network *network,
                                         const struct link_name *names);

#endif
