/* Parses counter groups; see group.h. */
#include "counters/group.h"

#include "lib/input/parse.h"
#include "lib/input/textfile.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- formulas: numbers, counters, + - * / and parentheses, with the usual precedence ----
 * Leaves out: signs before numbers, functions, and nesting deeper than FORMULA_DEPTH_MAX. */

enum { FORMULA_DEPTH_MAX = 32 };

struct reader {
    const char *at;
    int depth;
    bool good;
    const struct counter_group *group;
    const double *counters; /* NULL: each is 1 */
};

static double read_sum(struct reader *reader);

static void skip_blanks(struct reader *reader) {
    reader->at += strspn(reader->at, " \t");
}

static bool take(struct reader *reader, char symbol) {
    skip_blanks(reader);
    if (*reader->at != symbol)
        return false;
    reader->at++;
    return true;
}

static double fail(struct reader *reader) {
    reader->good = false;
    return NAN;
}

static double read_name(struct reader *reader) {
    const char *name = reader->at;
    while (isalnum((unsigned char)*reader->at) || *reader->at == '_')
        reader->at++;
    /* The value of the counter with a name of `length` characters, which is not terminated. */
    size_t length = (size_t)(reader->at - name);
    const struct counter_group *group = reader->group;
    for (int i = 0; i < group->counter_count; i++)
        if (strlen(group->counters[i].name) == length && strncmp(group->counters[i].name, name, length) == 0)
            return !reader->counters ? 1 : isfinite(reader->counters[i]) ? reader->counters[i] : (double)NAN;
    return fail(reader);
}

static double read_parentheses(struct reader *reader) {
    double value = NAN;
    if (++reader->depth > FORMULA_DEPTH_MAX)
        return fail(reader);
    value = read_sum(reader);
    reader->depth--;
    return take(reader, ')') ? value : fail(reader);
}

static double read_value(struct reader *reader) {
    if (take(reader, '('))
        return read_parentheses(reader);
    if (isdigit((unsigned char)*reader->at)) {
        char *end = NULL;
        double value = strtod(reader->at, &end);
        reader->at = end;
        return value;
    }
    if (isalpha((unsigned char)*reader->at))
        return read_name(reader);
    return fail(reader);
}

static double divide(double left, double right) {
    return right == 0 ? (double)NAN : left / right;
}

static double read_product(struct reader *reader) {
    double value = read_value(reader);
    while (reader->good)
        if (take(reader, '*'))
            value *= read_value(reader);
        else if (take(reader, '/'))
            value = divide(value, read_value(reader));
        else
            break;
    return value;
}

static double read_sum(struct reader *reader) {
    double value = read_product(reader);
    while (reader->good)
        if (take(reader, '+'))
            value += read_product(reader);
        else if (take(reader, '-'))
            value -= read_product(reader);
        else
            break;
    return value;
}

/* Computes the formula; false if it is malformed or has an unknown name. A division by 0 is NaN. */
static bool evaluate(const char *text, const struct counter_group *group, const double *counters,
                     double *value) {
    struct reader reader = {.at = text, .good = true, .group = group, .counters = counters};
    *value = read_sum(&reader);
    skip_blanks(&reader);
    return reader.good && *reader.at == '\0';
}

/* ---- lines ---- */

/* A line behind its keyword: its first words, and what follows them. */
struct line {
    int kind; /* the keyword's own, as in its row */
    const char *word[3];
    char *rest; /* without leading blanks */
};

/* One keyword's reader: true when its line was good. */
typedef bool line_reader(struct line *line, struct counter_group *group);

static bool read_summary(struct line *line, struct counter_group *group) {
    group->summary = line->rest;
    return true;
}

static bool read_source(struct line *line, struct counter_group *group) {
    bool gpcd = strcmp(line->word[0], "gpcd") == 0;
    group->source = gpcd ? SOURCE_GPCD : SOURCE_FILES;
    return gpcd || strcmp(line->word[0], "files") == 0;
}

static bool read_leader(struct line *line, struct counter_group *group) {
    group->by_router = strcmp(line->word[0], "router") == 0;
    return group->by_router || strcmp(line->word[0], "node") == 0;
}

static bool read_devices(struct line *line, struct counter_group *group) {
    group->devices = line->word[0];
    return true;
}

/* `kind`: whether they are those of EXCEPT. */
static bool read_patterns(struct line *line, struct counter_group *group) {
    const char **patterns = line->kind ? group->except : group->only;
    int *count = line->kind ? &group->except_count : &group->only_count;
    const char *word;
    while ((word = textfile_word(&line->rest)) != NULL) {
        if (*count == GROUP_PATTERNS_MAX)
            return false;
        patterns[(*count)++] = word;
    }
    return true;
}

static bool read_tiles(struct line *line, struct counter_group *group) {
    return parse_count(line->word[0], &group->tiles);
}

static bool read_class(struct line *line, struct counter_group *group) {
    double rate_gbyte_s = 0;
    if (group->class_count == GROUP_CLASSES_MAX || !parse_positive(line->word[1], &rate_gbyte_s))
        return false;
    group->classes[group->class_count++] = (struct group_class){line->word[0], rate_gbyte_s};
    return true;
}

static bool read_condition(struct line *line, struct counter_group *group) {
    if (group->condition_count == GROUP_CONDITIONS_MAX)
        return false;
    group->conditions[group->condition_count++] = (struct group_condition){line->word[0], line->word[1]};
    return true;
}

/* `kind`: whether some drivers do not have it. */
static bool read_counter(struct line *line, struct counter_group *group) {
    if (group->counter_count == GROUP_COUNTERS_MAX)
        return false;
    group->counters[group->counter_count++] =
        (struct group_counter){line->word[0], line->word[1], line->word[2], line->kind};
    return true;
}

static bool read_metric(struct line *line, struct counter_group *group) {
    double value = 0;
    if (group->metric_count == GROUP_METRICS_MAX)
        return false;
    group->metrics[group->metric_count++] = (struct group_metric){line->word[0], line->word[1], line->rest};
    return evaluate(line->rest, group, NULL, &value);
}

static bool read_events(struct line *line, struct counter_group *group) {
    char *word;
    while ((word = textfile_word(&line->rest)) != NULL) {
        struct group_event *event = &group->events[group->event_count];
        char *full = strchr(word, ':');
        if (group->event_count == GROUP_EVENTS_MAX)
            return false;
        if (full)
            *full++ = '\0';
        event->counter = 0;
        while (event->counter < group->counter_count &&
               strcmp(group->counters[event->counter].name, word) != 0)
            event->counter++;
        event->kind = line->kind;
        event->full = full ? strtoull(full, NULL, 10) : 0;
        if (event->counter == group->counter_count || (full && event->full == 0))
            return false;
        group->event_count++;
    }
    return true;
}

static bool read_unreadable(struct line *line, struct counter_group *group) {
    if (group->unreadable_count == GROUP_UNREADABLE_MAX)
        return false;
    group->unreadable[group->unreadable_count++] = (struct group_unreadable){line->word[0], line->rest};
    return true;
}

static const struct keyword {
    const char *name;
    int words; /* before the rest */
    enum { END, MORE, ANY } rest;
    line_reader *read;
    int kind;
    const char *valid;
} keywords[] = {
    {"SUMMARY", 0, MORE, read_summary, 0, "SUMMARY text"},
    {"SOURCE", 1, END, read_source, 0, "SOURCE files or SOURCE gpcd"},
    {"LEADER", 1, END, read_leader, 0, "LEADER node or LEADER router"},
    {"DEVICES", 1, END, read_devices, 0, "DEVICES path"},
    {"ONLY", 0, MORE, read_patterns, false, "ONLY and up to 8 patterns"},
    {"EXCEPT", 0, MORE, read_patterns, true, "EXCEPT and up to 8 patterns"},
    {"TILES", 1, END, read_tiles, 0, "TILES count"},
    {"CLASS", 2, END, read_class, 0, "CLASS name rate, up to 8 of them, rate in GB/s"},
    {"WHEN", 2, END, read_condition, 0, "WHEN path pattern, up to 4 of them"},
    {"COUNTER", 3, END, read_counter, false, "COUNTER name unit path, up to 48 of them"},
    {"OPTIONAL", 3, END, read_counter, true, "OPTIONAL name unit path, up to 48 of them and of COUNTER"},
    {"EVENTS", 0, ANY, read_events, EVENT_FAULT,
     "EVENTS and names of counters above, NAME or NAME:FULL, up to 32 in all"},
    {"CONGESTION", 0, ANY, read_events, EVENT_CONGESTION,
     "CONGESTION and names of counters above, up to 32 in all with EVENTS"},
    {"STATES", 0, ANY, read_events, EVENT_STATE,
     "STATES and names of counters above, up to 32 in all with EVENTS"},
    {"UNREADABLE", 1, MORE, read_unreadable, 0, "UNREADABLE name reason, up to 8 of them"},
    {"METRIC", 2, MORE, read_metric, 0, "METRIC name unit formula of counters named above, up to 32 of them"},
};

static void read_line(const char *path, int number, char *rest, struct counter_group *group,
                      struct problem *problem) {
    const char *name = textfile_word(&rest);
    const struct keyword *keyword = NULL;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords && !keyword; i++)
        keyword = strcmp(keywords[i].name, name) == 0 ? &keywords[i] : NULL;
    if (!keyword) {
        problem_set(problem, "counter group %s: line %d: %s is no keyword of a counter group", path, number,
                    name);
        return;
    }
    struct line line = {.kind = keyword->kind};
    bool good = true;
    for (int i = 0; i < keyword->words; i++) {
        line.word[i] = textfile_word(&rest);
        good = good && line.word[i];
    }
    line.rest = rest + strspn(rest, " \t");
    if (!good || (*line.rest ? keyword->rest == END : keyword->rest == MORE) || !keyword->read(&line, group))
        problem_set(problem, "counter group %s: line %d: not valid; expected %s", path, number,
                    keyword->valid);
}

void counter_group_parse(const char *path, char *text, struct counter_group *group, struct problem *problem) {
    char *rest = text;
    char *line;
    int number = 0;
    *group = (struct counter_group){.text = text};
    while (!problem_is_set(problem) && (line = textfile_line(&rest, &number)) != NULL)
        read_line(path, number, line, group, problem);
    if (!group->devices || group->counter_count == 0)
        problem_set(problem, "counter group %s: no line DEVICES, or no line COUNTER", path);
}

static bool any_matches(const char *const *patterns, int count, const char *device) {
    for (int i = 0; i < count; i++)
        if (fnmatch(patterns[i], device, 0) == 0)
            return true;
    return false;
}

bool counter_group_wants(const struct counter_group *group, const char *device) {
    return !any_matches(group->except, group->except_count, device) &&
           (group->only_count == 0 || any_matches(group->only, group->only_count, device));
}

int counter_group_metric(const struct counter_group *group, const char *name) {
    for (int i = 0; i < group->metric_count; i++)
        if (strcmp(group->metrics[i].name, name) == 0)
            return i;
    return -1;
}

double counter_group_value(const struct counter_group *group, int metric, const double *counters) {
    double value = 0;
    bool good = evaluate(group->metrics[metric].formula, group, counters, &value);
    return good ? value : (double)NAN;
}

void counter_group_totals(const struct counter_group *group, int links, const double *counters,
                          double *totals) {
    for (int counter = 0; counter < group->counter_count; counter++) {
        totals[counter] = (double)INFINITY;
        for (int link = 0; link < links; link++) {
            double value = counters[(size_t)link * (size_t)group->counter_count + (size_t)counter];
            if (!isinf(value))
                totals[counter] = isinf(totals[counter]) ? value : totals[counter] + value;
        }
    }
}

void counter_group_free(struct counter_group *group) {
    free(group->text);
    group->text = NULL;
}
