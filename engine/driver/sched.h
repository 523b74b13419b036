/* The scheduler: a pure function of events. No clock, no sockets, no threads, no memory but its own
 * tables, so the same events always give the same commands, and one seed replays a whole cluster.
 *
 * Stages are numbered parents first; the last one is the action's. A stage is needed if it is the
 * last one, or a needed stage that reads it has tasks that are not done; a needed stage is ready
 * when all tasks of its parents are done. The oldest stage that is ready comes first, and the
 * executor with the most free slots: it takes a task that prefers it, or else the first that waits,
 * which goes to the executor that it prefers itself if that one has a free slot.
 *
 * Where no slot is free tasks are queued ahead, so that a slot has its next task at once, and short
 * ones go out and come back several at a time: as many at an executor as it may have (`ahead`), and
 * only while the stage has at least a task for each slot left. One that is queued runs when a slot
 * there ends; it is called back [sched_revoke_queued] if before that another executor's slot is
 * free and nothing else waits for it, or its own executor drains or is set aside. Where it does not
 * come back it may have a twin, like one that runs.
 *
 *   task: WAITING -> RUNNING  [sched_next_task]
 *         RUNNING -> DONE     [sched_on_task_done]
 *         RUNNING -> WAITING  [sched_on_task_failed, sched_on_executor_lost]
 *         RUNNING -> FAILED   [sched_on_task_failed, sched_on_executor_lost: the last time]
 *         DONE    -> WAITING  [sched_on_executor_lost, sched_on_map_output_lost; not in the last
 * stage]
 *
 * What counts: a task has TASK_ATTEMPTS_MAX attempts that failed by its own doing; a stage may
 * fail to fetch STAGE_ATTEMPTS_MAX times in a row (a task of it that ends well begins anew; what
 * was begun before a failure is part of that one); a job may lose EXECUTOR_FAILURES_MAX executors.
 * Nothing counts in a stage that is no longer needed. An attempt's number is never given twice for
 * a task, so whatever comes late belongs to no attempt that runs, and is ignored. What was queued
 * at an executor that is lost had not begun. Of one whose process died just when a task had ended
 * and the queued one had begun, that cannot be known; so once a process has died nothing is queued
 * any more, and whoever kills processes is found out.
 *
 * Where another attempt goes: not to a node where the task failed by its own doing, if there is
 * another that takes tasks, even if that one is busy now, for where tasks fail soon is always room;
 * if there is none, at least not to the last of them. The node that any other attempt left is the
 * second choice. */
#ifndef GLINT_DRIVER_SCHED_H
#define GLINT_DRIVER_SCHED_H

#include "engine/limits.h"

#include <stdbool.h>
#include <stdint.h>

#define SCHED_NONE UINT32_MAX

struct sched;

struct task_attempt {
    uint32_t executor, stage, task, attempt;
    bool speculative;
    uint64_t start_ns; /* queued: when it was queued */
    bool queued;       /* it waits behind what runs there */
    bool superseded;   /* its task no longer wants it */
};

/* NULL without memory. `speculate`: start a second attempt, on another node, of a task that runs
 * far longer than the others of its stage: 1.5 times the median of the done ones, when 3 in 4 are
 * done, and no less than SCHED_SPECULATE_NS_MIN. */
#define SCHED_SPECULATE_NS_MIN 100000000u
struct sched *sched_create(bool speculate);
void sched_destroy(struct sched *s);

/* All that add answer false without memory. Executors and stages are numbered from 0, each added
 * once, in order; stages before anything runs, an executor at any time. `node` numbers hosts, below
 * EXECUTORS_MAX: executors of one node fail together. At most SLOTS_MAX slots; up to `ahead` tasks
 * behind those that run, SLOTS_MAX at most: a cluster's take sched_prefetch_limit. */
#define SCHED_PREFETCH     4u  /* behind each slot */
#define SCHED_PREFETCH_MAX 32u /* of an executor; one of so many slots has one behind each */
static inline uint32_t sched_prefetch_limit(uint32_t slots)
{
    if (slots >= SCHED_PREFETCH_MAX) return slots;
    return slots * SCHED_PREFETCH < SCHED_PREFETCH_MAX ? slots * SCHED_PREFETCH
                                                       : SCHED_PREFETCH_MAX;
}
bool sched_add_executor(struct sched *s, uint32_t node, uint32_t slots, uint32_t prefetch);
bool sched_add_stage(struct sched *s, uint32_t tasks, const uint32_t *parents,
                     uint32_t parent_count);
/* Before anything runs: this task's output is there already, made by that attempt. */
void sched_add_available_output(struct sched *s, uint32_t stage, uint32_t task, uint32_t executor,
                                uint32_t attempt);
/* Where most of the task's input is; SCHED_NONE: anywhere. Only while it waits, and for the next
 * attempt only. A hint: without memory it is not taken. */
void sched_set_preferred_executor(struct sched *s, uint32_t stage, uint32_t task,
                                  uint32_t executor);

/* The next task to start or to queue, if there is one: it counts as running from here on. */
bool sched_next_task(struct sched *s, uint64_t now_ns, struct task_attempt *out);
/* After sched_next_task said no: an attempt to be called back from where it is queued, one at a
 * time from each executor. It then fails there as SCHED_KILLED, unless it has begun by now. */
bool sched_revoke_queued(struct sched *s, struct task_attempt *out);
/* When sched_next_task may answer otherwise without an event (speculation); UINT64_MAX: never. */
uint64_t sched_next_wakeup_ns(const struct sched *s);

/* Events. Those about an attempt that does not run are late: ignored, false. */
bool sched_on_task_done(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                        uint32_t attempt, uint64_t now_ns);
/* Of the task: another attempt that still runs elsewhere, once its twin is done; to be told to
 * end. It keeps its slot until it does, but whatever it says is late. False: there is none. */
bool sched_superseded_copy(const struct sched *s, uint32_t stage, uint32_t task,
                           struct task_attempt *out);

enum sched_failure_kind {
    SCHED_FATAL_ERROR, /* another attempt would end the same way */
    SCHED_TASK_ERROR,  /* the task's own doing: counts */
    SCHED_FETCH_ERROR, /* its input was not there: counts for the stage (see
                          sched_on_map_output_lost) */
    SCHED_KILLED, /* it was not begun, or ended on our own wish: counts for nothing, is no retry */
};
bool sched_on_task_failed(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                          uint32_t attempt, enum sched_failure_kind why, uint64_t now_ns);
/* The executor is gone with all it had; its number is not used again. `blame`: SCHED_NONE, or the
 * process died by a signal while it ran these tasks, so the attempt of each counts. `counts`: it is
 * one of the job's losses (a drain is none). */
void sched_on_executor_lost(struct sched *s, uint32_t executor, bool exit_caused_by_task,
                            bool counts);
/* It gets no more tasks, those that run go on, those that are queued are called back. */
void sched_on_executor_draining(struct sched *s, uint32_t executor);
/* It gets no more tasks until it is heard again. */
void sched_on_executor_suspect(struct sched *s, uint32_t executor, bool suspect);
/* Output of a map task could not be fetched from where it was. Ignored if it is somewhere else by
 * now. */
void sched_on_map_output_lost(struct sched *s, uint32_t stage, uint32_t task, uint32_t executor,
                              uint32_t attempt);
/* Others cannot read what it makes, or it what they made: its node gets no tasks while a better one
 * is left, until this is taken back, or the executor is lost. */
void sched_set_executor_excluded(struct sched *s, uint32_t executor, bool excluded);
/* Starts no more tasks; those that run are waited for. */
void sched_stop(struct sched *s);

/* A node on which SCHED_NODE_FAILURES_MAX tasks failed in a row by their own doing (a process that
 * died is one) gets no tasks while a better node is left; a task that ends well there begins anew.
 * False: it is not, or there is no such executor. */
#define SCHED_NODE_FAILURES_MAX 4u
bool sched_is_excluded_for_failures(const struct sched *s, uint32_t executor);

enum sched_status { SCHED_RUNNING, SCHED_TASK_FAILED, SCHED_STAGE_FAILED, SCHED_TOO_MANY_LOSSES };
enum sched_status sched_status(const struct sched *s);
/* The first task that failed for good. False: none has. */
bool sched_failed_task(const struct sched *s, uint32_t *out_stage, uint32_t *out_task);
bool sched_stage_is_done(const struct sched *s, uint32_t stage);
bool sched_stage_has_failed(const struct sched *s, uint32_t stage);
bool sched_stage_is_needed(const struct sched *s, uint32_t stage);
uint32_t sched_done_task_count(const struct sched *s, uint32_t stage);
/* Slots in use: twins that are to end, too. Where none is, nothing is queued. */
uint32_t sched_busy_slots(const struct sched *s);
uint32_t sched_busy_slots_on(const struct sched *s, uint32_t executor);
/* The attempts that an executor has, one with each call; *at is 0 before the first. False: there
 * are no more. */
bool sched_each_attempt_on(const struct sched *s, uint32_t executor, uint32_t *at,
                           struct task_attempt *out);
/* Executors that can run tasks now or when others end: alive, not draining. */
uint32_t sched_usable_executor_count(const struct sched *s);
/* Who has done a task, and as which attempt. False: it is not done. */
bool sched_output_location(const struct sched *s, uint32_t stage, uint32_t task,
                           uint32_t *out_executor, uint32_t *out_attempt);
/* Changes whenever an output of the stage is somewhere else than before, or is lost. */
uint32_t sched_map_output_epoch(const struct sched *s, uint32_t stage);
/* The task will be started, first or again: no executor runs it, and its stage is needed. */
bool sched_task_is_waiting(const struct sched *s, uint32_t stage, uint32_t task);
uint32_t sched_lost_executor_count(const struct sched *s);
uint64_t sched_memory_bytes(const struct sched *s);

#endif
