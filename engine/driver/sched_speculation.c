/* Speculation: when 3 in 4 tasks of a stage are done, an attempt that runs far longer than they did
 * gets a speculative copy on another node. The first of the two that succeeds counts.
 *
 * A stage's candidates are a ring in order of their start times. The limit is the same for all, so
 * the oldest candidate reaches it first, and a search stops at the first one below the limit. */
#include "engine/driver/sched_internal.h"

#include <assert.h>

static_assert(DURATION_BUCKETS >= 16 * (64 - 3), "every duration has a bucket");

static uint32_t duration_bucket(uint64_t ns)
{
    if (ns < 16) return (uint32_t)ns;
    uint32_t power = 63 - (uint32_t)__builtin_clzll(ns);
    return (power - 3) * 16 + (uint32_t)(ns >> (power - 4) & 15);
}

/* Returns the first duration above the bucket. The cap keeps sums of it from overflowing. */
static uint64_t duration_bucket_end(uint32_t bucket)
{
    if (bucket < 16) return bucket + 1;
    uint32_t power = bucket / 16 + 3;
    return power < 62 ? (uint64_t)(17 + bucket % 16) << (power - 4) : UINT64_MAX / 4;
}

static void durations_add(struct durations *d, uint64_t ns)
{
    uint32_t bucket = duration_bucket(ns);
    assert(bucket < DURATION_BUCKETS);
    d->count[bucket]++;
    d->total++;
    if (bucket < d->median) d->below++;
    /* `half` durations are below the median. Move its bucket until that holds again. */
    uint32_t half = (d->total - 1) / 2;
    while (d->below > half) d->below -= d->count[--d->median];
    while (d->below + d->count[d->median] <= half) d->below += d->count[d->median++];
}

void speculation_add_candidate(struct sched *s, struct sched_attempt *a)
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

void speculation_remove_candidate(struct sched *s, struct sched_attempt *a)
{
    if (a->prev == NULL) return;
    struct sched_stage *stage = &s->stages[a->task->stage];
    assert(stage->oldest != NULL);
    if (stage->oldest == a) stage->oldest = a->next != a ? a->next : NULL;
    a->prev->next = a->next;
    a->next->prev = a->prev;
    a->next = a->prev = NULL;
}

void speculation_record_duration(struct sched *s, const struct sched_attempt *a, uint64_t now_ns)
{
    struct durations *d = s->stages[a->task->stage].durations;
    if (d != NULL) durations_add(d, now_ns > a->start_ns ? now_ns - a->start_ns : 0);
}

/* When the attempt becomes too slow; UINT64_MAX: no task of its stage is done to compare with. */
static uint64_t slow_deadline_ns(const struct sched_stage *stage, const struct sched_attempt *a)
{
    if (stage->durations->total == 0) return UINT64_MAX;
    uint64_t median = duration_bucket_end(stage->durations->median), wait = median + median / 2;
    /* For tasks of a few milliseconds a copy costs more than it saves. */
    if (wait < SCHED_SPECULATE_NS_MIN) wait = SCHED_SPECULATE_NS_MIN;
    return a->start_ns + wait;
}

/* When the attempt may get a copy. A queued one is revoked first, which is cheaper than a copy; it
 * gets one only if its executor is suspect, or has not responded within SCHED_SPECULATE_NS_MIN. */
static uint64_t copy_start_ns(const struct sched *s, const struct sched_stage *stage,
                              const struct sched_attempt *a)
{
    const struct sched_executor *e = &s->executors[a->executor];
    uint64_t deadline = slow_deadline_ns(stage, a),
             revoke_deadline = e->revoke_ns + SCHED_SPECULATE_NS_MIN;
    if (!a->queued || e->suspect) return deadline;
    if (!e->revoking) return UINT64_MAX;
    return deadline > revoke_deadline ? deadline : revoke_deadline;
}

struct sched_task *speculation_pick_task(const struct sched *s, uint32_t *out_executor)
{
    for (uint32_t i = hbitmap_next(&s->speculatable, 0); i != HBITMAP_NONE;
         i = hbitmap_next(&s->speculatable, i + 1)) {
        const struct sched_stage *stage = &s->stages[i];
        const struct sched_attempt *a = stage->oldest;
        if (!stage->ready || a == NULL) continue;
        do {
            if (slow_deadline_ns(stage, a) > s->now_ns) break; /* all behind it are younger */
            assert(a->task->run == a && a->task->other_copy == NULL);
            *out_executor = SCHED_NONE;
            if (copy_start_ns(s, stage, a) <= s->now_ns)
                *out_executor = sched_find_executor(s, a->task, s->executors[a->executor].node);
            if (*out_executor != SCHED_NONE) return a->task;
            a = a->next;
        } while (a != stage->oldest);
    }
    return NULL;
}

/* A deadline that has passed by the last sched_next_task is not returned: no executor could run the
 * copy then, and only an event can change that. */
uint64_t sched_next_wakeup_ns(const struct sched *s)
{
    uint64_t wake = UINT64_MAX;
    if (s->stopped || s->status != SCHED_RUNNING || !sched_has_free_slot(s)) return wake;
    for (uint32_t i = hbitmap_next(&s->speculatable, 0); i != HBITMAP_NONE;
         i = hbitmap_next(&s->speculatable, i + 1)) {
        const struct sched_stage *stage = &s->stages[i];
        const struct sched_attempt *a = stage->oldest;
        if (!stage->ready || a == NULL) continue;
        bool passed;
        do {
            uint64_t deadline = slow_deadline_ns(stage, a);
            passed = deadline <= s->now_ns;
            if (passed) deadline = copy_start_ns(s, stage, a);
            if (deadline > s->now_ns && deadline < wake) wake = deadline;
            a = a->next;
        } while (passed && a != stage->oldest);
    }
    return wake;
}
