/* Parameters that benchmarks share; see parameters.h. */
#include "lib/output/parameters.h"

#include <stddef.h>

static void write_sizes(struct json *json, const char *key, const size_t *values, int count) {
    json_key_array(json, key);
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
    json_key_array(json, key);
    for (int i = 0; i < count; i++)
        json_integer(json, values[i]);
    json_array_end(json);
}

void parameters_torus(struct json *json, const char *path, const struct coordinates *coordinates) {
    json_key_text(json, "coordinates", path);
    parameters_integers(json, "torus", coordinates->extents, path ? TORUS_DIMENSIONS : 0);
}

void parameters_times(struct json *json, const struct sampling *sampling) {
    json_key_double(json, "warmup_time_s", sampling->warmup_s);
    json_key_double(json, "min_time_per_point_s", sampling->min_time_s);
}

void parameters_sampling(struct json *json, const struct sampling *sampling) {
    json_key_integer(json, "repeats", sampling->repeats);
    json_key_integer(json, "warmups", sampling->warmups);
    json_key_double(json, "max_time_per_point_s", sampling->point_time_s);
    json_key_unsigned(json, "seed", sampling->seed);
}
