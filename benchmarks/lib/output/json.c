/* Writes JSON, one member per line near the top; see json.h. */
#include "lib/output/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 12, LINE_DEPTH = 2 }; /* members and elements down to this depth get a line each */

struct json json_start(FILE *file) {
    return (struct json){.file = file};
}

static void put(struct json *json, const char *text) {
    (void)fputs(text, json->file); /* the stream remembers errors; the caller checks ferror */
}

static void new_line(struct json *json) {
    if (json->depth <= LINE_DEPTH && !json->one_line)
        (void)fprintf(json->file, "\n%*s", 2 * json->depth, "");
}

/* Writes the separator before a key or an array element. */
static void separate(struct json *json) {
    bool *filled = &json->filled[json->depth];
    if (json->keyed) {
        json->keyed = false;
        return;
    }
    if (*filled)
        put(json, json->depth > LINE_DEPTH ? ", " : ",");
    if (json->depth > 0)
        new_line(json);
    *filled = true;
}

static void open_level(struct json *json, const char *bracket) {
    separate(json);
    put(json, bracket);
    json->depth++;
    json->filled[json->depth] = false;
}

static void close_level(struct json *json, const char *bracket) {
    bool filled = json->filled[json->depth];
    bool lines = json->depth <= LINE_DEPTH;
    json->depth--;
    if (filled && lines)
        new_line(json);
    put(json, bracket);
    if (json->depth == 0)
        put(json, "\n");
}

void json_object(struct json *json) {
    open_level(json, "{");
}

void json_object_end(struct json *json) {
    close_level(json, "}");
}

void json_array(struct json *json) {
    open_level(json, "[");
}

void json_array_end(struct json *json) {
    close_level(json, "]");
}

/* Bytes of the UTF-8 character at text, 0 if it is none. */
static int utf8_bytes(const unsigned char *text) {
    unsigned char lead = text[0];
    int bytes = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : 4;
    if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4)
        return 0;
    for (int i = 1; i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (lead == 0xe0 && text[1] < 0xa0) || (lead == 0xf0 && text[1] < 0x90);
    bool surrogate = lead == 0xed && text[1] > 0x9f;
    bool beyond = lead == 0xf4 && text[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : bytes;
}

static void put_string(struct json *json, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    put(json, "\"");
    while (*at) {
        int bytes = utf8_bytes(at);
        if (bytes == 0)
            put(json, "\\ufffd");
        else if (*at == '"' || *at == '\\')
            (void)fprintf(json->file, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            (void)fprintf(json->file, "\\u%04x", *at);
        else
            (void)fwrite(at, 1, (size_t)bytes, json->file);
        at += bytes ? bytes : 1;
    }
    put(json, "\"");
}

void json_key(struct json *json, const char *key) {
    separate(json);
    put_string(json, key);
    put(json, ": ");
    json->keyed = true;
}

void json_text(struct json *json, const char *text) {
    separate(json);
    if (text)
        put_string(json, text);
    else
        put(json, "null");
}

void json_integer(struct json *json, int64_t value) {
    separate(json);
    (void)fprintf(json->file, "%lld", (long long)value);
}

void json_unsigned(struct json *json, uint64_t value) {
    separate(json);
    (void)fprintf(json->file, "%llu", (unsigned long long)value);
}

void json_double(struct json *json, double value) {
    char text[40] = "null";
    separate(json);
    for (int digits = 6; isfinite(value) && digits <= DIGITS_MAX; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (!(strtod(text, NULL) < value) && !(strtod(text, NULL) > value))
            break;
    }
    put(json, text);
}

void json_bool(struct json *json, bool value) {
    separate(json);
    put(json, value ? "true" : "false");
}

void json_key_text(struct json *json, const char *key, const char *text) {
    json_key(json, key);
    json_text(json, text);
}

void json_key_integer(struct json *json, const char *key, int64_t value) {
    json_key(json, key);
    json_integer(json, value);
}

void json_key_unsigned(struct json *json, const char *key, uint64_t value) {
    json_key(json, key);
    json_unsigned(json, value);
}

void json_key_double(struct json *json, const char *key, double value) {
    json_key(json, key);
    json_double(json, value);
}

void json_key_bool(struct json *json, const char *key, bool value) {
    json_key(json, key);
    json_bool(json, value);
}

void json_key_object(struct json *json, const char *key) {
    json_key(json, key);
    json_object(json);
}

void json_key_array(struct json *json, const char *key) {
    json_key(json, key);
    json_array(json);
}
