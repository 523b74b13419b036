/* State changes of tasks, attempts, stages, executors and nodes. All of them are made here, so that
 * the bitmaps, rings and buckets that make sched_next_task fast always match the states. */
#include "engine/base/mem.h"
#include "engine/sched/sched_internal.h"

#include <assert.h>

/* ---- Hierarchical bitmaps. All levels are in one array, level 0 first; the last level is a single
 * word. */

static_assert(64ull * 64 * 64 * 64 * 64 * 64 > UINT32_MAX, "the levels cover every uint32_t");

static uint64_t word_bit_mask(uint32_t number)
{
    return UINT64_C(1) << (number & 63);
}

bool hbitmap_reserve(struct hbitmap *b, uint32_t capacity)
{
    if (capacity <= b->capacity) return true;
    struct hbitmap grown = {.capacity = capacity};
    for (uint32_t words = capacity; words > 1 || grown.levels == 0;) {
        words = (uint32_t)(((uint64_t)words + 63) / 64);
        assert(grown.levels < HBITMAP_LEVELS_MAX);
        grown.offsets[grown.levels++] = grown.word_count;
        grown.word_count += words;
    }
    grown.words = mem_zalloc(sizeof *grown.words * grown.word_count);
    if (grown.words == NULL) return false;
    /* Level boundaries move with the capacity, so the words cannot be copied as they are. */
    for (uint32_t i = hbitmap_next(b, 0); i != HBITMAP_NONE; i = hbitmap_next(b, i + 1))
        hbitmap_set(&grown, i);
    mem_free(b->words);
    *b = grown;
    return true;
}

void hbitmap_fini(struct hbitmap *b)
{
    mem_free(b->words);
    *b = (struct hbitmap){0};
}

void hbitmap_set(struct hbitmap *b, uint32_t number)
{
    assert(number < b->capacity);
    for (uint32_t level = 0; level < b->levels; level++, number >>= 6) {
        uint64_t *word = &b->words[b->offsets[level] + (number >> 6)], before = *word;
        *word = before | word_bit_mask(number);
        if (before != 0) return; /* the levels above have this word's bit */
    }
}

void hbitmap_clear(struct hbitmap *b, uint32_t number)
{
    assert(number < b->capacity);
    for (uint32_t level = 0; level < b->levels; level++, number >>= 6) {
        uint64_t *word = &b->words[b->offsets[level] + (number >> 6)];
        *word &= ~word_bit_mask(number);
        if (*word != 0) return; /* the levels above keep this word's bit */
    }
}

void hbitmap_assign(struct hbitmap *b, uint32_t number, bool member)
{
    if (member)
        hbitmap_set(b, number);
    else
        hbitmap_clear(b, number);
}

/* Climbs until a word has a set bit at or after `from`, then descends along the first set bits. */
uint32_t hbitmap_next(const struct hbitmap *b, uint32_t from)
{
    if (from >= b->capacity) return HBITMAP_NONE;
    for (uint32_t level = 0; level < b->levels; level++) {
        uint32_t end = level + 1 < b->levels ? b->offsets[level + 1] : b->word_count;
        if (b->offsets[level] + (from >> 6) >= end) return HBITMAP_NONE;
        uint64_t word = b->words[b->offsets[level] + (from >> 6)] & (UINT64_MAX << (from & 63));
        if (word == 0) {
            from = (from >> 6) + 1;
            continue;
        }
        uint32_t found = (from & ~63u) | (uint32_t)__builtin_ctzll(word);
        while (level-- > 0) {
            assert(b->words[b->offsets[level] + found] != 0);
            found = found << 6 | (uint32_t)__builtin_ctzll(b->words[b->offsets[level] + found]);
        }
        return found;
    }
    return HBITMAP_NONE;
}

bool hbitmap_is_empty(const struct hbitmap *b)
{
    return b->levels == 0 || b->words[b->offsets[b->levels - 1]] == 0;
}

uint64_t hbitmap_memory_bytes(const struct hbitmap *b)
{
    return sizeof *b->words * b->word_count;
}

void sched_task_ring_add(struct sched_task_ring *ring, struct sched_task *t)
{
    assert(t->next == NULL && t->prev == NULL);
    struct sched_task *first = ring->first;
    t->next = first != NULL ? first : t;
    t->prev = first != NULL ? first->prev : t;
    t->prev->next = t;
    t->next->prev = t;
    if (first == NULL) ring->first = t;
}

void sched_task_ring_remove(struct sched_task_ring *ring, struct sched_task *t)
{
    assert(ring->first != NULL && t->next != NULL);
    if (ring->first == t) ring->first = t->next != t ? t->next : NULL;
    t->prev->next = t->next;
    t->next->prev = t->prev;
    t->next = t->prev = NULL;
}

/* ---- Stages */

/* Recomputes in which of the scheduler's two stage bitmaps the stage is. */
static void update_stage_sets(struct sched *s, uint32_t number)
{
    const struct sched_stage *stage = &s->stages[number];
    hbitmap_assign(&s->runnable_stages, number, stage->ready && !hbitmap_is_empty(&stage->waiting));
    bool speculatable = s->speculate && stage->needed && !sched_stage_is_complete(stage) &&
                        (uint64_t)stage->done * 4 >= (uint64_t)stage->count * 3;
    hbitmap_assign(&s->speculatable, number, speculatable);
}

/* A stage is needed if a needed child is not complete. Children have higher numbers than their
 * parents, so one pass from the last stage to the first is enough. */
static void mark_needed_stages(struct sched *s)
{
    for (uint32_t i = 0; i < s->stage_count; i++) s->stages[i].needed = i + 1 == s->stage_count;
    for (uint32_t i = s->stage_count; i-- > 0;) {
        const struct sched_stage *stage = &s->stages[i];
        if (!stage->needed || sched_stage_is_complete(stage)) continue;
        for (uint32_t p = 0; p < stage->parent_count; p++)
            s->stages[stage->parents[p]].needed = true;
    }
}

void sched_update_stages(struct sched *s)
{
    if (!s->stages_stale) return;
    s->stages_stale = false;
    mark_needed_stages(s);
    for (uint32_t i = 0; i < s->stage_count; i++) {
        struct sched_stage *stage = &s->stages[i];
        stage->ready = stage->needed && !stage->failed;
        /* Not while a parent is incomplete: a task reads its share of every map output. */
        for (uint32_t p = 0; p < stage->parent_count && stage->ready; p++)
            stage->ready = sched_stage_is_complete(&s->stages[stage->parents[p]]);
        update_stage_sets(s, i);
    }
}

void sched_fail_stage(struct sched *s, struct sched_stage *stage, enum sched_status why)
{
    assert(stage->needed && why != SCHED_RUNNING);
    stage->failed = true;
    s->stages_stale = true;
    if (s->status == SCHED_RUNNING) s->status = why;
}

/* ---- Tasks */

/* Undoes what the task's present state has in the tables. */
static void leave_task_state(struct sched *s, struct sched_stage *stage, struct sched_task *t)
{
    if (t->state == TASK_WAITING) {
        hbitmap_clear(&stage->waiting, sched_task_number(s, t));
        stage->waiting_count--;
        if (t->executor != SCHED_NONE) sched_task_ring_remove(&stage->preferred[t->executor], t);
    }
    if (t->state == TASK_DONE) {
        assert(stage->done > 0 && stage != &s->stages[s->stage_count - 1]);
        if (sched_stage_is_complete(stage)) s->stages_stale = true;
        sched_task_ring_remove(&s->executors[t->executor].outputs, t);
        stage->done--;
        stage->epoch++;
        /* The superseded copy keeps running, and its result is still ignored; but the task no
         * longer refers to it, and gets a new attempt. */
        t->other_copy = NULL;
    }
    t->executor = SCHED_NONE;
}

void sched_task_set_state(struct sched *s, struct sched_task *t, enum task_state state)
{
    struct sched_stage *stage = &s->stages[t->stage];
    assert(t->state != TASK_FAILED && state != TASK_DONE);
    assert((state == TASK_RUNNING) == (t->run != NULL) || state == TASK_FAILED);
    leave_task_state(s, stage, t);
    t->state = (uint8_t)state;
    if (state == TASK_WAITING) {
        hbitmap_set(&stage->waiting, sched_task_number(s, t));
        stage->waiting_count++;
    }
    update_stage_sets(s, t->stage);
}

void sched_task_set_done(struct sched *s, struct sched_task *t, uint32_t executor, uint32_t attempt)
{
    struct sched_stage *stage = &s->stages[t->stage];
    assert(t->state == TASK_WAITING || t->state == TASK_RUNNING);
    assert(t->run == NULL && attempt < t->attempts);
    leave_task_state(s, stage, t);
    t->state = TASK_DONE;
    t->executor = executor;
    t->attempt = attempt;
    sched_task_ring_add(&s->executors[executor].outputs, t);
    stage->done++;
    stage->epoch++;
    assert(stage->done <= stage->count);
    if (sched_stage_is_complete(stage)) {
        s->stages_stale = true;
        mem_free(stage->preferred); /* no task waits, so all its rings are empty */
        stage->preferred = NULL;
        stage->preferred_capacity = 0;
    }
    update_stage_sets(s, t->stage);
}

/* ---- Attempts */

/* Appends to the queue: the executor starts its tasks in the order in which they were sent. */
static void attempt_queue_add(struct sched *s, struct sched_executor *e, struct sched_attempt *a)
{
    struct sched_attempt **link = &e->queue;
    while (*link != NULL) link = &(*link)->next_queued;
    *link = a;
    a->queued = true;
    e->queued++;
    hbitmap_set(&s->executors_with_queue, a->executor);
}

static void attempt_queue_remove(struct sched *s, struct sched_executor *e, struct sched_attempt *a)
{
    struct sched_attempt **link = &e->queue;
    while (*link != a) link = &(*link)->next_queued;
    *link = a->next_queued;
    a->next_queued = NULL;
    if (a->revoked) e->revoking = false; /* started or returned: another one can be revoked */
    a->queued = a->revoked = false;
    e->queued--;
    if (e->queue != NULL) return;
    hbitmap_clear(&s->executors_with_queue, a->executor);
    hbitmap_clear(&s->draining_with_queue, a->executor);
}

/* The attempt occupies a slot from now on. */
static void occupy_slot(struct sched *s, struct sched_executor *e, struct sched_attempt *a)
{
    assert(e->busy < e->slots && !a->queued);
    e->busy++;
    s->running++;
    a->start_ns = s->now_ns;
}

/* Candidates for a speculative copy are running or queued attempts without another copy. Without
 * speculation there are none. */
static void speculation_add_candidate(struct sched *s, struct sched_attempt *a)
{
    if (!s->speculate) return;
    struct sched_stage *stage = &s->stages[a->task->stage];
    assert(a->next == NULL && a->prev == NULL);
    struct sched_attempt *first = stage->oldest, *after = first;
    a->next = a->prev = a;
    if (first == NULL) {
        stage->oldest = a;
        return;
    }
    /* Insert it before the first one that started later. A new attempt starts last, so it goes to
     * the end. One that is a candidate again, since its copy has ended, belongs near the front. */
    bool last = first->prev->start_ns <= a->start_ns;
    while (!last && after->start_ns <= a->start_ns) after = after->next;
    a->next = after;
    a->prev = after->prev;
    a->prev->next = a->next->prev = a;
    if (!last && after == first) stage->oldest = a;
}

static void speculation_remove_candidate(struct sched *s, struct sched_attempt *a)
{
    if (a->prev == NULL) return;
    struct sched_stage *stage = &s->stages[a->task->stage];
    assert(stage->oldest != NULL);
    if (stage->oldest == a) stage->oldest = a->next != a ? a->next : NULL;
    a->prev->next = a->next;
    a->next->prev = a->prev;
    a->next = a->prev = NULL;
}

struct sched_attempt *sched_attempt_add(struct sched *s, struct sched_task *t, uint32_t executor)
{
    struct sched_executor *e = &s->executors[executor];
    struct sched_attempt *a = e->free;
    bool queued = e->busy == e->slots;
    /* A task has at most one speculative copy at a time, and it is never queued. */
    assert(a != NULL && a->task == NULL && t->other_copy == NULL && !(queued && t->run != NULL));
    e->free = a->next_queued;
    *a = (struct sched_attempt){.task = t,
                                .executor = executor,
                                .number = t->attempts++,
                                .stage_attempt = s->stages[t->stage].stage_attempt,
                                .sent_ns = s->now_ns,
                                .start_ns = s->now_ns,
                                .speculative = t->run != NULL};
    if (queued)
        attempt_queue_add(s, e, a);
    else
        occupy_slot(s, e, a);
    sched_executor_update_bucket(s, executor);
    if (a->speculative) {
        speculation_remove_candidate(s, t->run); /* it has its copy */
        t->other_copy = a;
        return a;
    }
    t->run = a;
    sched_task_set_state(s, t, TASK_RUNNING);
    speculation_add_candidate(s, a);
    return a;
}

/* A slot was freed, and the executor starts the first queued task without a message from the
 * driver. So the driver assumes the same. */
static void start_queued_attempt(struct sched *s, struct sched_executor *e)
{
    struct sched_attempt *a = e->queue;
    attempt_queue_remove(s, e, a);
    /* Its start time changes, and with it its place among the candidates. */
    speculation_remove_candidate(s, a);
    occupy_slot(s, e, a);
    if (sched_attempt_is_only_copy(a)) speculation_add_candidate(s, a);
}

void sched_attempt_finish(struct sched *s, struct sched_attempt *a)
{
    struct sched_executor *e = &s->executors[a->executor];
    struct sched_task *t = a->task;
    bool occupied = !a->queued;
    assert(t != NULL && e->busy > 0 && s->running > 0);
    speculation_remove_candidate(s, a);
    if (!occupied) attempt_queue_remove(s, e, a);
    if (t->run == a || t->other_copy == a) {
        if (t->run == a) t->run = t->other_copy;
        t->other_copy = NULL;
        if (t->run != NULL) speculation_add_candidate(s, t->run); /* it may get another copy */
    }
    a->task = NULL;
    a->next_queued = e->free;
    e->free = a;
    e->busy -= occupied;
    s->running -= occupied;
    if (occupied && e->queue != NULL) start_queued_attempt(s, e);
    sched_executor_update_bucket(s, a->executor);
}

/* ---- Executors and nodes */

static bool node_is_excluded_or_failing(const struct sched_node *n)
{
    return n->excluded || n->failures_in_row >= SCHED_NODE_FAILURES_MAX;
}

bool sched_node_accepts_tasks(const struct sched *s, uint32_t node)
{
    const struct sched_node *n = &s->nodes[node];
    /* With only excluded nodes left, a slow job is better than none. */
    return n->usable > 0 && (!node_is_excluded_or_failing(n) || s->nodes_good == 0);
}

void sched_executor_update_bucket(struct sched *s, uint32_t executor)
{
    struct sched_executor *e = &s->executors[executor];
    bool takes = !e->lost && !e->draining && !e->suspect && sched_node_accepts_tasks(s, e->node);
    uint32_t slots = e->slots - e->busy, bucket = 0;
    if (takes) bucket = slots > 0 ? QUEUE_ONLY + slots : e->prefetch - e->queued;
    if (bucket == e->bucket) return;
    if (e->bucket != 0) {
        hbitmap_clear(&s->buckets[e->bucket], executor);
        if (hbitmap_is_empty(&s->buckets[e->bucket]))
            hbitmap_clear(&s->nonempty_buckets, BUCKETS_MAX - e->bucket);
    }
    e->bucket = bucket;
    if (bucket != 0) {
        hbitmap_set(&s->buckets[bucket], executor);
        hbitmap_set(&s->nonempty_buckets, BUCKETS_MAX - bucket);
    }
}

/* Writes the node and updates the counts of good and bad nodes. If a node became bad or good, or
 * the last good one is gone, or the first one came, then executors of any node may accept tasks or
 * stop accepting them. */
static void update_node_and_counts(struct sched *s, uint32_t node, struct sched_node now)
{
    struct sched_node *n = &s->nodes[node];
    bool any_good = s->nodes_good > 0,
         turned = node_is_excluded_or_failing(n) != node_is_excluded_or_failing(&now);
    if (n->usable > 0) *(node_is_excluded_or_failing(n) ? &s->nodes_bad : &s->nodes_good) -= 1;
    *n = now;
    if (n->usable > 0) *(node_is_excluded_or_failing(n) ? &s->nodes_bad : &s->nodes_good) += 1;
    assert(s->nodes_good <= s->node_capacity && s->nodes_bad <= s->node_capacity);
    if (!turned && any_good == (s->nodes_good > 0)) return;
    for (uint32_t e = 0; e < s->executor_count; e++) sched_executor_update_bucket(s, e);
}

void sched_executor_set_usable(struct sched *s, uint32_t executor, bool usable)
{
    struct sched_node n = s->nodes[s->executors[executor].node];
    assert(usable || (n.usable > 0 && s->usable_executors > 0));
    n.usable += usable ? 1 : UINT32_MAX; /* + 1 or - 1 */
    s->usable_executors += usable ? 1 : UINT32_MAX;
    uint32_t slots = s->executors[executor].slots;
    s->slots = usable ? s->slots + slots : s->slots - slots;
    update_node_and_counts(s, s->executors[executor].node, n);
    sched_executor_update_bucket(s, executor);
}

void sched_node_record_outcome(struct sched *s, uint32_t node, bool failed)
{
    struct sched_node n = s->nodes[node];
    if (!failed && n.failures_in_row == 0) return;
    n.failures_in_row = failed ? n.failures_in_row + 1 : 0;
    update_node_and_counts(s, node, n);
}

void sched_node_set_excluded(struct sched *s, uint32_t node, bool excluded)
{
    struct sched_node n = s->nodes[node];
    if (n.excluded == excluded) return;
    n.excluded = excluded;
    update_node_and_counts(s, node, n);
}
