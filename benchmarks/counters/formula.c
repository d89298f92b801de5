/* A recursive-descent evaluator; see formula.h. */
#include "counters/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *at;
    int depth;
    bool good;
    formula_lookup *lookup;
    const void *context;
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
    double value = NAN;
    while (isalnum((unsigned char)*reader->at) || *reader->at == '_')
        reader->at++;
    if (!reader->lookup(name, (size_t)(reader->at - name), &value, reader->context))
        return fail(reader);
    return value;
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

bool formula_evaluate(const char *text, formula_lookup *lookup, const void *context, double *value) {
    struct reader reader = {.at = text, .good = true, .lookup = lookup, .context = context};
    *value = read_sum(&reader);
    skip_blanks(&reader);
    return reader.good && *reader.at == '\0';
}
