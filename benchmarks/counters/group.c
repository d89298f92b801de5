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

static double read_number(struct reader *reader) {
    char *end = NULL;
    double value = strtod(reader->at, &end);
    reader->at = end;
    return value;
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
    if (isdigit((unsigned char)*reader->at))
        return read_number(reader);
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

/* One keyword's reader: true when the rest of its line was good. */
typedef bool line_reader(char *rest, struct counter_group *group);

static bool at_end(char **rest) {
    return textfile_word(rest) == NULL;
}

/* Returns the rest of the line without leading blanks; NULL if it is empty. */
static const char *rest_of_line(char *rest) {
    rest += strspn(rest, " \t");
    return *rest ? rest : NULL;
}

static bool read_summary(char *rest, struct counter_group *group) {
    group->summary = rest_of_line(rest);
    return group->summary != NULL;
}

static bool read_source(char *rest, struct counter_group *group) {
    const char *word = textfile_word(&rest);
    bool gpcd = word && strcmp(word, "gpcd") == 0;
    group->source = gpcd ? SOURCE_GPCD : SOURCE_FILES;
    return word && (gpcd || strcmp(word, "files") == 0) && at_end(&rest);
}

static bool read_leader(char *rest, struct counter_group *group) {
    const char *word = textfile_word(&rest);
    group->by_router = word && strcmp(word, "router") == 0;
    return word && (group->by_router || strcmp(word, "node") == 0) && at_end(&rest);
}

static bool read_devices(char *rest, struct counter_group *group) {
    group->devices = textfile_word(&rest);
    return group->devices && at_end(&rest);
}

static bool read_patterns(char *rest, const char **patterns, int *count) {
    const char *word;
    while ((word = textfile_word(&rest)) != NULL) {
        if (*count == GROUP_PATTERNS_MAX)
            return false;
        patterns[(*count)++] = word;
    }
    return *count > 0;
}

static bool read_only(char *rest, struct counter_group *group) {
    return read_patterns(rest, group->only, &group->only_count);
}

static bool read_except(char *rest, struct counter_group *group) {
    return read_patterns(rest, group->except, &group->except_count);
}

static bool read_tiles(char *rest, struct counter_group *group) {
    const char *word = textfile_word(&rest);
    return word && parse_count(word, &group->tiles) && at_end(&rest);
}

static bool read_class(char *rest, struct counter_group *group) {
    struct group_class *class = &group->classes[group->class_count];
    if (group->class_count == GROUP_CLASSES_MAX)
        return false;
    class->name = textfile_word(&rest);
    const char *rate = textfile_word(&rest);
    group->class_count++;
    return rate && parse_positive(rate, &class->rate_gbyte_s) && at_end(&rest);
}

static bool read_condition(char *rest, struct counter_group *group) {
    struct group_condition *condition = &group->conditions[group->condition_count];
    if (group->condition_count == GROUP_CONDITIONS_MAX)
        return false;
    condition->path = textfile_word(&rest);
    condition->pattern = textfile_word(&rest);
    group->condition_count++;
    return condition->pattern && at_end(&rest);
}

static bool add_counter(char *rest, bool optional, struct counter_group *group) {
    struct group_counter *counter = &group->counters[group->counter_count];
    if (group->counter_count == GROUP_COUNTERS_MAX)
        return false;
    counter->optional = optional;
    counter->name = textfile_word(&rest);
    counter->unit = textfile_word(&rest);
    counter->path = textfile_word(&rest);
    group->counter_count++;
    return counter->path && at_end(&rest);
}

static bool read_counter(char *rest, struct counter_group *group) {
    return add_counter(rest, false, group);
}

static bool read_optional(char *rest, struct counter_group *group) {
    return add_counter(rest, true, group);
}

static bool read_metric(char *rest, struct counter_group *group) {
    struct group_metric *metric = &group->metrics[group->metric_count];
    double value = 0;
    if (group->metric_count == GROUP_METRICS_MAX)
        return false;
    metric->name = textfile_word(&rest);
    metric->unit = textfile_word(&rest);
    metric->formula = rest_of_line(rest);
    group->metric_count++;
    return metric->unit && metric->formula && evaluate(metric->formula, group, NULL, &value);
}

static int index_of(const struct counter_group *group, const char *name) {
    for (int i = 0; i < group->counter_count; i++)
        if (strcmp(group->counters[i].name, name) == 0)
            return i;
    return -1;
}

static bool add_events(char *rest, int kind, struct counter_group *group) {
    char *word;
    while ((word = textfile_word(&rest)) != NULL) {
        struct group_event *event = &group->events[group->event_count];
        char *full = strchr(word, ':');
        if (group->event_count == GROUP_EVENTS_MAX)
            return false;
        if (full)
            *full++ = '\0';
        event->counter = index_of(group, word);
        event->kind = kind;
        event->full = full ? strtoull(full, NULL, 10) : 0;
        if (event->counter < 0 || (full && event->full == 0))
            return false;
        group->event_count++;
    }
    return true;
}

static bool read_events(char *rest, struct counter_group *group) {
    return add_events(rest, EVENT_FAULT, group);
}

static bool read_states(char *rest, struct counter_group *group) {
    return add_events(rest, EVENT_STATE, group);
}

static bool read_congestion(char *rest, struct counter_group *group) {
    return add_events(rest, EVENT_CONGESTION, group);
}

static bool read_unreadable(char *rest, struct counter_group *group) {
    struct group_unreadable *unreadable = &group->unreadable[group->unreadable_count];
    if (group->unreadable_count == GROUP_UNREADABLE_MAX)
        return false;
    unreadable->name = textfile_word(&rest);
    unreadable->reason = rest_of_line(rest);
    group->unreadable_count++;
    return unreadable->name && unreadable->reason;
}

static const struct {
    const char *keyword;
    line_reader *read;
    const char *valid;
} keywords[] = {
    {"SUMMARY", read_summary, "SUMMARY text"},
    {"SOURCE", read_source, "SOURCE files or SOURCE gpcd"},
    {"LEADER", read_leader, "LEADER node or LEADER router"},
    {"DEVICES", read_devices, "DEVICES path"},
    {"ONLY", read_only, "ONLY and up to 8 patterns"},
    {"EXCEPT", read_except, "EXCEPT and up to 8 patterns"},
    {"TILES", read_tiles, "TILES count"},
    {"CLASS", read_class, "CLASS name rate, up to 8 of them, rate in GB/s"},
    {"WHEN", read_condition, "WHEN path pattern, up to 4 of them"},
    {"COUNTER", read_counter, "COUNTER name unit path, up to 48 of them"},
    {"OPTIONAL", read_optional, "OPTIONAL name unit path, up to 48 of them and of COUNTER"},
    {"EVENTS", read_events, "EVENTS and names of counters above, NAME or NAME:FULL, up to 32 in all"},
    {"CONGESTION", read_congestion, "CONGESTION and names of counters above, up to 32 in all with EVENTS"},
    {"STATES", read_states, "STATES and names of counters above, up to 32 in all with EVENTS"},
    {"UNREADABLE", read_unreadable, "UNREADABLE name reason, up to 8 of them"},
    {"METRIC", read_metric, "METRIC name unit formula of counters named above, up to 32 of them"},
};

static void read_line(const char *path, int number, char *line, struct counter_group *group,
                      struct problem *problem) {
    char *rest = line;
    const char *keyword = textfile_word(&rest);
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (strcmp(keywords[i].keyword, keyword) == 0) {
            if (!keywords[i].read(rest, group))
                problem_set(problem, "counter group %s: line %d: not valid; expected %s", path, number,
                            keywords[i].valid);
            return;
        }
    problem_set(problem, "counter group %s: line %d: %s is no keyword of a counter group", path, number,
                keyword);
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
