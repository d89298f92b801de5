/*
 * What the report of the counters library needs on rank 0: LEADERS routers of seven links, as Gemini's group
 * has them (six torus links and the hosts').
 *
 *     counters_rank_zero GROUP LEADERS OUTPUT JSON
 *
 * Prints a JSON document: the bytes by which the report raised the peak of this process's memory, and its
 * seconds. OUTPUT and JSON are the library's own files.
 */
#include "rank_zero.h"

#include "counters/report.h"
#include "lib/input/textfile.h"
#include "lib/run/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS = 7 };

/* Every leader sends what rank 0 sends: the sizes alone matter here. */
static void repeat(void *context, const void *own, size_t bytes, char *all) {
    int leaders = *(const int *)context;
    for (int leader = 0; leader < leaders; leader++)
        memcpy(all + (size_t)leader * bytes, own, bytes);
}

static struct counter_links seven_links(void) {
    static const char *const names[LINKS] = {"X+", "X-", "Y+", "Y-", "Z+", "Z-", "HH"};
    struct counter_links links = {.count = LINKS, .links = check_alloc(LINKS, sizeof *links.links)};
    for (int i = 0; i < LINKS; i++) {
        (void)snprintf(links.links[i].name, sizeof links.links[i].name, "%s", names[i]);
        (void)snprintf(links.links[i].remote, sizeof links.links[i].remote, "(%d,10,10)", 10 + i);
        links.links[i].rate_gbyte_s = 9.36;
    }
    return links;
}

static int report(const char *path, int leaders, const char *output, const char *json) {
    struct problem problem = {0};
    struct counter_group group = {0};
    size_t length = 0;
    char *text = textfile_load(path, "group", &length, &problem);
    if (text)
        counter_group_parse(path, text, &group, &problem);
    if (problem_tell(MPI_COMM_WORLD, &problem, "counters_rank_zero"))
        return EXIT_USAGE;
    struct counter_site site = {.key = "r", .label = "(10,10,10)"};
    struct counter_links links = seven_links();
    size_t numbers = (size_t)LINKS * (size_t)group.counter_count;
    double *differences = check_alloc(numbers, sizeof *differences);
    for (size_t i = 0; i < numbers; i++)
        differences[i] = 1e9 + (double)i;
    struct counter_share share = {&group, &site, "nid00010", &links, LINKS, differences, 1.0};
    rank_zero_of(leaders, repeat, &leaders);
    double before_bytes = rank_zero_peak_bytes();
    double begun_s = rank_zero_now_s();
    counter_report(MPI_COMM_WORLD, &share, "gemini", output, json, &problem);
    printf("{\"leaders\": %d, \"links\": %d, \"counters\": %d, \"peak_bytes\": %.0f, \"seconds\": %.6f}\n",
           leaders, LINKS, group.counter_count, rank_zero_peak_bytes() - before_bytes,
           rank_zero_now_s() - begun_s);
    free(differences);
    free(links.links);
    counter_group_free(&group);
    return problem_tell(MPI_COMM_WORLD, &problem, "counters_rank_zero") ? EXIT_NOT_WRITTEN : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    int leaders = argc == 5 ? atoi(argv[2]) : 0;
    if (leaders < 1) {
        (void)fprintf(stderr, "usage: counters_rank_zero GROUP LEADERS OUTPUT JSON\n");
        return EXIT_USAGE;
    }
    return report(argv[1], leaders, argv[3], argv[4]);
}
