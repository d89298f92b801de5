/*
 * The options of topobw.
 *
 * Leaves out: the contents of the coordinates file (lib/ranks/coordinates.h) and of the links file
 * (plan/linkrates.h).
 */
#ifndef RAILYARD_TOPOBW_CONFIG_H
#define RAILYARD_TOPOBW_CONFIG_H

#include "lib/input/options.h"
#include "topobw/run/stream.h"

enum routes { ROUTES_OFF, ROUTES_STRICT };

struct topobw_config {
    const char *coordinates;
    const char *links;
    double factor; /* 0: found from the data */
    struct stream_config stream;
    int repeats;
    int retests;
    double tolerance_percent;
    enum routes routes;
    double soak_s;           /* measure rounds for this long, and treat unstable links as bad */
    const char *rounds_file; /* where rank 0 writes each round; NULL: nowhere */
    const char *counters;
    const char *json;
};

extern const struct option_table topobw_options;

/* "off", "strict". */
const char *topobw_routes_name(enum routes routes);

#endif
