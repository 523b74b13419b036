/* How a thread of ours begins. */
#ifndef GLINT_BASE_THREAD_H
#define GLINT_BASE_THREAD_H

#include "engine/base/error.h"

#include <pthread.h>

/* Starts `run(arg)`; the caller joins it. It takes no signals but those of its own crash: others
 * are for the thread that the process began with. 0, or SYSTEM, NO_MEMORY. */
int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg, struct glint_error *error);

/* For the calling thread, which computes beside others that hand it its work: it waits its turn
 * when it is woken, and they need not wait for its time slice to end. Its niceness stays as it is.
 * A hint to the system: where that does not take it, things are only slower. */
void thread_set_batch_policy(void);
/* Likewise for one whom nobody waits for just now: others that can run go first, once, and it takes
 * no processor from them when it is woken; until it steps forth, to SCHED_OTHER. */
void thread_lower_priority(void);
void thread_restore_priority(void);

/* Where threads wait for work, each until it is rung for. A pipe and no condition variable: to the
 * system, who writes into a pipe is about to sleep, so that the thread that is woken may take the
 * processor of the one that wakes it, instead of its own of before, where another may compute. */
struct pipe_semaphore {
    int ends[2];
};
/* 0, or SYSTEM. */
int pipe_semaphore_open(struct pipe_semaphore *b, struct glint_error *error);
/* One thread that waits, or the next that will, goes on. At most 4,096 rings without a wait. */
void pipe_semaphore_post(const struct pipe_semaphore *b);
void pipe_semaphore_wait(const struct pipe_semaphore *b);
/* Nobody waits any more. */
void pipe_semaphore_close(struct pipe_semaphore *b);

#endif
