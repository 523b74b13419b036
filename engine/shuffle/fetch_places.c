/* Where map outputs lie: one question per executor, all of them at once.
 *
 * An executor that lacks one of several outputs answers that it cannot; then it is asked for one
 * after the other, to find out which: rare, so that its time does not matter. */
#include "engine/shuffle/fetch_wait.h"

#include <assert.h>
#include <stdlib.h>

/* What one executor is asked: places[first, first + count). */
struct question {
    struct asked asked; /* first */
    uint32_t first, count;
};

struct asking {
    struct fetch_wait *wait;
    uint64_t shuffle;
    uint32_t partition;
    const struct fetch_input *inputs;
    struct fetch_place *places;
    uint32_t (*maps)[2]; /* [places] */
    struct run_part *parts;
};

static int compare_inputs(const void *a, const void *b, void *inputs)
{
    const struct fetch_input *all = inputs;
    uint32_t x = ((const struct fetch_place *)a)->input, y = ((const struct fetch_place *)b)->input;
    if (all[x].executor != all[y].executor) return all[x].executor < all[y].executor ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void ask(struct asking *a, struct question *q)
{
    struct fetch_request *r = &q->asked.request;
    assert(q->count > 0);
    *r = (struct fetch_request){.executor = a->inputs[a->places[q->first].input].executor};
    r->get = (struct get){.kind = GET_PARTS,
                          .id = a->shuffle,
                          .partition = a->partition,
                          .map_count = q->count,
                          .maps = a->maps + q->first};
}

/* Takes a question's answer. 0 or the task's error. */
static int take(struct asking *a, struct question *q)
{
    struct fetch_request *r = &q->asked.request;
    if (r->error.code == GLINT_OK)
        parts_decode((struct glint_slice){r->answer.data, r->answer.size}, a->parts + q->first,
                     q->count, &r->error);
    buffer_fini(&r->answer);
    for (uint32_t i = q->first; r->error.code == GLINT_OK && i < q->first + q->count; i++)
        a->places[i].part = a->parts[i];
    return r->error.code == GLINT_OK ? 0 : fetch_failed(a->wait->task, &r->error);
}

/* Which of a question's outputs is not there; the task's error is set. */
static uint32_t find_lost(struct asking *a, const struct question *q)
{
    struct glint_task *task = a->wait->task;
    bool unknown = q->count > 1 && q->asked.request.error.code == GLINT_E_FETCH_FAILED;
    for (uint32_t i = 0; unknown && i < q->count; i++) {
        struct question one = {.first = q->first + i, .count = 1};
        struct glint_error before = task->error;
        task->error.code = GLINT_OK;
        ask(a, &one);
        fetch_wait_submit(a->wait, &one.asked.request);
        fetch_wait_for(a->wait, &one.asked);
        if (take(a, &one) != 0) return a->places[one.first].input;
        task->error = before;
    }
    return a->places[q->first].input;
}

static int ask_all(struct asking *a, struct question *questions, uint32_t count, uint32_t *out_lost)
{
    struct fetch_request *first = NULL;
    for (uint32_t i = count; i-- > 0;) {
        ask(a, &questions[i]);
        questions[i].asked.request.next = first;
        first = &questions[i].asked.request;
    }
    fetch_wait_submit(a->wait, first);
    for (uint32_t i = 0; i < count; i++) fetch_wait_for(a->wait, &questions[i].asked);
    int r = 0;
    uint32_t failed = count;
    for (uint32_t i = 0; i < count; i++) {
        int e = take(a, &questions[i]);
        if (r == 0 && e != 0) failed = i;
        if (r == 0) r = e;
    }
    if (r == GLINT_E_FETCH_FAILED) *out_lost = find_lost(a, &questions[failed]);
    return a->wait->task->error.code;
}

int fetch_places(struct fetch_wait *w, uint64_t shuffle, uint32_t partition,
                 const struct fetch_input *inputs, struct fetch_place *places, uint32_t count,
                 uint32_t *out_lost)
{
    struct asking a = {w, shuffle, partition, inputs, places, NULL, NULL};
    qsort_r(places, count, sizeof *places, compare_inputs, (void *)(uintptr_t)inputs);
    uint32_t executors = count > 0;
    for (uint32_t i = 1; i < count; i++)
        executors += inputs[places[i].input].executor != inputs[places[i - 1].input].executor;
    struct question *questions = task_alloc(w->task, (executors + 1) * sizeof *questions);
    a.maps = task_alloc(w->task, (count + 1) * sizeof *a.maps);
    a.parts = task_alloc(w->task, (count + 1) * sizeof *a.parts);
    if (questions == NULL || a.maps == NULL || a.parts == NULL) return w->task->error.code;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct fetch_input *in = &inputs[places[i].input];
        if (i == 0 || in->executor != inputs[places[i - 1].input].executor)
            questions[n++] = (struct question){.first = i};
        questions[n - 1].count++;
        a.maps[i][0] = in->map;
        a.maps[i][1] = in->attempt;
    }
    assert(n == executors);
    return ask_all(&a, questions, n, out_lost);
}
