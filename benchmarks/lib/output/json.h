/*
 * A JSON writer. It handles commas, nesting, escapes and numbers, so that callers never assemble text.
 *
 * Text that is not UTF-8 becomes U+FFFD; numbers that JSON cannot represent (infinities, NaN) become null.
 * Leaves out: reading JSON, and nesting deeper than JSON_DEPTH_MAX.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 16 };

struct json {
    FILE *file;
    int depth;
    bool filled[JSON_DEPTH_MAX]; /* whether this depth already has an element */
    bool keyed;                  /* a key was just written */
    bool one_line;               /* no line breaks: for files with a document a line */
};

struct json json_start(FILE *file);

void json_object(struct json *json);
void json_object_end(struct json *json);
void json_array(struct json *json);
void json_array_end(struct json *json);

void json_key(struct json *json, const char *key);
void json_text(struct json *json, const char *text); /* NULL: null */
void json_integer(struct json *json, int64_t value);
void json_unsigned(struct json *json, uint64_t value);
void json_double(struct json *json, double value); /* no longer than it must be, at most 12 digits */
void json_bool(struct json *json, bool value);

/* A key and its value, or the start of it. */
void json_key_text(struct json *json, const char *key, const char *text);
void json_key_integer(struct json *json, const char *key, int64_t value);
void json_key_unsigned(struct json *json, const char *key, uint64_t value);
void json_key_double(struct json *json, const char *key, double value);
void json_key_bool(struct json *json, const char *key, bool value);
void json_key_object(struct json *json, const char *key);
void json_key_array(struct json *json, const char *key);
