/* Shared by the scheduler's files: its tables, and the few functions that change them.
 *
 * sched.c            creates the tables; state changes of tasks, attempts, stages, executors and
 *                    nodes; events
 * sched_placement.c  the next task and its executor; speculative copies
 *
 * Few events scan all tasks or all executors. Each stage has a bitmap of its waiting tasks, and per
 * executor a ring of the waiting tasks that prefer it. Each executor has a ring of the tasks whose
 * output it has, an array of attempts (running, queued or unused), and a list of the queued ones.
 * Executors that accept tasks are in buckets: one bitmap per number of free slots and, for those
 * without a free slot, one per number of tasks that can still be queued. All stages are scanned
 * only when one becomes complete, incomplete or failed; all executors only when a node becomes
 * excluded or good again. */
#ifndef GLINT_SCHED_SCHED_INTERNAL_H
#define GLINT_SCHED_SCHED_INTERNAL_H

#include "engine/base/mem.h"
#include "engine/limits.h"
#include "engine/sched/sched.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hierarchical bitmap: a set of small numbers that finds its next member quickly.
 *
 * Level 0 has a bit per number; each level above has a bit per word of the level below that is not
 * zero. Adding, removing and finding the next member take one step per level (three levels for
 * 200,000 numbers), and iterating skips empty ranges. */

#define HBITMAP_NONE       UINT32_MAX
#define HBITMAP_LEVELS_MAX 6u

/* Zero-initialized: an empty set with capacity 0. */
struct hbitmap {
    uint64_t *words;                      /* of all levels, level 0 first */
    uint32_t offsets[HBITMAP_LEVELS_MAX]; /* index of each level's first word */
    uint32_t capacity, levels, word_count;
};

/* ---- Hierarchical bitmaps. All levels are in one array, level 0 first; the last level is a single
 * word. */

static_assert(64ull * 64 * 64 * 64 * 64 * 64 > UINT32_MAX, "the levels cover every uint32_t");

static inline uint64_t word_bit_mask(uint32_t number)
{
    return UINT64_C(1) << (number & 63);
}

/* leaves an empty set with capacity 0 */
static inline void hbitmap_fini(struct hbitmap *b)
{
    mem_free(b->words);
    *b = (struct hbitmap){0};
}

/* `number` is below the capacity. Adding a member or removing a number that is none is allowed. */
static inline void hbitmap_set(struct hbitmap *b, uint32_t number)
{
    assert(number < b->capacity);
    for (uint32_t level = 0; level < b->levels; level++, number >>= 6) {
        uint64_t *word = &b->words[b->offsets[level] + (number >> 6)], before = *word;
        *word = before | word_bit_mask(number);
        if (before != 0) return; /* the levels above have this word's bit */
    }
}

static inline void hbitmap_clear(struct hbitmap *b, uint32_t number)
{
    assert(number < b->capacity);
    for (uint32_t level = 0; level < b->levels; level++, number >>= 6) {
        uint64_t *word = &b->words[b->offsets[level] + (number >> 6)];
        *word &= ~word_bit_mask(number);
        if (*word != 0) return; /* the levels above keep this word's bit */
    }
}

/* set or clear */
static inline void hbitmap_assign(struct hbitmap *b, uint32_t number, bool member)
{
    if (member)
        hbitmap_set(b, number);
    else
        hbitmap_clear(b, number);
}

/* Climbs until a word has a set bit at or after `from`, then descends along the first set bits. */
/* Returns the smallest member >= `from`, which may exceed the capacity; HBITMAP_NONE: no such. */
static inline uint32_t hbitmap_next(const struct hbitmap *b, uint32_t from)
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

static inline bool hbitmap_is_empty(const struct hbitmap *b)
{
    return b->levels == 0 || b->words[b->offsets[b->levels - 1]] == 0;
}

/* Makes numbers below `capacity` valid; members are kept, it never shrinks. Returns false, with the
 * set unchanged, when out of memory. */
static inline bool hbitmap_reserve(struct hbitmap *b, uint32_t capacity)
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

static inline uint64_t hbitmap_memory_bytes(const struct hbitmap *b)
{
    return sizeof *b->words * b->word_count;
}

enum task_state { TASK_WAITING, TASK_RUNNING, TASK_DONE, TASK_FAILED };

struct sched_attempt;

struct sched_task {
    /* Waiting: the ring of its preferred executor, if it has one. Done: the ring of the executor
     * that has its output. */
    struct sched_task *next, *prev;
    /* Running: its attempts; most have no other copy. Done: `run` is NULL, `other_copy` is the
     * superseded copy that still runs, or NULL. */
    struct sched_attempt *run, *other_copy;
    uint32_t stage;
    uint32_t executor; /* waiting: the preferred one, or SCHED_NONE; done: it has the output */
    uint32_t attempt;  /* done: the attempt that made the output */
    uint32_t attempts; /* started so far: the next attempt's number */
    uint32_t last_failed_node; /* of the last attempt that failed, counted or not; SCHED_NONE */
    uint32_t failed_on[TASK_ATTEMPTS_MAX - 1]; /* nodes of the `failures` attempts that counted */
    uint8_t state, failures;
};

/* An element of an executor's array of attempts. `superseded`: its outcome is ignored, it only
 * occupies its slot. `revoked`: queued, and sched_revoke_queued has returned it. `stage_attempt`:
 * that of its stage when it started, see count_fetch_failure. */
struct sched_attempt {
    struct sched_task *task;           /* NULL: unused */
    struct sched_attempt *next, *prev; /* candidate for a copy: the stage's ring, oldest first */
    struct sched_attempt *next_queued; /* the next one of the free list or of the queue */
    uint64_t sent_ns, start_ns;        /* queued: start_ns is sent_ns */
    uint32_t executor, number, stage_attempt;
    bool superseded, speculative, queued, revoked;
};

struct sched_task_ring {
    struct sched_task *first; /* NULL: empty */
};

#define DURATION_BUCKETS 1024u

/* A histogram of task durations with 16 buckets per power of two, so that the median is exact to
 * 1/16. `median` is the number of its bucket, `below` the count of durations in earlier buckets:
 * they are updated with each duration, without a scan. */
struct durations {
    uint32_t count[DURATION_BUCKETS];
    uint32_t total, below, median;
};

struct sched_stage {
    struct sched_task *tasks;
    uint32_t count, done, waiting_count;
    struct hbitmap waiting;
    uint32_t *parents;
    uint32_t parent_count;
    uint32_t epoch; /* see sched_map_output_epoch */
    /* A stage attempt ends with the first fetch failure of a task attempt that started in it.
     * stage_attempts_failed counts the consecutive ones. */
    uint32_t stage_attempt, stage_attempts_failed;
    bool needed, ready, failed;
    struct sched_task_ring *preferred; /* per executor; NULL until a task prefers one */
    uint64_t preferred_capacity;
    /* Only with speculation: the ring of candidates for a copy, and the durations of done tasks. */
    struct sched_attempt *oldest;
    struct durations *durations;
};

struct sched_executor {
    struct sched_attempt *attempts, *free; /* [slots + prefetch]; NULL once it is lost */
    struct sched_attempt *queue;           /* in the order in which they will run */
    struct sched_task_ring outputs;        /* done tasks whose output it has */
    /* busy: attempts that occupy a slot; queued: attempts in `queue` */
    uint32_t node, slots, prefetch, busy, queued;
    uint32_t bucket; /* its index in sched.buckets; 0: it gets no tasks */
    bool lost, draining, suspect;
    bool revoking;      /* one of its queued attempts is being revoked: at most one at a time */
    uint64_t revoke_ns; /* since when */
};

/* The bucket of an executor: QUEUE_ONLY + its free slots or, if it has none, the number of tasks
 * that can still be queued there (1 to QUEUE_ONLY). */
#define QUEUE_ONLY  SLOTS_MAX
#define BUCKETS_MAX (2 * SLOTS_MAX)

struct sched_node {
    uint32_t usable; /* its executors that are neither lost nor draining */
    uint32_t failures_in_row;
    bool excluded; /* by sched_set_executor_excluded; failures_in_row is the other reason */
};

struct sched {
    struct sched_executor *executors;
    struct sched_stage *stages;
    struct sched_node *nodes;
    uint32_t executor_count, stage_count;
    uint64_t executor_capacity, stage_capacity, node_capacity;
    struct hbitmap buckets[BUCKETS_MAX + 1]; /* executors that accept tasks, see QUEUE_ONLY */
    /* BUCKETS_MAX - i for each bucket i that is not empty: the first is the one with most slots. */
    struct hbitmap nonempty_buckets;
    struct hbitmap runnable_stages;      /* stages that are ready and have waiting tasks */
    struct hbitmap speculatable;         /* needed stages with 3 in 4 tasks done, but not all */
    struct hbitmap executors_with_queue; /* executors where a task is queued */
    struct hbitmap draining_with_queue;  /* of these, the draining ones */
    uint32_t bucket_limit;               /* most slots or prefetch of any executor so far */
    uint32_t nodes_good, nodes_bad;      /* nodes with usable executors; bad: excluded */
    uint32_t running, losses;            /* running: occupied slots of all executors */
    uint64_t slots;                      /* of the usable executors */
    uint64_t now_ns;                     /* the time of the last call that had one */
    enum sched_status status;
    const struct sched_task *failed; /* the first task that failed; NULL: none */
    bool speculate, stopped;
    bool process_died; /* by a signal: no more prefetch, see sched.h */
    bool stages_stale; /* sched_update_stages is needed: a stage became complete, not, or failed */
};

static inline uint32_t sched_task_number(const struct sched *s, const struct sched_task *t)
{
    return (uint32_t)(t - s->stages[t->stage].tasks);
}

static inline struct task_attempt sched_attempt_info(const struct sched *s,
                                                     const struct sched_attempt *a)
{
    return (struct task_attempt){.executor = a->executor,
                                 .stage = a->task->stage,
                                 .task = sched_task_number(s, a->task),
                                 .attempt = a->number,
                                 .speculative = a->speculative,
                                 .sent_ns = a->sent_ns,
                                 .start_ns = a->start_ns,
                                 .queued = a->queued,
                                 .superseded = a->superseded};
}

/* The task's only attempt: not superseded, and without another copy. */
static inline bool sched_attempt_is_only_copy(const struct sched_attempt *a)
{
    return a->task->run == a && a->task->other_copy == NULL;
}

static inline bool sched_has_free_slot(const struct sched *s)
{
    return hbitmap_next(&s->nonempty_buckets, 0) < BUCKETS_MAX - QUEUE_ONLY;
}

static inline bool sched_stage_is_complete(const struct sched_stage *stage)
{
    return stage->done == stage->count;
}

/* ---- sched.c */

/* Starts an attempt, or queues it if no slot is free there. It is a speculative copy if another
 * attempt of the task runs. */
struct sched_attempt *sched_attempt_add(struct sched *s, struct sched_task *t, uint32_t executor);
/* It has usable executors and is not excluded, or all nodes are: the job then runs on bad nodes
 * rather than not at all. */
bool sched_node_accepts_tasks(const struct sched *s, uint32_t node);

/* ---- sched_placement.c */

/* A task is done: its duration counts for the median of its stage. */
void sched_record_duration(struct sched *s, const struct sched_attempt *a, uint64_t now_ns);

#endif
