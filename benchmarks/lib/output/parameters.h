/*
 * Parameters that several benchmarks write into their JSON documents, each under one name everywhere.
 *
 * Leaves out: what only one benchmark has.
 */
#ifndef RAILYARD_LIB_OUTPUT_PARAMETERS_H
#define RAILYARD_LIB_OUTPUT_PARAMETERS_H

#include "lib/input/parse.h"
#include "lib/measure/sampling.h"
#include "lib/output/json.h"
#include "lib/ranks/coordinates.h"

/* A key and an array of numbers. */
void parameters_extents(struct json *json, const char *key, const struct extents *extents);
void parameters_numbers(struct json *json, const char *key, const struct number_list *list);
void parameters_integers(struct json *json, const char *key, const int *values, int count);

/* "coordinates": the path or null, and "torus": its extents, empty without coordinates. */
void parameters_torus(struct json *json, const char *path, const struct coordinates *coordinates);

/* "repeats", "warmups", "seed", and "max_time_per_point_s". */
void parameters_sampling(struct json *json, const struct sampling *sampling);

/* "warmup_time_s" and "min_time_per_point_s". */
void parameters_times(struct json *json, const struct sampling *sampling);

#endif
