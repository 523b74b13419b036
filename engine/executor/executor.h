/* An executor: slots that run tasks, each on a thread of its own, and what they share (store.h).
 *
 * The owner hands in messages from the driver on one thread; slots hand back DONE and FAILED
 * through `deliver`, from their threads. What a slot works with is its own from the first batch to
 * the last; one lock guards the queue of tasks and is held for a push or a pop. */
#ifndef GLINT_EXECUTOR_EXECUTOR_H
#define GLINT_EXECUTOR_EXECUTOR_H

#include "engine/data/task.h"
#include "engine/executor/broadcast_client.h"
#include "engine/net/message.h"
#include "engine/plan/progress.h"
#include "engine/shuffle/fetch.h"

struct executor;
struct store;

struct executor_config {
    uint32_t slots;
    uint32_t self;                       /* the driver's number for this executor; local mode: 0 */
    struct task_options options;         /* work_dir stays borrowed */
    const struct glint_config *registry; /* operators and functions; borrowed */
    struct env *env;
    /* The way to map outputs of other executors; borrowed. NULL: local mode, all of them are here,
     * and results travel in their DONE whatever their size. */
    const struct fetcher *fetcher;
    /* Where a BROADCAST without a body is announced and its value is found; borrowed. NULL: a
     * BROADCAST brings its body. */
    struct broadcast_client *broadcasts;
    /* Takes the message. Slots' threads, many at once, and the owner's out of
     * executor_handle_message; must not block. */
    void (*deliver)(void *arg, struct message *m);
    void *deliver_arg;
};

/* NULL: *error set. */
struct executor *executor_create(const struct executor_config *config, struct glint_error *error);
/* Takes the message: STAGE, MAP_OUTPUTS, BROADCAST, TASK, KILL, CANCEL, RELEASE. A message that
 * cannot be kept fails the tasks that need it later; a TASK always ends in one DONE or FAILED, that
 * of a KILL or CANCEL with INTERRUPTED. Answers 0, or a code with *error set. */
int executor_handle_message(struct executor *e, struct message *m, struct glint_error *error);
/* Tasks that were received and not answered yet. Any thread. */
uint32_t executor_unfinished_tasks(struct executor *e);
/* The task that was told to end first and still runs: when that was, and in words what it is. 0:
 * there is none. Any thread. */
uint64_t executor_find_stuck_task(struct executor *e, char *what, size_t capacity);
/* What it keeps, for fetch_server.h. Any thread. */
struct store *executor_store(struct executor *e);
/* Tells running tasks to end and waits until they did. A task that fetches ends through the
 * fetcher's loop: where that is the caller's, CANCEL comes first, and this when
 * executor_unfinished_tasks is 0. */
void executor_destroy(struct executor *e);

/* Counters of a task as msgpack: [[name, value], ...], only those that are not zero. */
bool task_counters_encode(const struct task_counters *c, struct buffer *out);

#endif
