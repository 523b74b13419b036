/* See fetch_wait.h. One lock and one condition per task: what arrives is a chunk, or a place. */
#include "engine/shuffle/fetch_wait.h"

#include <assert.h>

void fetch_wait_init(struct fetch_wait *w, struct glint_task *task, const struct fetcher *fetcher)
{
    w->task = task;
    w->fetcher = fetcher;
    w->out = 0;
    w->awaited = NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
}

static void cancel(struct fetch_wait *w)
{
    if (w->fetcher->cancel != NULL) w->fetcher->cancel(w->fetcher->arg, w->task->attempt_id);
}

void fetch_wait_end(struct fetch_wait *w)
{
    pthread_mutex_lock(&w->lock);
    bool some = w->out > 0;
    pthread_mutex_unlock(&w->lock);
    if (some) cancel(w);
    pthread_mutex_lock(&w->lock);
    while (w->out > 0) pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

void fetch_wait_fini(struct fetch_wait *w)
{
    assert(w->out == 0);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
}

/* The loop's thread. Nothing of ours may be touched after the lock is let go. */
static void on_done(struct fetch_request *r)
{
    static_assert(offsetof(struct asked, request) == 0, "what asked is found through its request");
    struct asked *a = (struct asked *)r;
    struct fetch_wait *w = a->wait;
    pthread_mutex_lock(&w->lock);
    assert(!a->over && w->out > 0);
    a->over = true;
    w->out--;
    if (w->awaited == a || (w->awaited == NULL && w->out == 0)) pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void fetch_wait_submit(struct fetch_wait *w, struct fetch_request *first)
{
    uint32_t count = 0;
    for (struct fetch_request *r = first; r != NULL; r = r->next, count++) {
        struct asked *a = (struct asked *)r;
        a->wait = w;
        a->over = a->ready = false;
        r->owner = w->task->attempt_id;
        r->done = on_done;
        r->error.code = GLINT_OK;
    }
    if (count == 0) return;
    pthread_mutex_lock(&w->lock);
    w->out += count;
    pthread_mutex_unlock(&w->lock);
    w->fetcher->submit(w->fetcher->arg, first);
    if (task_cancelled(w->task)) cancel(w);
}

void fetch_wait_for(struct fetch_wait *w, struct asked *a)
{
    pthread_mutex_lock(&w->lock);
    w->awaited = a;
    while (!a->over) pthread_cond_wait(&w->changed, &w->lock);
    w->awaited = NULL;
    pthread_mutex_unlock(&w->lock);
}

int fetch_failed(struct glint_task *task, const struct glint_error *why)
{
    assert(why->code != GLINT_OK);
    if (task_cancelled(task))
        return error_set(&task->error, GLINT_E_INTERRUPTED, NULL, "the job was cancelled");
    if (why->code == GLINT_E_NO_MEMORY) return error_no_memory(&task->error);
    if (task->error.code == GLINT_OK) task->unreachable = why->code == GLINT_E_CONNECTION;
    return error_set(&task->error, GLINT_E_FETCH_FAILED, why->hint[0] != '\0' ? why->hint : NULL,
                     "%s", why->cause);
}
