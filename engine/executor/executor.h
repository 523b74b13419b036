/* An executor: slots that run tasks, one thread each, and the store they share (store.h).
 *
 * The owner passes in messages from the driver, on one thread; slots return DONE and FAILED through
 * `deliver`, on their own threads. While a task runs, its slot owns all the task's data; one lock
 * guards the task queue and is held only for a push or a pop. */
#ifndef GLINT_EXECUTOR_EXECUTOR_H
#define GLINT_EXECUTOR_EXECUTOR_H

#include "engine/executor/store.h"
#include "engine/plan/stage_plan.h"
#include "engine/records/run.h"
#include "engine/records/task.h"
#include "engine/transfer/broadcast.h"
#include "engine/transfer/fetch.h"
#include "engine/transfer/message.h"

struct executor;

struct executor_config {
    uint32_t slots;
    uint32_t self;               /* the driver's number for this executor; local mode: 0 */
    struct task_options options; /* work_dir is borrowed */
    const struct context_config *registry; /* operators and functions; borrowed */
    struct env *env;
    /* Fetches map outputs from other executors; borrowed. NULL: local mode; all map outputs are in
     * this process, and results of any size are inlined in DONE. */
    const struct fetcher *fetcher;
    /* Fetches broadcasts; borrowed. NULL: local mode; a BROADCAST message carries the data. */
    struct broadcast_client *broadcasts;
    /* Takes ownership of the message. Called on the slots' threads, several at once, and on the
     * owner's thread from executor_handle_message; must not block. */
    void (*deliver)(void *arg, struct message *m);
    void *deliver_arg;
};

/* Starts the slots. Returns NULL with *error set (NO_MEMORY, SYSTEM). */
struct executor *executor_create(const struct executor_config *config, struct glint_error *error);
/* Owner's thread. Takes ownership of the message: STAGE, MAP_OUTPUTS, BROADCAST, TASK, KILL,
 * CANCEL, RELEASE or FREE. Every TASK accepted gets exactly one DONE or FAILED (INTERRUPTED after a
 * KILL or CANCEL). Returns 0, or a code with *error set; tasks that need what could not be stored
 * fail later, those of a STAGE whose plan cannot be decoded with the same error. */
int executor_handle_message(struct executor *e, struct message *m, struct glint_error *error);
/* Tasks received whose outcome was not delivered yet. Any thread. */
uint32_t executor_unfinished_tasks(struct executor *e);
/* Finds the running task that was cancelled longest ago. Returns when that was (env->now_ns) and
 * describes it in `what`, or returns 0 if no cancelled task is running. Any thread. */
uint64_t executor_find_longest_cancelled_task(struct executor *e, char *what, size_t capacity);
/* What fetch_server.h serves; owned by the executor. Any thread. */
struct store *executor_store(struct executor *e);
struct block_store *executor_blocks(struct executor *e);
/* Cancels running tasks, waits for them, and frees. A task that fetches needs the fetcher's loop to
 * end: if the caller runs that loop, it must send CANCEL first and call this only when
 * executor_unfinished_tasks is 0. NULL is allowed. */
void executor_destroy(struct executor *e);

/* Encodes the task's counters, without zeros, and its accumulators as a msgpack array
 * (records/task.h). Call it once. Returns 0, or a code with the task's error set. */
int task_counters_encode(struct glint_task *task, struct buffer *out);

/* Runs one attempt of a task: sets up its inputs and broadcasts, runs the pipeline, and writes the
 * outcome (DONE or FAILED) for the driver. */

/* Runs TASK message `m` on the calling slot's thread; blocks until the attempt ends. `task` is
 * prepared by the slot, except for its broadcasts. Sets the type of `outcome` to MSG_DONE (with the
 * result or the map output's partition sizes, and counters) or MSG_FAILED (with its error set), and
 * adds what changed in `blocks` (NULL: persisted records are not kept). `m` stays the caller's. */
void attempt_run(const struct executor_config *config, struct store *store,
                 struct block_store *blocks, struct glint_task *task, const struct message *m,
                 struct message *outcome);

/* ---- Runs one partition of one stage: a function of (plan, partition, splits, inputs) that needs
 * no driver. Tests call it as slots do. */

struct pipeline_input {
    const struct stage_plan *stage;
    uint32_t partition;
    /* A msgpack array, in plan order: of each source its split, a bin; of each node whose block is
     * read the executor that has it, and its bytes. */
    struct glint_slice splits;
    /* Gets one partition of a shuffle's map outputs, in map order. Returns 0, or a code with the
     * task's error set. May block. */
    int (*fetch)(void *arg, struct glint_task *task, uint64_t shuffle, uint32_t partition,
                 struct run_slice **out, uint32_t *out_count);
    /* The slices of the last fetch are no longer used. Called once for each fetch that returned 0.
     * May be NULL. */
    void (*fetch_end)(void *arg, struct glint_task *task);
    void *fetch_arg;
    /* Keeps the records of persisted nodes, and has those of earlier tasks. NULL: nothing is kept.
     */
    struct block_store *blocks;
    /* Reads blocks of other executors; this one is `self`. NULL: there are no others. */
    const struct fetcher *fetcher;
    uint32_t self;
};

/* Slot's thread; blocks until the partition is done. If the root is a wide node, *out_run is the
 * map output, owned by the caller. Otherwise the action's result is appended to *out_result.
 * Returns 0, or a code with the task's error set; the caller then has nothing to free, and this
 * attempt's files are deleted. */
int pipeline_run(struct glint_task *task, const struct pipeline_input *input, struct run *out_run,
                 struct buffer *out_result);

#endif
