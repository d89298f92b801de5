/* Reads "HOST X Y Z" lines, with three numbers or more, and places the ranks on them and on a lattice; see
 * coordinates.h. */
#include "lib/ranks/coordinates.h"

#include "lib/input/parse.h"
#include "lib/input/textfile.h"
#include "lib/ranks/evidence.h"
#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXTENT_MAX = 1 << 20, ROUTERS_MAX = 1 << 24 };

/* The position in the file, for messages. */
struct source {
    const char *path;
    int line;
};

bool parse_dimension_letters(const char *text, void *field) {
    size_t length = strlen(text);
    if (length < 1 || length > TORUS_DIMENSIONS || strspn(text, "XYZ") != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (strchr(text + i + 1, text[i]))
            return false;
    memset(field, 0, TORUS_DIMENSIONS + 1);
    memcpy(field, text, length);
    return true;
}

static void read_extents(char *rest, struct source source, struct coordinates *coordinates,
                         struct problem *problem) {
    size_t routers = 1;
    int count = 0;
    for (; count < FILE_DIMENSIONS_MAX && (count < TORUS_DIMENSIONS || *rest); count++) {
        int *extent = &coordinates->file_extents[count];
        if (!textfile_integer(&rest, 1, EXTENT_MAX, extent)) {
            problem_set(problem,
                        "--coordinates %s: line %d: not valid; expected torus X Y Z, each at least 1",
                        source.path, source.line);
            return;
        }
        routers *= (size_t)*extent;
        if (routers > ROUTERS_MAX) {
            problem_set(problem, "--coordinates %s: line %d: more than %d routers", source.path, source.line,
                        ROUTERS_MAX);
            return;
        }
        if (count < TORUS_DIMENSIONS)
            coordinates->extents[count] = *extent;
        else
            coordinates->extents[TORUS_DIMENSIONS - 1] *= *extent;
    }
    if (textfile_word(&rest))
        problem_set(problem, "--coordinates %s: line %d: more than %d dimensions", source.path, source.line,
                    FILE_DIMENSIONS_MAX);
    coordinates->file_dimensions = count;
}

static void read_node(const char *host, char *rest, struct source source, struct coordinates *coordinates,
                      struct problem *problem) {
    struct torus_node *node = &coordinates->nodes[coordinates->node_count];
    node->host = host;
    for (int d = 0; d < coordinates->file_dimensions; d++) {
        int number = 0;
        int extent = coordinates->file_extents[d];
        if (!textfile_integer(&rest, 0, extent - 1, &number)) {
            char extents[FILE_DIMENSIONS_MAX * 12];
            size_t used = 0;
            for (int k = 0; k < coordinates->file_dimensions && used < sizeof extents; k++)
                used += (size_t)snprintf(extents + used, sizeof extents - used, "%s%d", k ? "x" : "",
                                         coordinates->file_extents[k]);
            problem_set(problem,
                        "--coordinates %s: line %d: not valid; expected HOST X Y Z inside the torus %s",
                        source.path, source.line, extents);
            return;
        }
        /* Adds a number to a coordinate of three: numbers from the third on become one, the last fastest. */
        if (d < TORUS_DIMENSIONS)
            node->coordinate[d] = number;
        else
            node->coordinate[TORUS_DIMENSIONS - 1] = node->coordinate[TORUS_DIMENSIONS - 1] * extent + number;
    }
    if (textfile_word(&rest))
        problem_set(problem, "--coordinates %s: line %d: more than HOST X Y Z", source.path, source.line);
    node->line = source.line;
    coordinates->node_count++;
}

static void read_line(char *line, struct source source, struct coordinates *coordinates,
                      struct problem *problem) {
    char *rest = line;
    const char *first = textfile_word(&rest);
    bool extents_known = coordinates->extents[0] > 0;
    if (strcmp(first, "torus") == 0 && extents_known)
        problem_set(problem, "--coordinates %s: line %d: a second torus line", source.path, source.line);
    else if (strcmp(first, "torus") == 0)
        read_extents(rest, source, coordinates, problem);
    else if (!extents_known)
        problem_set(problem, "--coordinates %s: line %d: a node before the line torus X Y Z", source.path,
                    source.line);
    else
        read_node(first, rest, source, coordinates, problem);
}

static int compare_entries(const void *left, const void *right) {
    const struct host_entry *a = left;
    const struct host_entry *b = right;
    int order = strcmp(a->host, b->host);
    return order != 0 ? order : a->node - b->node;
}

static void read_text(const char *path, struct coordinates *coordinates, struct problem *problem) {
    struct source source = {.path = path};
    char *rest = coordinates->text;
    char *line;
    const char *text = rest;
    size_t lines = 1;
    while ((text = strchr(text, '\n')) != NULL) {
        lines++;
        text++;
    }
    coordinates->nodes = check_alloc(lines, sizeof *coordinates->nodes);
    while (!problem_is_set(problem) && (line = textfile_line(&rest, &source.line)) != NULL)
        read_line(line, source, coordinates, problem);
    if (coordinates->node_count == 0)
        problem_set(problem,
                    "--coordinates %s: no node; expected torus X Y Z, then a line HOST X Y Z per node", path);
    /* Sorts the hosts for binary search; sets a problem for a host that is listed twice. */
    int count = coordinates->node_count;
    coordinates->by_host = check_alloc((size_t)count, sizeof *coordinates->by_host);
    for (int node = 0; node < count; node++)
        coordinates->by_host[node] = (struct host_entry){coordinates->nodes[node].host, node};
    qsort(coordinates->by_host, (size_t)count, sizeof *coordinates->by_host, compare_entries);
    for (int i = 1; i < count; i++)
        if (strcmp(coordinates->by_host[i - 1].host, coordinates->by_host[i].host) == 0)
            problem_set(problem, "--coordinates %s: line %d: host %s is listed twice", path,
                        coordinates->nodes[coordinates->by_host[i].node].line, coordinates->by_host[i].host);
}

/* Returns the first index whose name, truncated to `length` characters, is not less than the text. */
static int first_from(const struct coordinates *coordinates, const char *text, size_t length) {
    int low = 0;
    int high = coordinates->node_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strncmp(coordinates->by_host[middle].host, text, length) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The node of exactly this name, which has `length` characters; -1 if there is none. */
static int find_exactly(const struct coordinates *coordinates, const char *host, size_t length) {
    char name[EVIDENCE_HOST_BYTES] = "";
    memcpy(name, host, length < sizeof name ? length : sizeof name - 1);
    int at = first_from(coordinates, name, sizeof name);
    bool there = at < coordinates->node_count && strcmp(coordinates->by_host[at].host, name) == 0;
    return there ? coordinates->by_host[at].node : -1;
}

/* Returns the only node whose name equals the host's apart from its domain; -1 if there is none or more than
 * one. */
static int find_by_domain(const struct coordinates *coordinates, const char *host) {
    char longer[EVIDENCE_HOST_BYTES + 1];
    size_t length = (size_t)snprintf(longer, sizeof longer, "%s.", host);
    int at = first_from(coordinates, longer, length);
    int matches = 0;
    int index = -1;
    for (; at < coordinates->node_count && strncmp(coordinates->by_host[at].host, longer, length) == 0;
         at++) {
        index = coordinates->by_host[at].node;
        if (++matches > 1)
            return -1;
    }
    for (const char *dot = strchr(host, '.'); dot; dot = strchr(dot + 1, '.')) {
        int node = find_exactly(coordinates, host, (size_t)(dot - host));
        matches += node >= 0;
        index = node >= 0 ? node : index;
    }
    return matches == 1 ? index : -1;
}

static int find_host(const struct coordinates *coordinates, const char *host) {
    int node = find_exactly(coordinates, host, strlen(host));
    return node >= 0 ? node : find_by_domain(coordinates, host);
}

static void not_there(const char *path, int rank, const char *host, struct problem *problem) {
    problem_set(problem, "--coordinates %s: rank %d runs on host %s, which is not in it", path, rank, host);
}

void coordinates_read(const char *path, const char *host, struct coordinates *coordinates,
                      struct problem *problem) {
    int node = -1;
    *coordinates =
        (struct coordinates){.text = textfile_share(MPI_COMM_WORLD, path, "--coordinates", problem)};
    coordinates->node_of_rank = check_alloc((size_t)check_ranks(), sizeof(int));
    if (coordinates->text)
        read_text(path, coordinates, problem);
    if (!problem_is_set(problem) && coordinates->text) {
        node = find_host(coordinates, host);
        if (node < 0)
            not_there(path, check_rank(), host, problem);
    }
    MPI_CHECK(MPI_Allgather(&node, 1, MPI_INT, coordinates->node_of_rank, 1, MPI_INT, MPI_COMM_WORLD));
}

/* On rank 0: the node of every rank, by the hosts that all ranks sent. */
static void place_hosts(const char *path, const char *hosts, struct coordinates *coordinates,
                        struct problem *problem) {
    coordinates->node_of_rank = check_alloc((size_t)check_ranks(), sizeof(int));
    for (int rank = 0; rank < check_ranks() && !problem_is_set(problem); rank++) {
        const char *host = hosts + (size_t)rank * EVIDENCE_HOST_BYTES;
        int node = find_host(coordinates, host);
        coordinates->node_of_rank[rank] = node;
        if (node < 0)
            not_there(path, rank, host, problem);
    }
}

void coordinates_gather(const char *path, const char *host, struct coordinates *coordinates,
                        struct problem *problem) {
    bool root = check_rank() == 0;
    char *hosts = root ? check_alloc((size_t)check_ranks(), EVIDENCE_HOST_BYTES) : NULL;
    size_t length = 0;
    *coordinates = (struct coordinates){0};
    MPI_CHECK(MPI_Gather(host, EVIDENCE_HOST_BYTES, MPI_CHAR, hosts, EVIDENCE_HOST_BYTES, MPI_CHAR, 0,
                         MPI_COMM_WORLD));
    if (root)
        coordinates->text = textfile_load(path, "--coordinates", &length, problem);
    if (root && !problem_is_set(problem))
        read_text(path, coordinates, problem);
    if (root && !problem_is_set(problem))
        place_hosts(path, hosts, coordinates, problem);
    free(hosts);
}

void coordinates_free(struct coordinates *coordinates) {
    free(coordinates->by_host);
    free(coordinates->nodes);
    free(coordinates->node_of_rank);
    free(coordinates->text);
}

/* ---- the lattice ---- */

size_t coordinates_index(const int *extents, const int *position) {
    size_t index = 0;
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        index = index * (size_t)extents[d] + (size_t)position[d];
    return index;
}

size_t coordinates_routers(const int *extents) {
    return (size_t)extents[0] * (size_t)extents[1] * (size_t)extents[2];
}

void lattice_make(const struct coordinates *coordinates, int ranks, struct lattice *lattice) {
    *lattice = (struct lattice){0};
    /* Numbers the nodes of each router from 0. */
    int *nodes_at = check_alloc(coordinates_routers(coordinates->extents), sizeof(int));
    lattice->slot_of_node = check_alloc((size_t)coordinates->node_count, sizeof(int));
    for (int i = 0; i < coordinates->node_count; i++) {
        int *count = &nodes_at[coordinates_index(coordinates->extents, coordinates->nodes[i].coordinate)];
        lattice->slot_of_node[i] = (*count)++;
        if (*count > lattice->nodes_per_router)
            lattice->nodes_per_router = *count;
    }
    free(nodes_at);
    memcpy(lattice->extents, coordinates->extents, sizeof lattice->extents);
    lattice->extents[1] *= lattice->nodes_per_router;
    int position[TORUS_DIMENSIONS];
    size_t positions = coordinates_routers(lattice->extents);
    lattice->rank_at = check_alloc(positions, sizeof(int));
    for (size_t i = 0; i < positions; i++)
        lattice->rank_at[i] = -1;
    for (int rank = ranks - 1; rank >= 0; rank--) {
        lattice_position(lattice, coordinates, rank, position);
        lattice->rank_at[coordinates_index(lattice->extents, position)] = rank;
    }
}

void lattice_free(struct lattice *lattice) {
    free(lattice->slot_of_node);
    free(lattice->rank_at);
}

void lattice_position(const struct lattice *lattice, const struct coordinates *coordinates, int rank,
                      int *position) {
    int node = coordinates->node_of_rank[rank];
    memcpy(position, coordinates->nodes[node].coordinate, TORUS_DIMENSIONS * sizeof *position);
    position[1] = position[1] * lattice->nodes_per_router + lattice->slot_of_node[node];
}

int lattice_rank(const struct lattice *lattice, const int *position) {
    int wrapped[TORUS_DIMENSIONS];
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        wrapped[d] = position[d] % lattice->extents[d];
    return lattice->rank_at[coordinates_index(lattice->extents, wrapped)];
}
