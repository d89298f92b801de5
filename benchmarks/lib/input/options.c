/* Reads a table of options and explains it; see options.h. */
#include "lib/input/options.h"

#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALID_BYTES = 512, CHOICES_MAX = 32 };

static int find_row(const struct option_table *table, const char *name, size_t length) {
    for (int i = 0; i < table->count; i++)
        if (strlen(table->rows[i].name) == length && strncmp(table->rows[i].name, name, length) == 0)
            return i;
    return -1;
}

bool options_given(const struct options_given *given, const char *name) {
    int row = find_row(given->table, name, strlen(name));
    return row >= 0 && (given->rows >> row & 1u);
}

const char *options_text(const struct option_table *table, const void *configuration, const char *name) {
    const char *text = NULL;
    int row = find_row(table, name, strlen(name));
    if (row >= 0)
        memcpy(&text, (const char *)configuration + table->rows[row].offset, sizeof text);
    return text;
}

int options_status(enum options_outcome outcome) {
    return outcome == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
}

static bool parse_value(const struct option_row *row, const char *text, void *configuration) {
    void *field = (char *)configuration + row->offset;
    return row->choose ? row->choose(text, &row->names, field) : row->parse(text, field);
}

/* Reads the option at argv[at]; returns how many arguments it took. */
static int read_one(const struct option_table *table, char **argv, int index, void *configuration,
                    unsigned *given, struct problem *problem) {
    const char *argument = argv[index];
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    int row = strncmp(argument, "--", 2) == 0 ? find_row(table, name, length) : -1;
    bool joined = row >= 0 && name[length] == '=';
    if (row < 0) {
        char names[VALID_BYTES] = "--help";
        size_t used = strlen(names);
        for (int i = 0; i < table->count && used < sizeof names; i++)
            used += (size_t)snprintf(names + used, sizeof names - used, " --%s", table->rows[i].name);
        problem_set(problem, "%s: no such option; expected %s", argument, names);
        return 1;
    }
    *given |= 1u << row;
    const char *value = joined ? name + length + 1 : argv[index + 1];
    if (!value)
        problem_set(problem, "--%s: a value is missing; expected %s", table->rows[row].name,
                    table->rows[row].valid);
    else if (!parse_value(&table->rows[row], value, configuration))
        problem_set(problem, "--%s %s: not valid; expected %s", table->rows[row].name, value,
                    table->rows[row].valid);
    return joined ? 1 : 2;
}

/* Collective. False after the help was printed, or the first error of any rank. */
static bool read_all(const struct option_table *table, int argc, char **argv, void *configuration,
                     unsigned *given, enum options_outcome *outcome) {
    struct problem problem = {0};
    int help = 0;
    int any_help = 0;
    for (int i = 0; i < table->count; i++) {
        const struct option_row *row = &table->rows[i];
        if (row->fallback && !parse_value(row, row->fallback, configuration))
            problem_set(&problem, "--%s %s: invalid default", row->name, row->fallback);
    }
    for (int index = 1; index < argc && !problem_is_set(&problem) && !help;) {
        help = strcmp(argv[index], "--help") == 0 || strcmp(argv[index], "-h") == 0;
        index += help ? 1 : read_one(table, argv, index, configuration, given, &problem);
    }
    MPI_CHECK(MPI_Allreduce(&help, &any_help, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (any_help && check_rank() == 0) {
        (void)printf("%s %s: %s\n\nUsage: mpirun ... %s [--OPTION VALUE]...\n\n", table->program,
                     RAILYARD_VERSION, table->purpose, table->program);
        for (int i = 0; i < table->count; i++) {
            char head[64];
            (void)snprintf(head, sizeof head, "--%s %s", table->rows[i].name, table->rows[i].unit);
            (void)printf("  %-30s %s\n", head, table->rows[i].help);
            (void)printf("  %-30s valid: %s; default: %s\n", "", table->rows[i].valid,
                         table->rows[i].fallback ? table->rows[i].fallback : table->rows[i].absent);
        }
        (void)printf("  %-30s this text\n\n", "--help");
        (void)printf(
            "Exit status: 0 good, %d data wrong, %d usage, %d output not written, %d MPI failed%s.\n",
            EXIT_DATA_WRONG, EXIT_USAGE, EXIT_NOT_WRITTEN, EXIT_MPI_FAILED,
            table->more_statuses ? table->more_statuses : "");
        (void)fflush(stdout);
    }
    *outcome = any_help ? OPTIONS_HELP : OPTIONS_WRONG;
    return !any_help && !problem_agree(&problem, table->program);
}

enum options_outcome options_read(const struct option_table *table, int argc, char **argv,
                                  void *configuration) {
    struct problem problem = {0};
    struct options_given given = {.table = table};
    enum options_outcome outcome = OPTIONS_RUN;
    if (!read_all(table, argc, argv, configuration, &given.rows, &outcome))
        return outcome;
    if (table->settle)
        table->settle(configuration, &given, &problem);
    return problem_agree(&problem, table->program) ? OPTIONS_WRONG : OPTIONS_RUN;
}

const char *const option_clocks[2] = {"host", "pings"};

static const void *entry_at(const struct option_names *names, int index) {
    return (const char *)names->table + (size_t)index * names->stride;
}

/* Returns the index of a name; -1 for another one. */
static int find_name(const char *text, const struct option_names *names) {
    for (int i = 0; i < names->count; i++)
        if (strcmp(text, *(const char *const *)entry_at(names, i)) == 0)
            return i;
    return -1;
}

bool options_one(const char *text, const struct option_names *names, void *field) {
    int chosen = find_name(text, names);
    if (chosen >= 0)
        memcpy(field, &chosen, sizeof chosen); /* an enum has the size of an int */
    return chosen >= 0;
}

bool options_either(const char *text, const struct option_names *names, void *field) {
    int chosen = find_name(text, names);
    if (chosen >= 0)
        *(bool *)field = chosen == 1;
    return chosen >= 0;
}

bool options_row(const char *text, const struct option_names *names, void *field) {
    int chosen = find_name(text, names);
    if (chosen >= 0)
        *(const void **)field = entry_at(names, chosen);
    return chosen >= 0;
}

bool options_some(const char *text, const struct option_names *names, void *field) {
    bool read[CHOICES_MAX] = {false};
    char name[32];
    while (parse_next(&text, ',', name, sizeof name)) {
        int index = find_name(name, names);
        if (index < 0)
            return false;
        read[index] = true;
    }
    memcpy(field, read, (size_t)names->count * sizeof *read);
    return true;
}
