/* One host's line of a coordinates file; see torus.h. */
#include "counters/torus.h"

#include "lib/input/textfile.h"

#include <stdio.h>
#include <string.h>

static bool read_three(char *rest, int *numbers) {
    for (int d = 0; d < 3; d++)
        if (!textfile_integer(&rest, 0, 1 << 20, &numbers[d]))
            return false;
    return true;
}

static bool inside(const struct counter_site *site) {
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
            site->on_torus = torus && read_three(rest, site->coordinate) && inside(site);
    }
    if (!site->on_torus)
        problem_set(problem, "coordinates file %s: no line \"%s X Y Z\" after a line \"torus X Y Z\"", path,
                    host);
    (void)snprintf(site->key, sizeof site->key, "(%d,%d,%d)", site->coordinate[0], site->coordinate[1],
                   site->coordinate[2]);
    memcpy(site->label, site->key, sizeof site->label);
}
