/* What the scheduler's files share: its tables, and the few functions that change them.
 *
 * sched.c       makes the tables, answers questions
 * sched_state.c the state of a task, of the stages above and below it, of executors and nodes
 * sched_pick.c  which task is next, and where: sched_next_task
 * sched_speculation.c  attempts that run far longer than others: twins, sched_next_wakeup_ns
 * sched_event.c what happened: sched_on_*
 *
 * No event looks at all tasks or all executors. Tasks that wait are bits of their stage; tasks that
 * prefer an executor are a ring of the stage and the executor; tasks that are done are a ring of
 * the executor that has their output; attempts lie in places of their executor, those that are
 * queued there are a list. Executors with room are bits, one set per number of free slots, and
 * where no slot is free per number of tasks that may be queued. Only when a stage becomes
 * complete or incomplete are all stages looked at, and only when a node turns bad or good all
 * executors. */
#ifndef GLINT_DRIVER_SCHED_INTERNAL_H
#define GLINT_DRIVER_SCHED_INTERNAL_H

#include "engine/driver/hbitmap.h"
#include "engine/driver/sched.h"
#include "engine/limits.h"

#include <stddef.h>

enum task_state { TASK_WAITING, TASK_RUNNING, TASK_DONE, TASK_FAILED };

struct sched_attempt;

struct sched_task {
    struct sched_task *next, *prev; /* the ring it is in: see above */
    /* Running: its attempts; most have no twin. Done: none, and as twin the one to be told to end.
     */
    struct sched_attempt *run, *other_copy;
    uint32_t stage;
    uint32_t executor; /* waiting: the preferred one, or SCHED_NONE; done: who has the output */
    uint32_t attempt;  /* done: which one made it */
    uint32_t attempts; /* given out so far: the next one's number */
    uint32_t
        last_failed_node; /* the node of the last attempt that did not end well, or SCHED_NONE */
    uint32_t failed_on[TASK_ATTEMPTS_MAX - 1]; /* the nodes of those that counted */
    uint8_t state, failures;
};

/* A place in use, or free. Doomed: its task no longer wants it, so only its slot matters. */
struct sched_attempt {
    struct sched_task *task;           /* NULL: free */
    struct sched_attempt *next, *prev; /* without a twin: the stage's ring, the oldest first */
    struct sched_attempt *behind;      /* free, queued: the next such one */
    uint64_t start_ns;
    uint32_t executor, number, stage_attempt;
    bool superseded, speculative, queued, revoked;
};

struct sched_task_ring {
    struct sched_task *first; /* NULL: empty */
};

#define DURATION_BUCKETS 1024u

/* How long tasks took: 16 buckets for each power of two, so that the median is right to 1/16 and
 * costs a step per task. */
struct durations {
    uint32_t count[DURATION_BUCKETS];
    uint32_t total, below, median; /* `below` durations lie in buckets before the median's */
};

struct sched_stage {
    struct sched_task *tasks;
    uint32_t count, done, waiting_count;
    struct hbitmap waiting;
    uint32_t *parents;
    uint32_t parent_count;
    uint32_t epoch;
    uint32_t stage_attempt,
        stage_attempts_failed; /* of fetching: a round ends with its first failed fetch */
    bool needed, ready, failed;
    struct sched_task_ring *preferred; /* per executor; NULL until a task prefers one */
    uint32_t preferred_count;
    struct sched_attempt *oldest; /* speculation only, as is `durations` */
    struct durations *durations;
};

struct sched_executor {
    struct sched_attempt *attempts, *free; /* [slots + ahead]; NULL when it is lost */
    struct sched_attempt *queue;           /* the first to run */
    struct sched_task_ring outputs;
    uint32_t node, slots, prefetch, busy, queued;
    uint32_t bucket; /* the set it is in; 0: none */
    bool lost, draining, suspect;
    bool revoking; /* an attempt that is queued there is called back, since revoke_ns */
    uint64_t revoke_ns;
};

/* The number of an executor's set: above QUEUE_ONLY by its free slots, up to it by the tasks that
 * may be queued. */
#define QUEUE_ONLY  SLOTS_MAX
#define BUCKETS_MAX (2 * SLOTS_MAX)

struct sched_node {
    uint32_t usable; /* executors alive and not draining */
    uint32_t failures_in_row;
    bool excluded;
};

struct sched {
    struct sched_executor *executors;
    struct sched_stage *stages;
    struct sched_node *nodes;
    uint32_t executor_count, executor_capacity, stage_count, stage_capacity, node_count;
    struct hbitmap buckets[BUCKETS_MAX + 1]; /* executors that take tasks, by their room */
    struct hbitmap nonempty_buckets;         /* BUCKETS_MAX - bucket, of those that are not empty */
    struct hbitmap runnable_stages;          /* stages that are ready and have tasks that wait */
    struct hbitmap speculatable;             /* stages where 3 in 4 tasks are done, but not all */
    struct hbitmap executors_with_queue;     /* executors where something is queued */
    struct hbitmap draining_with_queue;      /* of these, those that drain */
    uint32_t room_max;
    uint32_t nodes_good, nodes_bad; /* with usable executors */
    uint32_t running, losses, usable_executors;
    uint64_t slots;  /* of executors that are alive */
    uint64_t now_ns; /* of the last call that told it */
    enum sched_status status;
    const struct sched_task *failed; /* the first task that did; NULL: none */
    bool speculate, stopped;
    bool process_died;
    bool stages_stale; /* a stage became complete, incomplete or failed */
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
                                 .start_ns = a->start_ns,
                                 .queued = a->queued,
                                 .superseded = a->superseded};
}

/* Its task has no other. */
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

/* ---- sched_state.c */

void sched_task_ring_add(struct sched_task_ring *ring, struct sched_task *t);
void sched_task_ring_remove(struct sched_task_ring *ring, struct sched_task *t);
/* The only function that writes a task's state. Done: by `executor`, as `attempt`. */
void sched_task_set_state(struct sched *s, struct sched_task *t, enum task_state state);
void sched_task_set_done(struct sched *s, struct sched_task *t, uint32_t executor,
                         uint32_t attempt);
/* At the end of whatever may have changed a stage: which ones are needed, which ready. */
void sched_update_stages(struct sched *s);
void sched_fail_stage(struct sched *s, struct sched_stage *stage, enum sched_status why);

/* Queued, where no slot is free. */
struct sched_attempt *sched_attempt_start(struct sched *s, struct sched_task *t, uint32_t executor);
/* Its slot is free for the first that is queued there, and its task has it no more. */
void sched_attempt_finish(struct sched *s, struct sched_attempt *a);

/* Puts the executor among those that take tasks, or not. */
void sched_executor_update_bucket(struct sched *s, uint32_t executor);
void sched_executor_set_usable(struct sched *s, uint32_t executor, bool usable);
void sched_node_record_outcome(struct sched *s, uint32_t node, bool failed);
void sched_node_set_excluded(struct sched *s, uint32_t node, bool excluded);
/* Takes tasks: has usable executors, and is not set aside. */
bool sched_node_accepts_tasks(const struct sched *s, uint32_t node);

/* ---- sched_pick.c */

/* The executor with the most free slots, the lowest number among equals, on a node where the task
 * may run: not on `other_than`, and not where it failed while another node takes tasks. SCHED_NONE:
 * there is none. */
uint32_t sched_find_executor(const struct sched *s, const struct sched_task *t,
                             uint32_t other_than);

/* ---- sched_speculation.c: nothing happens here without speculation */

void speculation_add_candidate(struct sched *s, struct sched_attempt *a);
void speculation_remove_candidate(struct sched *s, struct sched_attempt *a);
void speculation_record_duration(struct sched *s, const struct sched_attempt *a, uint64_t now_ns);
/* A task whose attempt runs far too long, and where its twin can run. */
struct sched_task *speculation_pick_task(const struct sched *s, uint32_t *out_executor);

#endif
