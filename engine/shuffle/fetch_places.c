/* Where map outputs lie: one question per executor, all of them at once. What is small comes with
 * the answer, so that a shuffle of many small parts has one request per executor and task.
 *
 * An executor that lacks one of several outputs answers that it cannot; then it is asked for one
 * after the other, to find out which: rare, so that its time does not matter. */
#include "engine/shuffle/fetch_wait.h"

#include "engine/base/log.h"

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
    uint64_t bytes_max; /* of one answer */
    uint32_t partition;
    const struct fetch_input *inputs;
    struct fetch_place *places;
    uint32_t (*maps)[2]; /* [places] */
    struct part_answer *parts;
};

static int compare_executors(const void *a, const void *b, void *inputs)
{
    const struct fetch_input *all = inputs;
    uint32_t x = ((const struct fetch_place *)a)->input, y = ((const struct fetch_place *)b)->input;
    if (all[x].executor != all[y].executor) return all[x].executor < all[y].executor ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int compare_inputs(const void *a, const void *b)
{
    uint32_t x = ((const struct fetch_place *)a)->input, y = ((const struct fetch_place *)b)->input;
    return x < y ? -1 : x > y;
}

/* Whether place i is the first of its executor's. */
static bool is_first(const struct asking *a, uint32_t i)
{
    const struct fetch_input *inputs = a->inputs;
    return i == 0 || inputs[a->places[i].input].executor != inputs[a->places[i - 1].input].executor;
}

static void ask(struct asking *a, struct question *q)
{
    struct fetch_request *r = &q->asked.request;
    assert(q->count > 0);
    *r = (struct fetch_request){.executor = a->inputs[a->places[q->first].input].executor};
    r->get = (struct get){.kind = GET_PARTS,
                          .id = a->shuffle,
                          .partition = a->partition,
                          .size = a->bytes_max,
                          .map_count = q->count,
                          .maps = a->maps + q->first};
}

/* The parts of an answer that has arrived; what is wrong becomes its request's error. */
static void decode(struct asking *a, struct question *q)
{
    struct fetch_request *r = &q->asked.request;
    parts_decode((struct glint_slice){r->answer.data, r->answer.size}, a->parts + q->first,
                 q->count, &r->error);
}

/* It may have been damaged on its way. */
static void ask_again(struct asking *a, struct question *q)
{
    struct fetch_request *r = &q->asked.request;
    log_line(LOG_WARN, NULL, "an answer of executor %u was damaged: it is asked again",
             r->executor);
    buffer_fini(&r->answer);
    ask(a, q);
    fetch_wait_submit(a->wait, r);
    fetch_wait_for(a->wait, &q->asked);
}

/* Takes a question's answer. 0 or the task's error. */
static int take(struct asking *a, struct question *q)
{
    struct fetch_request *r = &q->asked.request;
    if (r->error.code == GLINT_OK) {
        decode(a, q);
        if (r->error.code != GLINT_OK) ask_again(a, q);
        if (r->error.code == GLINT_OK) decode(a, q);
    }
    for (uint32_t i = q->first; r->error.code == GLINT_OK && i < q->first + q->count; i++)
        a->places[i].answer = a->parts[i];
    return r->error.code == GLINT_OK ? 0 : fetch_failed(a->wait->task, &r->error);
}

/* Which of a question's outputs is not there; the task's error is set. */
static uint32_t find_lost(struct asking *a, const struct question *q)
{
    struct glint_task *task = a->wait->task;
    bool unknown = q->count > 1 && q->asked.request.error.code == GLINT_E_FETCH_FAILED;
    a->bytes_max = 0;
    for (uint32_t i = 0; unknown && i < q->count; i++) {
        struct question one = {.first = q->first + i, .count = 1};
        struct glint_error before = task->error;
        task->error.code = GLINT_OK;
        ask(a, &one);
        fetch_wait_submit(a->wait, &one.asked.request);
        fetch_wait_for(a->wait, &one.asked);
        int e = take(a, &one);
        buffer_fini(&one.asked.request.answer);
        if (e != 0) return a->places[one.first].input;
        task->error = before;
    }
    return a->places[q->first].input;
}

static int ask_all(struct asking *a, struct fetch_places *p)
{
    struct fetch_request *first = NULL;
    for (uint32_t i = p->question_count; i-- > 0;) {
        ask(a, &p->questions[i]);
        p->questions[i].asked.request.next = first;
        first = &p->questions[i].asked.request;
    }
    fetch_wait_submit(a->wait, first);
    for (uint32_t i = 0; i < p->question_count; i++)
        fetch_wait_for(a->wait, &p->questions[i].asked);
    struct question *failed = NULL;
    int r = 0;
    for (uint32_t i = 0; i < p->question_count; i++) {
        int e = take(a, &p->questions[i]);
        if (r == 0 && e != 0) failed = &p->questions[i];
        if (r == 0) r = e;
    }
    if (r == GLINT_E_FETCH_FAILED) p->lost = find_lost(a, failed);
    return a->wait->task->error.code;
}

/* Memory for everything, and the places by their executors. */
static int begin(struct asking *a, struct fetch_places *p, uint32_t count)
{
    struct glint_task *task = a->wait->task;
    p->all = task_alloc(task, (count + 1) * sizeof *p->all);
    if (p->all == NULL) return task->error.code;
    for (uint32_t i = 0; i < count; i++)
        if (a->inputs[i].local == NULL) p->all[p->count++].input = i;
    qsort_r(p->all, p->count, sizeof *p->all, compare_executors, (void *)(uintptr_t)a->inputs);
    a->places = p->all;
    uint32_t executors = 0;
    for (uint32_t i = 0; i < p->count; i++) executors += is_first(a, i);
    p->questions = task_alloc(task, (executors + 1) * sizeof *p->questions);
    a->maps = task_alloc(task, (p->count + 1) * sizeof *a->maps);
    a->parts = task_alloc(task, (p->count + 1) * sizeof *a->parts);
    if (p->questions == NULL || a->maps == NULL || a->parts == NULL) return task->error.code;
    if (executors > 0) a->bytes_max /= executors;
    if (a->bytes_max > FETCH_CHUNK_BYTES_MAX) a->bytes_max = FETCH_CHUNK_BYTES_MAX;
    return 0;
}

int fetch_places_ask(struct fetch_places *p, struct fetch_wait *w, uint64_t bytes_max,
                     uint64_t shuffle, uint32_t partition, const struct fetch_input *inputs,
                     uint32_t count)
{
    struct asking a = {.wait = w,
                       .shuffle = shuffle,
                       .bytes_max = bytes_max,
                       .partition = partition,
                       .inputs = inputs};
    *p = (struct fetch_places){.lost = UINT32_MAX};
    int r = begin(&a, p, count);
    if (r != 0) return r;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct fetch_input *in = &inputs[p->all[i].input];
        if (is_first(&a, i)) p->questions[p->question_count++] = (struct question){.first = i};
        p->questions[p->question_count - 1].count++;
        a.maps[i][0] = in->map;
        a.maps[i][1] = in->attempt;
    }
    r = ask_all(&a, p);
    qsort(p->all, p->count, sizeof *p->all, compare_inputs);
    return r;
}

void fetch_places_free(struct fetch_places *p)
{
    for (uint32_t i = 0; i < p->question_count; i++)
        buffer_fini(&p->questions[i].asked.request.answer);
    p->question_count = 0;
}
