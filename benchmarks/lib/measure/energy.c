/* Reads the energy that a node counts; see energy.h. */
#include "lib/measure/energy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZONES = 16, PARTS = 8, LINE_BYTES = 128 };

static const double microjoule = 1e-6;

/* The counters of a Cray: file and counter name. */
struct cray {
    const char *file;
    const char *name;
};

static const struct cray crays[] = {
    {"energy", "node"},          {"cpu_energy", "cpu"},       {"memory_energy", "memory"},
    {"accel0_energy", "accel0"}, {"accel1_energy", "accel1"}, {"accel2_energy", "accel2"},
    {"accel3_energy", "accel3"},
};

static bool read_line(const char *path, char line[LINE_BYTES]) {
    FILE *file = fopen(path, "r");
    bool is_read = file && fgets(line, LINE_BYTES, file);
    if (file)
        (void)fclose(file);
    if (is_read)
        line[strcspn(line, "\n")] = '\0';
    return is_read;
}

/* The number that a file begins with. */
static bool read_number(const char *path, double *number) {
    char line[LINE_BYTES];
    char *end = line;
    if (!read_line(path, line))
        return false;
    *number = (double)strtoull(line, &end, 10);
    return end != line && line[0] != '-';
}

static void add(struct energy *energy, const struct energy_counter *found) {
    struct energy_counter *counter = &energy->counters[energy->count];
    if (energy->count == ENERGY_COUNTERS_MAX)
        return;
    *counter = *found;
    energy->count += read_number(counter->path, &counter->first);
}

/* A zone of powercap; of its parts only the memory is no part of the package. */
static void add_zone(struct energy *energy, const char *root, const char *zone, bool is_part) {
    struct energy_counter counter = {.joules_of_one = microjoule};
    char folder[ENERGY_PATH_BYTES - LINE_BYTES];
    char path[ENERGY_PATH_BYTES];
    char name[LINE_BYTES];
    (void)snprintf(folder, sizeof folder, "%s/sys/class/powercap/%s", root, zone);
    (void)snprintf(path, sizeof path, "%s/name", folder);
    if (!read_line(path, name) || (is_part && strcmp(name, "dram") != 0))
        return;
    (void)snprintf(counter.name, sizeof counter.name, "%.31s", name);
    (void)snprintf(path, sizeof path, "%s/max_energy_range_uj", folder);
    if (!read_number(path, &counter.range))
        counter.range = 0;
    (void)snprintf(counter.path, sizeof counter.path, "%s/energy_uj", folder);
    add(energy, &counter);
}

void energy_begin(const char *root, struct energy *energy) {
    energy->count = 0;
    char zone[LINE_BYTES];
    for (int i = 0; i < ZONES; i++) {
        (void)snprintf(zone, sizeof zone, "intel-rapl:%d", i);
        add_zone(energy, root, zone, false);
        for (int part = 0; part < PARTS; part++) {
            (void)snprintf(zone, sizeof zone, "intel-rapl:%d:%d", i, part);
            add_zone(energy, root, zone, true);
        }
    }
    for (size_t i = 0; i < sizeof crays / sizeof *crays; i++) {
        struct energy_counter counter = {.joules_of_one = 1};
        (void)snprintf(counter.name, sizeof counter.name, "%s", crays[i].name);
        (void)snprintf(counter.path, sizeof counter.path, "%.400s/sys/cray/pm_counters/%s", root,
                       crays[i].file);
        add(energy, &counter);
    }
}

bool energy_joules(const struct energy_counter *counter, double *joules) {
    double now = 0;
    if (!read_number(counter->path, &now) || (now < counter->first && counter->range <= 0))
        return false;
    if (now < counter->first)
        now += counter->range;
    *joules = (now - counter->first) * counter->joules_of_one;
    return true;
}
