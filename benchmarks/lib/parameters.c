/* Parameters that benchmarks share; see parameters.h. */
#include "lib/parameters.h"

#include <stddef.h>

static void write_sizes(struct json *json, const char *key, const size_t *values, int count) {
    json_key(json, key);
    json_array(json);
    for (int i = 0; i < count; i++)
        json_integer(json, (int64_t)values[i]);
    json_array_end(json);
}

void parameters_extents(struct json *json, const char *key, const struct extents *extents) {
    write_sizes(json, key, extents->length, extents->count);
}

void parameters_numbers(struct json *json, const char *key, const struct number_list *list) {
    write_sizes(json, key, list->value, list->count);
}

void parameters_integers(struct json *json, const char *key, const int *values, int count) {
    json_key(json, key);
    json_array(json);
    for (int i = 0; i < count; i++)
        json_integer(json, values[i]);
    json_array_end(json);
}

void parameters_torus(struct json *json, const char *path, const struct coordinates *coordinates) {
    json_key_text(json, "coordinates", path);
    parameters_integers(json, "torus", coordinates->extents, path ? TORUS_DIMENSIONS : 0);
}

void parameters_sampling(struct json *json, const struct sampling *sampling) {
    json_key_integer(json, "repeats", sampling->repeats);
    json_key_integer(json, "warmups", sampling->warmups);
    json_key(json, "max_time_per_point_s");
    json_double(json, sampling->point_time_s);
    json_key(json, "seed");
    json_unsigned(json, sampling->seed);
}

static void write_tests(struct json *json, const bool *tests) {
    json_key(json, "tests");
    json_array(json);
    for (int test = 0; test < LANE_TESTS; test++)
        if (tests[test])
            json_text(json, lane_tests()[test].name);
    json_array_end(json);
}

void parameters_lane(struct json *json, const struct lane_config *config) {
    parameters_numbers(json, "sizes_bytes", &config->points.sizes);
    write_tests(json, config->points.tests);
    json_key_integer(json, "window", config->window);
    json_key_integer(json, "batch", config->batch);
    parameters_sampling(json, &config->sampling);
}
