/* Threads: creation, scheduling hints, a semaphore for worker threads, and one for a waiting
 * thread. */
#ifndef GLINT_BASE_THREAD_H
#define GLINT_BASE_THREAD_H

#include "engine/base/env.h"
#include "engine/base/error.h"

#include <pthread.h>
#include <semaphore.h>

/* Starts a thread that runs `run(arg)`; the caller joins it. All signals but those of its own crash
 * are blocked: the main thread handles them. Returns 0, SYSTEM or NO_MEMORY. */
int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg, struct glint_error *error);

/* For a compute thread, called by itself: on wakeup it does not preempt the threads that feed it
 * (SCHED_BATCH), and it gets a long time slice. Niceness is unchanged. Only a hint: without kernel
 * support, things are just slower. */
void thread_set_batch_policy(void);
/* For a thread whose result is not urgent now: yields once, and does not preempt others on wakeup.
 * thread_restore_priority returns to SCHED_OTHER. */
void thread_lower_priority(void);
void thread_restore_priority(void);

/* A semaphore on which worker threads wait for tasks. It is a pipe and not a condition variable
 * because of the kernel's wakeup heuristics: a pipe write is a synchronous wakeup, so the scheduler
 * may run the woken thread on the writer's processor, instead of its previous one, where another
 * thread may be computing. */
struct pipe_semaphore {
    int ends[2];
};
/* Returns 0 or SYSTEM. */
int pipe_semaphore_open(struct pipe_semaphore *b, struct glint_error *error);
/* Wakes one waiting thread, or lets the next wait return at once. At most 4,096 posts without a
 * wait. */
void pipe_semaphore_post(const struct pipe_semaphore *b);
void pipe_semaphore_wait(const struct pipe_semaphore *b);
/* No thread may be waiting. */
void pipe_semaphore_close(struct pipe_semaphore *b);

/* A thread waits for others, or for a time. sem_post wakes it: any thread, also signal handlers.
 * Returns when it was posted since the last call, env->now_ns has reached the deadline, or a signal
 * has arrived. UINT64_MAX: no deadline. */
void semaphore_wait_until(sem_t *s, struct env *env, uint64_t deadline_ns);

#endif
