/*
 * The results of a benchmark: series of raw samples, written as a JSON document (docs/formats.md, "Benchmark
 * output") and printed as a table (table.h).
 *
 * Leaves out: statistics in the document. Only the table has medians; the document has every sample.
 */
#pragma once

#include "lib/input/parse.h"
#include "lib/measure/sampling.h"
#include "lib/output/json.h"
#include "lib/ranks/coordinates.h"
#include "lib/ranks/evidence.h"

enum { LABELS_MAX = 12 };

struct label {
    const char *name;
    const char *text; /* NULL: the number */
    int64_t number;
};

enum better { BETTER_NEITHER, BETTER_LOWER, BETTER_HIGHER };

/* A figure of merit: its name, its unit as railyard/records/units.py spells it, and its better direction. */
struct fom {
    const char *name;
    const char *unit;
    enum better better;
};

struct series {
    struct fom fom;
    int label_count;
    struct label labels[LABELS_MAX];
    int count;
    double *samples;    /* NULL: not measured */
    const char *reason; /* why it was not measured */
    bool detail;        /* written to the document only */
};

struct series_list {
    int count;
    int room;
    struct series *series;
    int begun_count;
    int begun_room;
    double *begun_s; /* when each repeat began: seconds since 1970, of rank 0 */
};

struct document {
    const char *benchmark;
    void (*write_parameters)(struct json *json, const void *context); /* members of an object */
    const void *context;
    const struct evidence_list *evidence;
    const struct series_list *list;
    bool verified; /* whether the program checks its data; a document is written only if they are right */
};

/* Adds a label: a text, or where that is NULL a number. */
void series_label(struct series *series, const char *name, const char *text, int64_t number);

/* Adds a series; its samples belong to the list from then on. Aborts the run if its FOM has no unit. */
void series_add(struct series_list *list, struct series series);
void series_free(struct series_list *list);

/* Notes when the next repeat of all series begins (clock_date_s); a document then has
 * `reported.sample_begun_s`.
 */
void series_begin_repeat(struct series_list *list, double date_s);

/* The same with a copy of `series.count` samples; and with a single sample. */
void series_add_copy(struct series_list *list, struct series series, const double *samples);
void series_add_one(struct series_list *list, struct series series, double sample);

/* Members of an object: `mpi` with library, standard and number of ranks; `ranks` with where each ran, by
 * node. */
void output_mpi(struct json *json, int ranks);
void output_ranks(struct json *json, const struct evidence_list *list);

/* Collective. Sets a problem on rank 0 unless a file can be created there, so that a run does not fail at its
 * end. NULL is no file and no problem. */
void output_probe(const char *path, struct problem *problem);

/* On rank 0. Writes the document whole or not at all, with more members at its end (NULL: none); sets a
 * problem if that fails. */
typedef void output_members(struct json *json, const void *context);
void output_write(const char *path, const struct document *document, output_members *write_more,
                  struct problem *problem);

/* ---- parameters that several benchmarks write, each under one name everywhere ---- */

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
