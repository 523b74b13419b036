/* What the scheduler's files share: its tables, and the few functions that change them.
 *
 * sched.c       makes the tables, answers questions
 * sched_state.c the state of a task, of the stages above and below it, of executors and nodes
 * sched_pick.c  which task is next, and where: sched_next
 * sched_slow.c  attempts that run far longer than others: twins, sched_wake_ns
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

#include "engine/driver/bits.h"
#include "engine/driver/sched.h"
#include "engine/limits.h"

#include <stddef.h>

enum task_state { TASK_WAITING, TASK_RUNNING, TASK_DONE, TASK_FAILED };

struct sched_attempt;

struct sched_task {
    struct sched_task *next, *prev; /* the ring it is in: see above */
    /* Running: its attempts; most have no twin. Done: none, and as twin the one to be told to end.
     */
    struct sched_attempt *run, *twin;
    uint32_t stage;
    uint32_t executor; /* waiting: the preferred one, or SCHED_NONE; done: who has the output */
    uint32_t attempt;  /* done: which one made it */
    uint32_t attempts; /* given out so far: the next one's number */
    uint32_t left;     /* the node of the last attempt that did not end well, or SCHED_NONE */
    uint32_t failed_on[TASK_ATTEMPTS_MAX - 1]; /* the nodes of those that counted */
    uint8_t state, failures;
};

/* A place in use, or free. Doomed: its task no longer wants it, so only its slot matters. */
struct sched_attempt {
    struct sched_task *task;           /* NULL: free */
    struct sched_attempt *next, *prev; /* without a twin: the stage's ring, the oldest first */
    struct sched_attempt *behind;      /* free, queued: the next such one */
    uint64_t begun_ns;
    uint32_t executor, number, round;
    bool doomed, speculative, queued, recalled;
};

struct sched_ring {
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
    struct bits waiting;
    uint32_t *parents;
    uint32_t parent_count;
    uint32_t epoch;
    uint32_t round, rounds_failed; /* of fetching: a round ends with its first failed fetch */
    bool needed, ready, failed;
    struct sched_ring *preferred; /* per executor; NULL until a task prefers one */
    uint32_t preferred_count;
    struct sched_attempt *oldest; /* speculation only, as is `durations` */
    struct durations *durations;
};

struct sched_executor {
    struct sched_attempt *attempts, *free; /* [slots + ahead]; NULL when it is lost */
    struct sched_attempt *queue;           /* the first to run */
    struct sched_ring outputs;
    uint32_t node, slots, ahead, busy, queued;
    uint32_t bucket; /* the set it is in; 0: none */
    bool lost, draining, silent;
    bool recalls; /* an attempt that is queued there is called back, since recall_ns */
    uint64_t recall_ns;
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
    struct bits buckets[BUCKETS_MAX + 1]; /* executors that take tasks, by their room */
    struct bits rooms;                    /* BUCKETS_MAX - bucket, of those that are not empty */
    struct bits open;                     /* stages that are ready and have tasks that wait */
    struct bits late;                     /* stages where 3 in 4 tasks are done, but not all */
    struct bits queues;                   /* executors where something is queued */
    struct bits leaving;                  /* of these, those that drain */
    uint32_t room_most;
    uint32_t nodes_good, nodes_bad; /* with usable executors */
    uint32_t running, losses, alive;
    uint64_t slots;  /* of executors that are alive */
    uint64_t now_ns; /* of the last call that told it */
    enum sched_verdict verdict;
    const struct sched_task *failed; /* the first task that did; NULL: none */
    bool speculate, stopped;
    bool process_died;
    bool stages_stale; /* a stage became complete, incomplete or failed */
};

static inline uint32_t sched_task_number(const struct sched *s, const struct sched_task *t)
{
    return (uint32_t)(t - s->stages[t->stage].tasks);
}

static inline struct sched_run sched_run_of(const struct sched *s, const struct sched_attempt *a)
{
    return (struct sched_run){.executor = a->executor,
                              .stage = a->task->stage,
                              .task = sched_task_number(s, a->task),
                              .attempt = a->number,
                              .speculative = a->speculative,
                              .begun_ns = a->begun_ns,
                              .queued = a->queued,
                              .doomed = a->doomed};
}

/* Its task has no other. */
static inline bool sched_is_alone(const struct sched_attempt *a)
{
    return a->task->run == a && a->task->twin == NULL;
}

static inline bool sched_any_slot_free(const struct sched *s)
{
    return bits_next(&s->rooms, 0) < BUCKETS_MAX - QUEUE_ONLY;
}

static inline bool sched_complete(const struct sched_stage *stage)
{
    return stage->done == stage->count;
}

/* ---- sched_state.c */

void sched_ring_add(struct sched_ring *ring, struct sched_task *t);
void sched_ring_remove(struct sched_ring *ring, struct sched_task *t);
/* The only function that writes a task's state. Done: by `executor`, as `attempt`. */
void sched_become(struct sched *s, struct sched_task *t, enum task_state state);
void sched_become_done(struct sched *s, struct sched_task *t, uint32_t executor, uint32_t attempt);
/* At the end of whatever may have changed a stage: which ones are needed, which ready. */
void sched_settle(struct sched *s);
void sched_fail_stage(struct sched *s, struct sched_stage *stage, enum sched_verdict why);

/* Queued, where no slot is free. */
struct sched_attempt *sched_begin(struct sched *s, struct sched_task *t, uint32_t executor);
/* Its slot is free for the first that is queued there, and its task has it no more. */
void sched_end(struct sched *s, struct sched_attempt *a);

/* Puts the executor among those that take tasks, or not. */
void sched_executor_review(struct sched *s, uint32_t executor);
void sched_executor_usable(struct sched *s, uint32_t executor, bool usable);
void sched_node_outcome(struct sched *s, uint32_t node, bool failed);
void sched_node_exclude(struct sched *s, uint32_t node, bool excluded);
/* Takes tasks: has usable executors, and is not set aside. */
bool sched_node_takes(const struct sched *s, uint32_t node);

/* ---- sched_pick.c */

/* The executor with the most free slots, the lowest number among equals, on a node where the task
 * may run: not on `other_than`, and not where it failed while another node takes tasks. SCHED_NONE:
 * there is none. */
uint32_t sched_find_executor(const struct sched *s, const struct sched_task *t,
                             uint32_t other_than);

/* ---- sched_slow.c: nothing happens here without speculation */

void sched_slow_begun(struct sched *s, struct sched_attempt *a);
void sched_slow_ended(struct sched *s, struct sched_attempt *a);
void sched_slow_done(struct sched *s, const struct sched_attempt *a, uint64_t now_ns);
/* A task whose attempt runs far too long, and where its twin can run. */
struct sched_task *sched_slow_pick(const struct sched *s, uint32_t *out_executor);

#endif
