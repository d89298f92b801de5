/* Reads "HOST X Y Z" lines and places the ranks on them; see coordinates.h. */
#include "lib/coordinates.h"

#include "lib/check.h"
#include "lib/evidence.h"
#include "lib/parse.h"
#include "lib/textfile.h"

#include <stdlib.h>
#include <string.h>

enum { EXTENT_MAX = 1 << 20, ROUTERS_MAX = 1 << 24 };

/* Where the reader is, for messages. */
struct place {
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

static bool read_int(char **rest, int low, int high, int *value) {
    uint64_t number = 0;
    const char *word = textfile_word(rest);
    if (!word || !parse_number(word, &number) || number < (uint64_t)low || number > (uint64_t)high)
        return false;
    *value = (int)number;
    return true;
}

static void read_extents(char *rest, struct place place, int *extents, struct problem *problem) {
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        if (!read_int(&rest, 1, EXTENT_MAX, &extents[d])) {
            problem_set(problem, "--coordinates %s: line %d: valid: torus X Y Z, each at least 1", place.path,
                        place.line);
            return;
        }
    if (textfile_word(&rest))
        problem_set(problem, "--coordinates %s: line %d: more than torus X Y Z", place.path, place.line);
    if ((size_t)extents[0] * (size_t)extents[1] * (size_t)extents[2] > ROUTERS_MAX)
        problem_set(problem, "--coordinates %s: line %d: more than %d routers", place.path, place.line,
                    ROUTERS_MAX);
}

static bool host_known(const struct coordinates *coordinates, const char *host) {
    for (int i = 0; i < coordinates->node_count; i++)
        if (strcmp(coordinates->nodes[i].host, host) == 0)
            return true;
    return false;
}

static void read_node(const char *host, char *rest, struct place place, struct coordinates *coordinates,
                      struct problem *problem) {
    struct torus_node *node = &coordinates->nodes[coordinates->node_count];
    node->host = host;
    for (int d = 0; d < TORUS_DIMENSIONS; d++)
        if (!read_int(&rest, 0, coordinates->extents[d] - 1, &node->coordinate[d])) {
            problem_set(problem, "--coordinates %s: line %d: valid: HOST X Y Z inside the torus %dx%dx%d",
                        place.path, place.line, coordinates->extents[0], coordinates->extents[1],
                        coordinates->extents[2]);
            return;
        }
    if (textfile_word(&rest))
        problem_set(problem, "--coordinates %s: line %d: more than HOST X Y Z", place.path, place.line);
    if (host_known(coordinates, host))
        problem_set(problem, "--coordinates %s: line %d: host %s stands there twice", place.path, place.line,
                    host);
    coordinates->node_count++;
}

static void read_line(char *line, struct place place, struct coordinates *coordinates,
                      struct problem *problem) {
    char *rest = line;
    const char *first = textfile_word(&rest);
    bool extents_known = coordinates->extents[0] > 0;
    if (strcmp(first, "torus") == 0 && extents_known)
        problem_set(problem, "--coordinates %s: line %d: a second torus line", place.path, place.line);
    else if (strcmp(first, "torus") == 0)
        read_extents(rest, place, coordinates->extents, problem);
    else if (!extents_known)
        problem_set(problem, "--coordinates %s: line %d: a node before the line torus X Y Z", place.path,
                    place.line);
    else
        read_node(first, rest, place, coordinates, problem);
}

static size_t count_lines(const char *text) {
    size_t lines = 1;
    while ((text = strchr(text, '\n')) != NULL) {
        lines++;
        text++;
    }
    return lines;
}

static void read_text(const char *path, struct coordinates *coordinates, struct problem *problem) {
    struct place place = {.path = path};
    char *rest = coordinates->text;
    char *line;
    coordinates->nodes = check_alloc(count_lines(rest), sizeof *coordinates->nodes);
    while (!problem_is_set(problem) && (line = textfile_line(&rest, &place.line)) != NULL)
        read_line(line, place, coordinates, problem);
    if (coordinates->node_count == 0)
        problem_set(problem, "--coordinates %s: no node; valid: torus X Y Z, then a line HOST X Y Z per node",
                    path);
}

/* Whether one name is the other with a domain behind it. */
static bool differ_in_domain(const char *one, const char *other) {
    size_t length = strlen(one);
    size_t other_length = strlen(other);
    if (length > other_length)
        return differ_in_domain(other, one);
    return length < other_length && strncmp(one, other, length) == 0 && other[length] == '.';
}

/* The only node whose name differs from a host's in its domain alone; -1 where there is none, or several. */
static int find_by_domain(const struct coordinates *coordinates, const char *host) {
    int found = -1;
    for (int node = 0; node < coordinates->node_count; node++)
        if (differ_in_domain(coordinates->nodes[node].host, host)) {
            if (found >= 0)
                return -1;
            found = node;
        }
    return found;
}

/* The search begins at that node: ranks mostly come in the order of the file. */
static int find_host_from(const struct coordinates *coordinates, const char *host, int first) {
    for (int i = 0; i < coordinates->node_count; i++) {
        int node = (first + i) % coordinates->node_count;
        if (strcmp(coordinates->nodes[node].host, host) == 0)
            return node;
    }
    return find_by_domain(coordinates, host);
}

static int find_host(const struct coordinates *coordinates, const char *host) {
    return find_host_from(coordinates, host, 0);
}

static void not_there(const char *path, int rank, const char *host, struct problem *problem) {
    problem_set(problem, "--coordinates %s: rank %d runs on host %s, which is not in it", path, rank, host);
}

void coordinates_read(const char *path, const char *host, struct coordinates *coordinates,
                      struct problem *problem) {
    int node = -1;
    *coordinates = (struct coordinates){.text = textfile_read(path, "coordinates", problem)};
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
    int node = -1;
    coordinates->node_of_rank = check_alloc((size_t)check_ranks(), sizeof(int));
    for (int rank = 0; rank < check_ranks() && !problem_is_set(problem); rank++) {
        const char *host = hosts + (size_t)rank * EVIDENCE_HOST_BYTES;
        node = find_host_from(coordinates, host, node + 1);
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
    free(coordinates->nodes);
    free(coordinates->node_of_rank);
    free(coordinates->text);
}
