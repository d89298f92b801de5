/* Tiles of a Gemini, added up to links; see source.h. */
#include "counters/source.h"

#include "lib/input/textfile.h"
#include "lib/run/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 1 << 20, LINE_BYTES = 512, DIRECTIONS = 6, HOST = DIRECTIONS };

static const char *const direction_names[DIRECTIONS + 1] = {"X+", "X-", "Y+", "Y-", "Z+", "Z-", "HH"};

/* ---- which Gemini ---- */

void counter_gemini_site(const char *root, struct counter_site *site, struct problem *problem) {
    char path[COUNTER_PATH_BYTES];
    char name[SITE_NAME_BYTES] = "";
    int node = 0;
    (void)snprintf(path, sizeof path, "%s/proc/cray_xt/cname", root);
    FILE *file = fopen(path, "r");
    if (!file) {
        problem_set(problem, "counters: %.900s: cannot be read: %s", path, strerror(errno));
        return;
    }
    int read = fscanf(file, "%40[c0-9s-]n%d", name, &node);
    (void)fclose(file);
    if (read != 2 || node < 0 || node > 3) {
        problem_set(problem, "counters: %.900s: not a node's name; expected one such as c0-0c0s3n2", path);
        return;
    }
    (void)snprintf(site->key, sizeof site->key, "%.40sg%d", name, node / 2);
    (void)snprintf(site->label, sizeof site->label, "%.48s", site->key);
}

/* ---- interconnect.txt ---- */

/* Reads one line: a tile, the tile at its other end, and its class. */
struct tile_line {
    char gemini[SITE_NAME_BYTES];
    int row;
    int column;
    int at[3];
    int direction;
    int to[3];
    char link_type[SITE_NAME_BYTES];
};

static int direction_of(char dimension, char sign) {
    if (dimension < 'X' || dimension > 'Z' || (sign != '+' && sign != '-'))
        return -1;
    return 2 * (dimension - 'X') + (sign == '-');
}

/* What a leader collects while the file is broadcast. */
struct mapping {
    const struct counter_group *group;
    const char *path;
    struct counter_site *site;
    struct counter_links *links;
    int line;
    int tiles;
    int host_tiles;
    char carry[LINE_BYTES]; /* the begin of a line whose end is in the next piece */
    size_t carried;
};

static double class_rate(const struct counter_group *group, const char *link_type) {
    for (int i = 0; i < group->class_count; i++)
        if (strncmp(group->classes[i].name, link_type, strlen(group->classes[i].name)) == 0)
            return group->classes[i].rate_gbyte_s;
    return 0;
}

static void end_line(struct mapping *mapping, struct problem *problem) {
    mapping->carry[mapping->carried] = '\0';
    mapping->carried = 0;
    const char *line = mapping->carry;
    struct tile_line tile;
    mapping->line++;
    if (line[strspn(line, " \t\r")] == '\0' || problem_is_set(problem))
        return;
    char remote[SITE_NAME_BYTES];
    char dimension = 0;
    char sign = 0;
    int row = 0;
    int column = 0;
    int end = 0;
    int read =
        sscanf(line, "%40[^l]l%1d%1d[(%d,%d,%d)] %c%c -> %40[^l]l%1d%1d[(%d,%d,%d)] LinkType: %40s%n",
               tile.gemini, &tile.row, &tile.column, &tile.at[0], &tile.at[1], &tile.at[2], &dimension, &sign,
               remote, &row, &column, &tile.to[0], &tile.to[1], &tile.to[2], tile.link_type, &end);
    tile.direction = direction_of(dimension, sign);
    if (!(read == 15 && tile.direction >= 0 && tile.row < GEMINI_ROWS && tile.column < GEMINI_COLUMNS &&
          line[end + (int)strspn(line + end, " \t\r")] == '\0')) {
        problem_set(problem, "%s: line %d: not a line of rtr --interconnect, or cut short: %.60s",
                    mapping->path, mapping->line, line);
    } else if (strcmp(tile.gemini, mapping->site->key) == 0) {
        struct counter_link *link = &mapping->links->links[tile.direction];
        double rate = class_rate(mapping->group, tile.link_type);
        if (rate == 0)
            problem_set(problem, "%s: line %d: link type %s: the counter group has no CLASS for it",
                        mapping->path, mapping->line, tile.link_type);
        mapping->links->link_of_tile[tile.row * GEMINI_COLUMNS + tile.column] = tile.direction;
        link->rate_gbyte_s += rate;
        (void)snprintf(link->remote, sizeof link->remote, "(%d,%d,%d)", tile.to[0], tile.to[1], tile.to[2]);
        memcpy(mapping->site->coordinate, tile.at, sizeof tile.at);
        mapping->tiles++;
    }
}

static void take_piece(struct mapping *mapping, const char *piece, size_t bytes, struct problem *problem) {
    for (size_t i = 0; i < bytes; i++)
        if (piece[i] == '\n')
            end_line(mapping, problem);
        else if (mapping->carried + 1 < sizeof mapping->carry)
            mapping->carry[mapping->carried++] = piece[i];
}

/* Tiles without a line are the host's. */
static void add_host(struct mapping *mapping) {
    struct counter_link *host = &mapping->links->links[HOST];
    const int *at = mapping->site->coordinate;
    for (int tile = 0; tile < GEMINI_TILES; tile++)
        if (mapping->links->link_of_tile[tile] < 0) {
            mapping->links->link_of_tile[tile] = HOST;
            host->rate_gbyte_s += class_rate(mapping->group, "host");
        }
    (void)snprintf(host->remote, sizeof host->remote, "(%d,%d,%d)", at[0], at[1], at[2]);
    (void)snprintf(mapping->site->label, sizeof mapping->site->label, "(%d,%d,%d)", at[0], at[1], at[2]);
}

void counter_gemini_find(MPI_Comm leaders, const struct counter_group *group, const char *root,
                         const char *interconnect, struct counter_site *site, struct counter_links *links,
                         struct problem *problem) {
    struct mapping mapping = {.group = group, .path = interconnect, .site = site, .links = links};
    links->count = DIRECTIONS + 1;
    links->links = check_alloc((size_t)links->count, sizeof *links->links);
    links->file = check_alloc(COUNTER_PATH_BYTES, 1);
    (void)snprintf(links->file, COUNTER_PATH_BYTES, "%s/%s", root, group->devices);
    for (int link = 0; link < links->count; link++)
        (void)snprintf(links->links[link].name, LINK_TEXT_BYTES, "%s", direction_names[link]);
    for (int tile = 0; tile < GEMINI_TILES; tile++)
        links->link_of_tile[tile] = -1;
    /* Every leader sees every piece; only rank 0 reads. */
    int rank = 0;
    int bytes = 0;
    char *piece = check_alloc(PIECE_BYTES, 1);
    MPI_CHECK(MPI_Comm_rank(leaders, &rank));
    FILE *file = rank == 0 ? fopen(mapping.path, "r") : NULL;
    if (rank == 0 && !file)
        problem_set(problem, "%s: cannot be read: %s", mapping.path, strerror(errno));
    do {
        bytes = file ? (int)fread(piece, 1, PIECE_BYTES, file) : 0;
        MPI_CHECK(MPI_Bcast(&bytes, 1, MPI_INT, 0, leaders));
        MPI_CHECK(MPI_Bcast(piece, bytes, MPI_CHAR, 0, leaders));
        take_piece(&mapping, piece, (size_t)bytes, problem);
    } while (bytes > 0);
    end_line(&mapping, problem);
    if (file)
        (void)fclose(file);
    free(piece);
    if (mapping.tiles == 0)
        problem_set(problem, "%s: no line for the Gemini %s: of another machine?", mapping.path,
                    mapping.site->key);
    else if (mapping.group->tiles > 0 && mapping.tiles != mapping.group->tiles)
        problem_set(problem, "%s: %d tiles of the Gemini %s; expected %d; cut short?", mapping.path,
                    mapping.tiles, mapping.site->key, mapping.group->tiles);
    add_host(&mapping);
}

/* ---- readings ---- */

/* Writes a counter's name for a tile, with {row} and {column} replaced. */
static void tile_name(const char *pattern, int tile, char *name) {
    size_t used = 0;
    while (*pattern && used + 2 < SITE_NAME_BYTES) {
        bool row = strncmp(pattern, "{row}", 5) == 0;
        bool column = strncmp(pattern, "{column}", 8) == 0;
        if (row || column)
            name[used++] = (char)('0' + (row ? tile / GEMINI_COLUMNS : tile % GEMINI_COLUMNS));
        else
            name[used++] = *pattern;
        pattern += row ? 5 : column ? 8 : 1;
    }
    name[used] = '\0';
}

/* The value in a line "Counter NAME: Value=NUMBER". */
static bool find_value(const char *text, const char *name, uint64_t *value) {
    char line[2 * SITE_NAME_BYTES];
    unsigned long long number = 0;
    (void)snprintf(line, sizeof line, "Counter %s: Value=", name);
    const char *at = strstr(text, line);
    if (!at || sscanf(at + strlen(line), "%llu", &number) != 1)
        return false;
    *value = number;
    return true;
}

void counter_gemini_read(const struct counter_group *group, const struct counter_links *links,
                         uint64_t *values, struct problem *problem) {
    size_t length = 0;
    char name[SITE_NAME_BYTES];
    char *text = textfile_load(links->file, "counters", &length, problem);
    memset(values, 0, (size_t)links->count * (size_t)group->counter_count * sizeof *values);
    for (int tile = 0; text && tile < GEMINI_TILES; tile++)
        for (int counter = 0; counter < group->counter_count && !problem_is_set(problem); counter++) {
            uint64_t value = 0;
            tile_name(group->counters[counter].path, tile, name);
            if (!find_value(text, name, &value))
                problem_set(problem, "counters %s: no line \"Counter %s: Value=NUMBER\": cut short?",
                            links->file, name);
            values[links->link_of_tile[tile] * group->counter_count + counter] += value;
        }
    free(text);
}
