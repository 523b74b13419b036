/* See fetch_wait.h. One lock and one condition variable per task: only the slot's thread waits. */
#include "engine/transfer/fetch_wait.h"

#include <assert.h>

void fetch_wait_init(struct fetch_wait *w, struct glint_task *task, const struct fetcher *fetcher)
{
    w->task = task;
    w->fetcher = fetcher;
    w->in_flight = 0;
    w->waited_for = NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
}

static void cancel_requests(struct fetch_wait *w)
{
    if (w->fetcher->cancel != NULL) w->fetcher->cancel(w->fetcher->arg, w->task->attempt_id);
}

void fetch_wait_cancel_all(struct fetch_wait *w)
{
    pthread_mutex_lock(&w->lock);
    bool some = w->in_flight > 0;
    pthread_mutex_unlock(&w->lock);
    if (some) cancel_requests(w);
    pthread_mutex_lock(&w->lock);
    while (w->in_flight > 0) pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

void fetch_wait_fini(struct fetch_wait *w)
{
    assert(w->in_flight == 0);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
}

/* Called on the loop's thread. After the unlock it must not touch the request or `w`: the slot's
 * thread may have seen `finished` and freed both. */
static void on_fetch_done(struct fetch_request *r)
{
    static_assert(offsetof(struct pending_fetch, request) == 0, "cast back from its first member");
    struct pending_fetch *a = (struct pending_fetch *)r;
    struct fetch_wait *w = a->wait;
    pthread_mutex_lock(&w->lock);
    assert(!a->finished && w->in_flight > 0);
    a->finished = true;
    w->in_flight--;
    if (w->waited_for == a || (w->waited_for == NULL && w->in_flight == 0))
        pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void fetch_wait_submit(struct fetch_wait *w, struct fetch_request *first)
{
    uint32_t count = 0;
    for (struct fetch_request *r = first; r != NULL; r = r->next, count++) {
        struct pending_fetch *a = (struct pending_fetch *)r;
        a->wait = w;
        a->finished = a->ready = false;
        r->owner = w->task->attempt_id;
        r->done = on_fetch_done;
        r->error.code = GLINT_OK;
    }
    if (count == 0) return;
    pthread_mutex_lock(&w->lock);
    w->in_flight += count;
    pthread_mutex_unlock(&w->lock);
    w->fetcher->submit(w->fetcher->arg, first);
    /* After the submission, not before: see fetch_wait.h on the race with the executor's cancel. */
    if (task_is_cancelled(w->task)) cancel_requests(w);
}

/* The clock is read only if the slot has to wait. */
void fetch_wait_until_done(struct fetch_wait *w, struct pending_fetch *a)
{
    struct env *env = w->task->env;
    pthread_mutex_lock(&w->lock);
    if (!a->finished) {
        const uint64_t start_ns = env->now_ns(env);
        w->waited_for = a;
        while (!a->finished) pthread_cond_wait(&w->changed, &w->lock);
        w->waited_for = NULL;
        w->task->counters.values[COUNT_FETCH_WAIT_US] +=
            (int64_t)((env->now_ns(env) - start_ns) / 1000);
    }
    pthread_mutex_unlock(&w->lock);
}

int fetch_set_error(struct glint_task *task, const struct glint_error *why)
{
    assert(why->code != GLINT_OK);
    /* The requests of a cancelled task fail with INTERRUPTED; that says nothing about the map
     * output, so the driver must not count it as lost. */
    if (task_is_cancelled(task))
        return error_set(&task->error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    if (why->code == GLINT_E_NO_MEMORY) return error_no_memory(&task->error);
    /* The driver treats all map outputs of an unreachable executor as lost, not only this one. Set
     * only with the first error, which is the one that is reported. */
    if (task->error.code == GLINT_OK) task->unreachable = why->code == GLINT_E_CONNECTION;
    return error_set(&task->error, GLINT_E_FETCH_FAILED, why->hint[0] != '\0' ? why->hint : NULL,
                     "%s", why->cause);
}
