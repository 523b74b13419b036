/* An executor: slots that run tasks, each on a thread of its own, and what they share (store.h).
 *
 * The owner hands in messages from the driver on one thread; slots hand back DONE and FAILED
 * through `deliver`, from their threads. What a slot works with is its own from the first batch to
 * the last; one lock guards the queue of tasks and is held for a push or a pop. */
#ifndef GLINT_EXECUTOR_EXECUTOR_H
#define GLINT_EXECUTOR_EXECUTOR_H

#include "engine/data/task.h"
#include "engine/net/message.h"
#include "engine/plan/config.h"

struct executor;

struct executor_config {
    uint32_t slots;
    struct task_options options;         /* work_dir stays borrowed */
    const struct glint_config *registry; /* operators and functions; borrowed */
    struct env *env;
    /* Takes the message. Slots' threads, many at once; must not block. */
    void (*deliver)(void *arg, struct message *m);
    void *deliver_arg;
};

/* NULL: *error set. */
struct executor *executor_create(const struct executor_config *config, struct glint_error *error);
/* Takes the message. A message that cannot be kept fails the tasks that need it later; a TASK
 * always ends in one DONE or FAILED. Answers 0, or a code with *error set. */
int executor_receive(struct executor *e, struct message *m, struct glint_error *error);
/* Tells running tasks to end and waits until they did. */
void executor_destroy(struct executor *e);

/* Counters of a task as msgpack: [[name, value], ...], only those that are not zero. */
bool counters_encode(const struct task_counters *c, struct buffer *out);

#endif
