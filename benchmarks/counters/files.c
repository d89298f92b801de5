/* Counters with a file each; see source.h. */
#include "counters/source.h"

#include "lib/input/textfile.h"
#include "lib/run/check.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { VALUE_BYTES = 64, TABLE_BYTES = 16384 };

static const char router_mark[] = "{router}";

/* Writes what the stars of a pattern match in a path, joined by "/". Compares component by component. */
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

/* ---- routers ---- */

static bool read_three(char *rest, int *numbers) {
    for (int d = 0; d < 3; d++)
        if (!textfile_integer(&rest, 0, 1 << 20, &numbers[d]))
            return false;
    return true;
}

static bool is_inside(const struct counter_site *site) {
    for (int d = 0; d < 3; d++)
        if (site->coordinate[d] >= site->extents[d])
            return false;
    return true;
}

void counter_torus_site(const char *path, char *text, const char *host, struct counter_site *site,
                        struct problem *problem) {
    char *line;
    int number = 0;
    bool torus = false;
    while (!site->on_torus && (line = textfile_line(&text, &number)) != NULL) {
        char *rest = line;
        const char *word = textfile_word(&rest);
        if (strcmp(word, "torus") == 0)
            torus = read_three(rest, site->extents);
        else if (strcmp(word, host) == 0)
            site->on_torus = torus && read_three(rest, site->coordinate) && is_inside(site);
    }
    if (!site->on_torus)
        problem_set(problem, "coordinates file %s: no line \"%s X Y Z\" after a line \"torus X Y Z\"", path,
                    host);
    (void)snprintf(site->key, sizeof site->key, "(%d,%d,%d)", site->coordinate[0], site->coordinate[1],
                   site->coordinate[2]);
    memcpy(site->label, site->key, sizeof site->label);
}

/* ---- files ---- */

/* Returns `value`, the reason; the problem of a counter that is not optional. */
static uint64_t cannot_read(const char *path, const char *why, uint64_t value,
                            const struct group_counter *counter, struct problem *problem) {
    if (!counter->optional)
        problem_set(problem, "counter %.900s: cannot be read: %s", path, why);
    return value;
}

/* The begin of a file; false with errno. */
static bool read_text(const char *path, char *text, size_t bytes) {
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    size_t length = fread(text, 1, bytes - 1, file);
    bool good = !ferror(file);
    int error = errno;
    (void)fclose(file);
    text[length] = '\0';
    errno = error;
    return good;
}

/* The number that a text begins with, or that follows a word, as in "BS_200G". */
static uint64_t first_number(const char *text) {
    char *end = NULL;
    while (isalpha((unsigned char)*text) || *text == '_')
        text++;
    unsigned long long value = strtoull(text, &end, 10);
    return isdigit((unsigned char)*text) && strchr("@.G \t\r\n", *end) ? value : COUNTER_UNCLEAR;
}

/* The number after a word of a text, or in the word's column of the next line. */
static uint64_t number_of(char *text, const char *wanted) {
    char *line;
    int number = 0;
    int column = -1;
    while ((line = textfile_line(&text, &number)) != NULL) {
        const char *word;
        int place = -1;
        for (int i = 0; (word = textfile_word(&line)) != NULL; i++) {
            if (isdigit((unsigned char)*word) && i == (place >= 0 ? place + 1 : column))
                return strtoull(word, NULL, 10);
            if (strcmp(word, wanted) == 0)
                place = i;
        }
        column = place;
    }
    return COUNTER_UNCLEAR;
}

/* A counter's number in one of its files, or why there is none. */
static uint64_t read_value(const char *path, const struct group_counter *counter, struct problem *problem) {
    char text[TABLE_BYTES] = "";
    /* The name of a number behind the path of a counter; NULL for the first one of the file. */
    const char *colon = strchr(counter->path, ':');
    const char *word = colon ? colon + 1 : NULL;
    if (!read_text(path, text, word ? sizeof text : VALUE_BYTES))
        return cannot_read(path, strerror(errno), COUNTER_REFUSED, counter, problem);
    uint64_t value = word ? number_of(text, word) : first_number(text);
    return counter_is_known(value) ? value : cannot_read(path, "not a number", value, counter, problem);
}

/* A counter's files: one, or all that a star matches. */
static void find_files(const char *folder, const struct group_counter *counter, glob_t *found) {
    char path[COUNTER_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%.*s", folder, (int)strcspn(counter->path, ":"), counter->path);
    *found = (glob_t){0};
    (void)glob(path, 0, NULL, found);
}

static bool has_counter(const char *folder, const struct group_counter *counter) {
    glob_t found;
    find_files(folder, counter, &found);
    bool any = found.gl_pathc > 0;
    globfree(&found);
    return any;
}

static void read_files(const struct counter_group *group, const struct counter_links *links, uint64_t *values,
                       struct problem *problem) {
    for (int link = 0; link < links->count; link++)
        for (int counter = 0; counter < group->counter_count; counter++) {
            glob_t found;
            uint64_t sum = 0;
            find_files(links->folders[link], &group->counters[counter], &found);
            for (size_t i = 0; i < found.gl_pathc && counter_is_known(sum); i++) {
                uint64_t value = read_value(found.gl_pathv[i], &group->counters[counter], problem);
                sum = counter_is_known(value) ? sum + value : value;
            }
            if (found.gl_pathc == 0) {
                char path[COUNTER_PATH_BYTES];
                (void)snprintf(path, sizeof path, "%.600s/%s", links->folders[link],
                               group->counters[counter].path);
                sum = cannot_read(path, strerror(ENOENT), COUNTER_ABSENT, &group->counters[counter], problem);
            }
            globfree(&found);
            *values++ = sum;
        }
}

/* ---- devices ---- */

/* Checks a kernel state file such as "4: ACTIVE"; a missing file excludes nothing. */
static bool meets(const char *folder, const struct group_condition *condition) {
    char path[COUNTER_PATH_BYTES];
    char text[VALUE_BYTES] = "";
    (void)snprintf(path, sizeof path, "%s/%s", folder, condition->path);
    if (!read_text(path, text, sizeof text))
        return true;
    text[strcspn(text, "\n")] = '\0';
    return fnmatch(condition->pattern, text, 0) == 0;
}

static bool is_usable(const struct counter_group *group, const char *folder, const char *name) {
    struct stat status;
    if (!counter_group_wants(group, name) || stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))
        return false; /* as /sys/class/net/bonding_masters, a file among devices */
    for (int i = 0; i < group->condition_count; i++)
        if (!meets(folder, &group->conditions[i]))
            return false;
    /* Groups of several drivers have this class; a device of another one that lacks a counter is named with
     * it. */
    for (int i = 0; i < group->counter_count && strstr(group->devices, "class/infiniband"); i++)
        if (!group->counters[i].optional && !has_counter(folder, &group->counters[i]))
            return false;
    return true;
}

void counter_files_find(const struct counter_group *group, const char *root, const struct counter_site *site,
                        struct counter_links *links, struct problem *problem) {
    char pattern[COUNTER_PATH_BYTES];
    char name[LINK_TEXT_BYTES];
    glob_t found = {0};
    /* Root and pattern with {router} replaced by r0-1-1. */
    char router[SITE_NAME_BYTES] = "";
    const char *mark = strstr(group->devices, router_mark);
    int before = mark ? (int)(mark - group->devices) : (int)strlen(group->devices);
    if (mark)
        (void)snprintf(router, sizeof router, "r%d-%d-%d", site->coordinate[0], site->coordinate[1],
                       site->coordinate[2]);
    (void)snprintf(pattern, COUNTER_PATH_BYTES, "%s/%.*s%s%s", root, before, group->devices, router,
                   mark ? mark + sizeof router_mark - 1 : "");
    int status = glob(pattern, 0, NULL, &found);
    size_t room = status == 0 ? found.gl_pathc : 0;
    links->links = check_alloc(room + 1, sizeof *links->links);
    links->folders = check_alloc(room + 1, sizeof *links->folders);
    for (size_t i = 0; i < room; i++) {
        device_name(pattern, found.gl_pathv[i], name);
        if (is_usable(group, found.gl_pathv[i], name)) {
            struct counter_link *link = &links->links[links->count];
            size_t bytes = strlen(found.gl_pathv[i]) + 1;
            (void)snprintf(link->name, sizeof link->name, "%s", name);
            name_port(site, link);
            links->folders[links->count] = check_alloc(bytes, 1);
            memcpy(links->folders[links->count], found.gl_pathv[i], bytes);
            links->count++;
        }
    }
    globfree(&found);
    if (links->count == 0)
        problem_set(problem, "counters of %s: no device %s%s", site->label, pattern,
                    room > 0 ? " that is up and has the group's counters" : "");
}

/* ---- both sources ---- */

double counter_difference(uint64_t before, uint64_t after) {
    uint64_t counted = after - before;
    if (!counter_is_known(before) || !counter_is_known(after))
        return (double)INFINITY;
    return after < before && counted > UINT64_MAX / 2 ? (double)NAN : (double)counted;
}

void counter_source_read(const struct counter_group *group, const struct counter_links *links,
                         uint64_t *values, struct problem *problem) {
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
