/* Schedules; see schedule.h. Calls MPI by the names that no wrapper of this library has. */
#include "collectives/schedule.h"

#include "lib/input/textfile.h"
#include "lib/run/check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1, RECEIPT_TAG = 2 };

/* A longer message may be in buffers of the system when the library has sent it, and share its link with the
 * next step's: a binomial broadcast of 512 KiB took twice as long. */
enum { LONG_BYTES = 65536 };

/* ---- the file ---- */

/* Reads a word such as 0-3,6-6 of blocks below `most`. */
static bool parse_ranges(char *word, int most, struct ranges *ranges) {
    int room = 0;
    for (char *rest = word; rest && *rest;) {
        struct range range;
        int length = 0;
        if (sscanf(rest, "%d-%d%n", &range.first, &range.last, &length) != 2 || range.first < 0 ||
            range.last < range.first || range.last >= most || (rest[length] && rest[length] != ','))
            return false;
        ranges->list = check_grow(ranges->list, ranges->count, &room, sizeof range);
        ranges->list[ranges->count++] = range;
        rest += length + (rest[length] == ',');
    }
    return ranges->count > 0;
}

static int blocks_in(const struct ranges *ranges) {
    int blocks = 0;
    for (int i = 0; i < ranges->count; i++)
        blocks += ranges->list[i].last - ranges->list[i].first + 1;
    return blocks;
}

/* A move is added only when it is whole; what an incomplete one has is freed with it. */
static bool parse_move(char *line, struct schedule *schedule, struct move *move) {
    int least = schedule->count ? schedule->moves[schedule->count - 1].step : 0;
    if (!textfile_integer(&line, least, schedule->steps - 1, &move->step) ||
        !textfile_integer(&line, 0, schedule->ranks - 1, &move->source) ||
        !textfile_integer(&line, 0, schedule->ranks - 1, &move->target) ||
        !textfile_integer(&line, 0, 1, &move->adds))
        return false;
    char *blocks = textfile_word(&line), *into = textfile_word(&line);
    return blocks && into && parse_ranges(blocks, schedule->blocks, &move->blocks) &&
           parse_ranges(into, schedule->blocks, &move->into) &&
           blocks_in(&move->blocks) == blocks_in(&move->into);
}

struct schedule schedule_parse(char *text, const char *path, struct problem *problem) {
    struct schedule schedule = {.moves = NULL};
    int number = 0, room = 0;
    char *rest = text, *line = textfile_line(&rest, &number), *name = line ? textfile_word(&line) : NULL;
    if (!name || strlen(name) >= sizeof schedule.collective ||
        !textfile_integer(&line, 2, INT_MAX, &schedule.ranks) ||
        !textfile_integer(&line, 1, INT_MAX, &schedule.blocks) ||
        !textfile_integer(&line, 1, INT_MAX, &schedule.steps)) {
        problem_set(problem, "%s: no schedule; expected a file of: railyard matrix make --schedule", path);
        return schedule;
    }
    memcpy(schedule.collective, name, strlen(name) + 1);
    while ((line = textfile_line(&rest, &number))) {
        struct move move = {.step = 0};
        schedule.moves = check_grow(schedule.moves, schedule.count, &room, sizeof move);
        bool good = parse_move(line, &schedule, &move);
        schedule.moves[schedule.count++] = move;
        if (!good) {
            problem_set(problem, "%s: line %d: no move of the schedule", path, number);
            break;
        }
    }
    return schedule;
}

void schedule_free(struct schedule *schedule) {
    for (int i = 0; i < schedule->count; i++) {
        free(schedule->moves[i].blocks.list);
        free(schedule->moves[i].into.list);
    }
    free(schedule->moves);
    *schedule = (struct schedule){.moves = NULL};
}

/* ---- blocks in memory ---- */

static size_t offset_of(const struct call *call, int block) {
    size_t k = (size_t)block;
    return (k * call->each + (k < call->more ? k : call->more)) * call->element;
}

static size_t bytes_of(const struct call *call, struct range range) {
    return offset_of(call, range.last + 1) - offset_of(call, range.first);
}

static size_t all_bytes(const struct call *call, const struct ranges *ranges) {
    size_t bytes = 0;
    for (int i = 0; i < ranges->count; i++)
        bytes += bytes_of(call, ranges->list[i]);
    return bytes;
}

static void pack(const struct call *call, const struct ranges *ranges, char *to) {
    for (int i = 0; i < ranges->count; i++) {
        size_t bytes = bytes_of(call, ranges->list[i]);
        memcpy(to, call->data + offset_of(call, ranges->list[i].first), bytes);
        to += bytes;
    }
}

static int unpack(const struct call *call, const struct move *move, const char *from) {
    int code = MPI_SUCCESS;
    for (int i = 0; i < move->into.count && code == MPI_SUCCESS; i++) {
        size_t bytes = bytes_of(call, move->into.list[i]);
        char *to = call->data + offset_of(call, move->into.list[i].first);
        if (!move->adds)
            memcpy(to, from, bytes);
        else if (bytes)
            code = PMPI_Reduce_local(from, to, (int)(bytes / call->element), call->type, call->op);
        from += bytes;
    }
    return code;
}

/* ---- a step ---- */

/* What a process keeps from call to call: memory for what it gets and for what it packs, and requests. */
static _Thread_local struct {
    char *memory;
    size_t bytes;
    MPI_Request *requests;
    int room;
} kept;

static void make_room(size_t bytes, int requests) {
    if (bytes > kept.bytes) {
        free(kept.memory);
        kept.memory = check_alloc(bytes, 1);
        kept.bytes = bytes;
    }
    if (requests > kept.room) {
        free(kept.requests);
        kept.requests = check_alloc((size_t)requests, sizeof *kept.requests);
        kept.room = requests;
    }
}

/* A step's moves; the ranks of a schedule count from the root. */
struct step {
    const struct move *moves;
    int count;
};

/* Starts what this rank sends or gets, in the order of moves, or the empty receipts of long messages, which
 * go back. Returns how many requests there are. */
static int start(const struct schedule *schedule, const struct call *call, struct step step, int me,
                 bool receipts) {
    size_t used = 0;
    int requests = 0;
    for (int i = 0; i < step.count; i++) {
        const struct move *move = &step.moves[i];
        if (move->source != me && move->target != me)
            continue;
        size_t bytes = all_bytes(call, &move->blocks);
        char *memory = kept.memory + used;
        used += bytes;
        if (move->source == me && !receipts)
            pack(call, &move->blocks, memory);
        if (move->source == move->target || (receipts && bytes <= LONG_BYTES))
            continue;
        MPI_Request *request = &kept.requests[requests++];
        int count = receipts ? 0 : (int)bytes, tag = receipts ? RECEIPT_TAG : TAG;
        int other = ((move->source == me ? move->target : move->source) + call->root) % schedule->ranks;
        if ((move->source == me) != receipts)
            MPI_CHECK(PMPI_Isend(memory, count, MPI_BYTE, other, tag, call->comm, request));
        else
            MPI_CHECK(PMPI_Irecv(memory, count, MPI_BYTE, other, tag, call->comm, request));
    }
    return requests;
}

static int finish(const struct call *call, struct step step, int me) {
    size_t used = 0;
    int code = MPI_SUCCESS;
    for (int i = 0; i < step.count && code == MPI_SUCCESS; i++) {
        const struct move *move = &step.moves[i];
        if (move->target == me)
            code = unpack(call, move, kept.memory + used);
        if (move->source == me || move->target == me)
            used += all_bytes(call, &move->blocks);
    }
    return code;
}

int schedule_run(const struct schedule *schedule, const struct call *call) {
    int me = (call->rank - call->root + schedule->ranks) % schedule->ranks;
    int code = MPI_SUCCESS;
    for (int i = 0, next; i < schedule->count && code == MPI_SUCCESS; i = next) {
        for (next = i; next < schedule->count && schedule->moves[next].step == schedule->moves[i].step;)
            next++;
        struct step step = (struct step){&schedule->moves[i], next - i};
        size_t bytes = 0;
        int messages = 0;
        for (int k = 0; k < step.count; k++)
            if (step.moves[k].source == me || step.moves[k].target == me) {
                bytes += all_bytes(call, &step.moves[k].blocks);
                messages++;
            }
        make_room(bytes + 1, messages + 1);
        for (int receipts = 0; receipts < 2; receipts++) {
            int requests = start(schedule, call, step, me, receipts);
            MPI_CHECK(PMPI_Waitall(requests, kept.requests, MPI_STATUSES_IGNORE));
        }
        code = finish(call, step, me);
    }
    return code;
}
