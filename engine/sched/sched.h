/* The scheduler: decides which task runs on which executor. A pure function of events: no clock, no
 * sockets, no threads, no memory but its own tables. The same events always give the same commands,
 * so a simulation replays a whole cluster from one seed.
 *
 * Stages are numbered parents first; the last one is the action's. A stage is needed if it is the
 * last one, or if a needed stage that reads its outputs is not complete. A needed stage is ready
 * when all tasks of its parents are done. The scheduler picks the oldest stage that is ready and
 * the executor with the most free slots. That executor gets a task that prefers it. If no task
 * does, the first waiting task is picked; it goes to its own preferred executor if that one has a
 * free slot.
 *
 * Prefetch: where no slot is free, tasks are queued at the executor, so that a slot has its next
 * task without a round trip, and short tasks travel several to a write. An executor queues at most
 * `prefetch` tasks, and only while the stage has at least one waiting task per slot of the cluster.
 * A queued task starts when a slot of its executor is freed. It is revoked [sched_revoke_queued]
 * if another executor has a free slot and no waiting task can use it, or if its own executor drains
 * or is excluded. If the executor does not respond, the task may get a speculative copy, like one
 * that runs.
 *
 *   task: WAITING -> RUNNING  [sched_next_task]
 *         RUNNING -> DONE     [sched_on_task_done]
 *         RUNNING -> WAITING  [sched_on_task_failed, sched_on_executor_lost]
 *         RUNNING -> FAILED   [sched_on_task_failed, sched_on_executor_lost: the last attempt]
 *         DONE    -> WAITING  [sched_on_executor_lost, sched_on_map_output_lost; never in the last
 *                              stage, whose results the driver already has]
 *
 * Limits: a task fails after TASK_ATTEMPTS_MAX attempts with SCHED_TASK_ERROR; a stage fails after
 * STAGE_ATTEMPTS_MAX fetch failures in a row (a task that succeeds resets the count; failures of
 * attempts that started before the last counted failure belong to that one); a job fails after
 * more than EXECUTOR_FAILURES_MAX lost executors. Nothing counts in a stage that is not needed.
 *
 * An attempt's number is never reused within a task. So a stale message matches no running attempt
 * and is ignored.
 *
 * A task queued at a lost executor is assumed not to have started, so the loss does not count as
 * its failure. That is not certain: the process may have died just after it had finished a task and
 * started the queued one. So once a process has died by a signal, prefetch stops for the rest of
 * the action, and a task that kills executors is detected.
 *
 * Where the next attempt runs: never on a node where the task failed with SCHED_TASK_ERROR while
 * another node accepts tasks, even if that one is busy (a node where tasks fail fast always has
 * free slots). If it failed on all nodes, it only avoids the last of them. The node of an attempt
 * that ended in any other way is the second choice. */
#ifndef GLINT_SCHED_SCHED_H
#define GLINT_SCHED_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#define SCHED_NONE UINT32_MAX

struct sched;

/* One attempt of a task, as the scheduler reports it. */
struct task_attempt {
    uint32_t executor, stage, task, attempt;
    bool speculative; /* a speculative copy: another attempt of the task was running */
    uint64_t sent_ns;
    uint64_t start_ns; /* of a queued one: sent_ns */
    bool queued;       /* prefetched: no slot of the executor is free for it yet */
    bool superseded;   /* another copy is done, or the task failed: the outcome is ignored */
};

/* Returns NULL when out of memory; the caller destroys it. With `speculate`, a task that runs far
 * longer than the others of its stage gets a second attempt on another node: when 3 in 4 tasks of
 * the stage are done, and this one has run 1.5 times their median duration and at least
 * SCHED_SPECULATE_NS_MIN. */
#define SCHED_SPECULATE_NS_MIN 100000000u
struct sched *sched_create(bool speculate);
void sched_destroy(struct sched *s); /* NULL is allowed */

/* How many tasks the driver queues at an executor beyond its slots: SCHED_PREFETCH per slot, at
 * most SCHED_PREFETCH_MAX, but always at least one per slot. */
#define SCHED_PREFETCH     4u
#define SCHED_PREFETCH_MAX 32u
static inline uint32_t sched_prefetch_limit(uint32_t slots)
{
    if (slots >= SCHED_PREFETCH_MAX) return slots;
    return slots * SCHED_PREFETCH < SCHED_PREFETCH_MAX ? slots * SCHED_PREFETCH
                                                       : SCHED_PREFETCH_MAX;
}
/* The functions sched_add_executor and sched_add_stage return false when out of memory. Both number
 * what they add from 0, in the order of the calls. An executor can be added at any time, stages
 * only before the first task runs. `node` is a number below EXECUTORS_MAX that executors share if
 * they are likely to fail together. `slots` is in [1, SLOTS_MAX]; at most `prefetch` tasks, and
 * no more than SLOTS_MAX, are queued beyond the slots (the driver: sched_prefetch_limit). `parents`
 * are stages that were added before; the array is copied. */
bool sched_add_executor(struct sched *s, uint32_t node, uint32_t slots, uint32_t prefetch);
bool sched_add_stage(struct sched *s, uint32_t tasks, const uint32_t *parents,
                     uint32_t parent_count);
/* Before the first task runs: the output of this task is available from an earlier action, made by
 * that attempt on that executor. */
void sched_add_available_output(struct sched *s, uint32_t stage, uint32_t task, uint32_t executor,
                                uint32_t attempt);
/* A locality hint: the executor that has most of the task's input, or SCHED_NONE. Applies to the
 * next attempt only. Ignored if the task is not waiting, or when out of memory. */
void sched_set_preferred_executor(struct sched *s, uint32_t stage, uint32_t task,
                                  uint32_t executor);

/* Picks the next task to start or to queue at an executor, and sets it running. False: none can be
 * started now; call again after the next event, or at sched_next_wakeup_ns. */
bool sched_next_task(struct sched *s, uint64_t now_ns, struct task_attempt *out);
/* Call it after sched_next_task returned false. Sets *out to a queued attempt for the caller to
 * kill with KILL_IF_QUEUED; at most one per executor is being revoked at a time. The executor then
 * reports it as SCHED_KILLED, unless it has already started. False: none. */
bool sched_revoke_queued(struct sched *s, struct task_attempt *out);
/* The time at which sched_next_task may find a task without another event, because a speculative
 * copy may start; UINT64_MAX: never. */
uint64_t sched_next_wakeup_ns(const struct sched *s);

/* Events. The ones about an attempt return false if its outcome does not matter to the caller: no
 * such attempt is running (a stale message), or it is superseded; then only its slot is freed. */
bool sched_on_task_done(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                        uint32_t attempt, uint64_t now_ns);
/* After sched_on_task_done: the other copy of the task that still runs, for the caller to kill. It
 * keeps its slot until its outcome arrives, which is then ignored. False: there is no copy. */
bool sched_superseded_copy(const struct sched *s, uint32_t stage, uint32_t task,
                           struct task_attempt *out);

enum sched_failure_kind {
    SCHED_FATAL_ERROR, /* another attempt would fail the same way: the task fails at once */
    SCHED_TASK_ERROR,  /* caused by the task: counts for the task and for its node */
    SCHED_FETCH_ERROR, /* a map output could not be fetched: counts for the stage. The caller also
                          reports the output, see sched_on_map_output_lost */
    SCHED_KILLED,      /* the driver killed or revoked it: counts for nothing */
};
bool sched_on_task_failed(struct sched *s, uint32_t executor, uint32_t stage, uint32_t task,
                          uint32_t attempt, enum sched_failure_kind why, uint64_t now_ns);
/* The executor is lost with all its attempts and map outputs; its number is not reused.
 * `exit_caused_by_task`: its process died by a signal, so each attempt that ran there counts as
 * SCHED_TASK_ERROR. `counts`: the loss counts towards EXECUTOR_FAILURES_MAX (a drain does not). */
void sched_on_executor_lost(struct sched *s, uint32_t executor, bool exit_caused_by_task,
                            bool counts);
/* The executor gets no more tasks. Running ones continue; queued ones are revoked. */
void sched_on_executor_draining(struct sched *s, uint32_t executor);
/* A suspect executor gets no more tasks until its heartbeats return, and nothing is revoked from it
 * (it would not respond); its queued tasks may get speculative copies. */
void sched_on_executor_suspect(struct sched *s, uint32_t executor, bool suspect);
/* The output of a map task could not be fetched: the task runs again. Ignored unless the output is
 * still the one that `attempt` made on `executor`, so it is not lost twice. */
void sched_on_map_output_lost(struct sched *s, uint32_t stage, uint32_t task, uint32_t executor,
                              uint32_t attempt);
/* Sets or clears the exclusion of the executor's node because executors cannot fetch from each
 * other. The node gets no tasks while a node that is not excluded is left. Also cleared when the
 * executor is lost. */
void sched_set_executor_excluded(struct sched *s, uint32_t executor, bool excluded);
/* sched_next_task returns no more tasks. Running attempts keep their slots until they end. */
void sched_stop(struct sched *s);

/* True if the executor's node is excluded for failures: SCHED_NODE_FAILURES_MAX attempts in a row
 * ended with SCHED_TASK_ERROR there (a process that died counts once), and a good node is left. A
 * task that succeeds on the node resets the count. False also for an unknown executor. */
#define SCHED_NODE_FAILURES_MAX 4u
bool sched_is_excluded_for_failures(const struct sched *s, uint32_t executor);

/* RUNNING until the first failure that ends the action, then that one's reason. */
enum sched_status { SCHED_RUNNING, SCHED_TASK_FAILED, SCHED_STAGE_FAILED, SCHED_TOO_MANY_LOSSES };
enum sched_status sched_status(const struct sched *s);
/* The first task that ran out of attempts or failed with SCHED_FATAL_ERROR. False: none. */
bool sched_failed_task(const struct sched *s, uint32_t *out_stage, uint32_t *out_task);
/* All its tasks are done now; a lost map output makes it false again. */
bool sched_stage_is_done(const struct sched *s, uint32_t stage);
bool sched_stage_has_failed(const struct sched *s, uint32_t stage);
bool sched_stage_is_needed(const struct sched *s, uint32_t stage);
uint32_t sched_done_task_count(const struct sched *s, uint32_t stage);
/* Slots in use, also by superseded copies. If it is 0, nothing is queued either. */
uint32_t sched_busy_slots(const struct sched *s);
uint32_t sched_busy_slots_on(const struct sched *s, uint32_t executor);
/* Iterates over the running and queued attempts of an executor: *at is 0 for the first call. False:
 * no more, or the executor is lost. */
bool sched_each_attempt_on(const struct sched *s, uint32_t executor, uint32_t *at,
                           struct task_attempt *out);
/* The executor and the attempt that made the task's output. False: the task is not done. */
bool sched_output_location(const struct sched *s, uint32_t stage, uint32_t task,
                           uint32_t *out_executor, uint32_t *out_attempt);
/* Increases whenever a map output of the stage is added or lost, so a copy of the locations is
 * current if its epoch is equal. */
uint32_t sched_map_output_epoch(const struct sched *s, uint32_t stage);
/* The task will be started, for the first time or again: no attempt runs, and its stage is needed
 * and has not failed. */
bool sched_task_is_waiting(const struct sched *s, uint32_t stage, uint32_t task);
/* Losses that count towards EXECUTOR_FAILURES_MAX. */
uint32_t sched_lost_executor_count(const struct sched *s);
uint64_t sched_memory_bytes(const struct sched *s);

#endif
