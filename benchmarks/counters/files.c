/* Counters with a file each; see source.h. */
#include "counters/source.h"

#include "lib/check.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_BYTES = 64 };

static const char router_mark[] = "{router}";

/* Root and pattern with {router} replaced by r0-1-1. */
static void full_pattern(const char *root, const char *devices, const struct counter_site *site, char *path) {
    char router[SITE_NAME_BYTES] = "";
    const char *mark = strstr(devices, router_mark);
    int before = mark ? (int)(mark - devices) : (int)strlen(devices);
    if (mark)
        (void)snprintf(router, sizeof router, "r%d-%d-%d", site->coordinate[0], site->coordinate[1],
                       site->coordinate[2]);
    (void)snprintf(path, COUNTER_PATH_BYTES, "%s/%.*s%s%s", root, before, devices, router,
                   mark ? mark + sizeof router_mark - 1 : "");
}

/* What the stars of a pattern stand for in a path that it matches, joined by "/". Parts are compared one by
 * one. */
static void device_name(const char *pattern, const char *path, char *name) {
    size_t used = 0;
    name[0] = '\0';
    while (*pattern && *path) {
        size_t pattern_part = strcspn(pattern, "/");
        size_t path_part = strcspn(path, "/");
        if (memchr(pattern, '*', pattern_part) && used + path_part + 2 < LINK_TEXT_BYTES)
            used += (size_t)snprintf(name + used, LINK_TEXT_BYTES - used, "%s%.*s", used ? "/" : "",
                                     (int)path_part, path);
        pattern += pattern_part + strspn(pattern + pattern_part, "/");
        path += path_part + strspn(path + path_part, "/");
    }
}

/* Ports of a router are called after their direction: "x+" is the link X+, "h0" a host link. */
static void name_port(const struct counter_site *site, struct counter_link *link) {
    int at[3];
    int dimension = link->name[0] - 'x';
    int step = link->name[1] == '+' ? 1 : -1;
    if (!site->on_torus)
        return;
    memcpy(at, site->coordinate, sizeof at);
    if (strlen(link->name) == 2 && dimension >= 0 && dimension < 3 && strchr("+-", link->name[1])) {
        at[dimension] = (at[dimension] + step + site->extents[dimension]) % site->extents[dimension];
        link->name[0] = (char)toupper((unsigned char)link->name[0]);
    } else if (link->name[0] == 'h') {
        link->name[0] = 'H';
    }
    (void)snprintf(link->remote, sizeof link->remote, "(%d,%d,%d)", at[0], at[1], at[2]);
}

static void add_device(const char *folder, const char *name, const struct counter_site *site,
                       struct counter_links *links) {
    struct counter_link *link = &links->links[links->count];
    size_t bytes = strlen(folder) + 1;
    (void)snprintf(link->name, sizeof link->name, "%s", name);
    name_port(site, link);
    links->folders[links->count] = check_alloc(bytes, 1);
    memcpy(links->folders[links->count], folder, bytes);
    links->count++;
}

void counter_files_find(const struct counter_group *group, const char *root, const struct counter_site *site,
                        struct counter_links *links, struct problem *problem) {
    char pattern[COUNTER_PATH_BYTES];
    char name[LINK_TEXT_BYTES];
    glob_t found = {0};
    full_pattern(root, group->devices, site, pattern);
    int status = glob(pattern, 0, NULL, &found);
    size_t room = status == 0 ? found.gl_pathc : 0;
    links->links = check_alloc(room + 1, sizeof *links->links);
    links->folders = check_alloc(room + 1, sizeof *links->folders);
    for (size_t i = 0; i < room; i++) {
        device_name(pattern, found.gl_pathv[i], name);
        if (counter_group_wants(group, name))
            add_device(found.gl_pathv[i], name, site, links);
    }
    globfree(&found);
    if (links->count == 0)
        problem_set(problem, "counters of %s: no device %s", site->label, pattern);
}

static void cannot_read(const char *path, const char *why, struct problem *problem) {
    problem_set(problem, "counter %.900s: cannot be read: %s", path, why);
}

/* The number that the file begins with. */
static double read_value(const char *path, struct problem *problem) {
    char text[VALUE_BYTES] = "";
    char *end = NULL;
    FILE *file = fopen(path, "r");
    if (!file) {
        cannot_read(path, strerror(errno), problem);
        return 0;
    }
    size_t length = fread(text, 1, sizeof text - 1, file);
    if (ferror(file))
        cannot_read(path, strerror(errno), problem);
    (void)fclose(file);
    text[length] = '\0';
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || !strchr("@ \t\r\n", *end))
        cannot_read(path, "not a number", problem);
    return (double)value;
}

static void read_files(const struct counter_group *group, const struct counter_links *links, double *values,
                       struct problem *problem) {
    char path[COUNTER_PATH_BYTES];
    for (int link = 0; link < links->count; link++)
        for (int counter = 0; counter < group->counter_count; counter++) {
            (void)snprintf(path, sizeof path, "%s/%s", links->folders[link], group->counters[counter].path);
            *values++ = read_value(path, problem);
        }
}

void counter_source_read(const struct counter_group *group, const struct counter_links *links, double *values,
                         struct problem *problem) {
    if (group->source == SOURCE_GPCD)
        counter_gemini_read(group, links, values, problem);
    else
        read_files(group, links, values, problem);
}

void counter_links_free(struct counter_links *links) {
    for (int link = 0; links->folders && link < links->count; link++)
        free(links->folders[link]);
    free(links->folders);
    free(links->links);
    free(links->file);
}
