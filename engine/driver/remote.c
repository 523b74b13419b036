/* The driver's end of a cluster: one thread with one loop that never waits for the job's code, and
 * two queues between it and the driver's thread (states: remote_internal.h).
 *
 * One timer serves all that is due: signs of life, dials, deadlines. It rings at the earliest of
 * them, and everything is looked at then; a look costs a few comparisons per executor. */
#include "engine/driver/remote_internal.h"

#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/net/loop.h"
#include "engine/net/setup.h"

#include <assert.h>
#include <string.h>

#define LOOK_NS_MIN MS_NS /* two looks are at least so far apart */
#define CONNECT_MS  5000u

/* ---- The loop's thread */

static void on_timer(uv_timer_t *timer)
{
    struct remote *r = timer->data;
    assert(!r->stopping);
    uint64_t now = remote_now(r);
    if (liveness_slept(&r->cluster->heartbeat, r->timer_ns, now)) r->alone_since_ns = now;
    r->timer_ns = UINT64_MAX;
    uint64_t next = join_deadline(r, now);
    for (uint32_t i = 0; i < r->cluster->executor_count && r->posts != NULL; i++) {
        uint64_t due = post_look(&r->posts[i], now);
        if (due < next) next = due;
    }
    for (struct link *l = r->links, *after; l != NULL; l = after) {
        after = l->next; /* a look may free it */
        uint64_t due = link_look(l, now);
        if (due < next) next = due;
    }
    if (next != UINT64_MAX) remote_due(r, next < now + LOOK_NS_MIN ? now + LOOK_NS_MIN : next);
}

void remote_due(struct remote *r, uint64_t at_ns)
{
    if (r->stopping || at_ns >= r->timer_ns) return;
    uint64_t now = remote_now(r), left = at_ns > now ? at_ns - now : 0;
    r->timer_ns = at_ns;
    uv_update_time(&r->loop);
    int failed = uv_timer_start(&r->timer, on_timer, (left + MS_NS - 1) / MS_NS, 0);
    assert(failed == 0);
}

/* Every handle is closed, and the loop ends with the last one: connections within CLOSE_MS, what
 * was launched within its grace. */
static void stop(struct remote *r)
{
    r->stopping = true;
    for (struct link *l = r->links, *after; l != NULL; l = after) {
        after = l->next;
        link_stop(l);
    }
    for (uint32_t i = 0; i < r->cluster->executor_count && r->posts != NULL; i++)
        post_stop(&r->posts[i]);
    gate_close(r->gate);
    r->gate = NULL;
    uv_close((uv_handle_t *)&r->timer, NULL);
    uv_close((uv_handle_t *)&r->poke, NULL);
}

static void on_poke(uv_async_t *poke)
{
    struct remote *r = poke->data;
    if (r->stopping) return;
    if (atomic_exchange(&r->wake_wish, false)) inbox_wake(r);
    outbox_deliver(r);
    large_pump(r);
    if (atomic_load(&r->stop_wish)) stop(r);
}

static void *run(void *arg)
{
    struct remote *r = arg;
    uv_run(&r->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* ---- The driver's thread */

static int remote_send(void *arg, uint32_t executor, struct message *m, struct glint_error *error)
{
    return outbox_send(arg, executor, m, error);
}

static void remote_wait(void *arg, struct driver *driver, uint64_t deadline_ns)
{
    inbox_wait(arg, driver, deadline_ns);
}

static void remote_wake(void *arg)
{
    struct remote *r = arg;
    atomic_store(&r->wake_wish, true);
    uv_async_send(&r->poke);
}

static void remote_progress(void *arg, const struct progress *p)
{
    struct remote *r = arg;
    if (p->action_ended) return;
    struct job_progress now = {.stages = p->job_stages,
                               .tasks = p->job_tasks,
                               .retries = p->job_retries,
                               .stage = p->stage,
                               .stage_tasks = p->tasks,
                               .stage_done = p->tasks_done};
    text_format(now.stage_name, sizeof now.stage_name, "%s", p->name);
    pthread_mutex_lock(&r->lock);
    r->progress = now;
    pthread_mutex_unlock(&r->lock);
}

static void free_all(struct remote *r)
{
    for (struct event *e = r->events, *next; e != NULL; e = next) {
        next = e->next;
        event_destroy(e);
    }
    event_destroy(r->desertion);
    outbox_fini(r);
    broadcasts_fini(r);
    net_fini(&r->net);
    assert(r->links == NULL);
    mem_free(r->numbered);
    mem_free(r->by_id);
    mem_free(r->posts);
    pthread_cond_destroy(&r->arrived);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

static void remote_destroy(void *arg)
{
    struct remote *r = arg;
    atomic_store(&r->stop_wish, true);
    uv_async_send(&r->poke);
    int failed = pthread_join(r->thread, NULL);
    assert(failed == 0);
    failed = uv_loop_close(&r->loop);
    assert(failed == 0); /* no handle is left */
    free_all(r);
}

/* ---- Start */

static int open_net(struct remote *r, struct glint_error *error)
{
    const struct net_config config = {
        .role = ROLE_DRIVER,
        .cluster = r->cluster->name,
        .node = "driver",
        .secret_file = r->cluster->secret_file,
        .insecure_plaintext = r->cluster->insecure_plaintext,
        .connect_ms = r->cluster->connect_ms > 0 ? r->cluster->connect_ms : CONNECT_MS};
    return net_init(&r->net, &r->loop, r->env, &config, error);
}

static int open_posts(struct remote *r, struct glint_error *error)
{
    uint32_t count = r->cluster->listen_host == NULL ? r->cluster->executor_count : 0;
    r->desertion = event_create(EVENT_DESERTED, 0);
    if (r->desertion == NULL) return error_no_memory(error);
    memset(&r->desertion->why, 0, sizeof r->desertion->why);
    if (count == 0 && r->cluster->listen_host == NULL)
        return error_set(error, GLINT_E_CONFIG, "add [[executor]] sections, or use --listen",
                         "the cluster has no executors");
    if (count == 0) return 0;
    r->posts = mem_zalloc(sizeof *r->posts * count);
    if (r->posts == NULL) return error_no_memory(error);
    for (uint32_t i = 0; i < count; i++) {
        struct post *p = &r->posts[i];
        p->r = r;
        p->at = &r->cluster->executors[i];
        p->index = i;
    }
    return order_open(r) ? 0 : error_no_memory(error);
}

/* With a loop that is open: what is on it, and the thread. On failure the loop is closed. */
static int start_loop(struct remote *r, struct glint_error *error)
{
    int uv = uv_timer_init(&r->loop, &r->timer);
    assert(uv == 0);
    r->timer.data = r;
    r->timer_ns = UINT64_MAX;
    int code = 0;
    uv = uv_async_init(&r->loop, &r->poke, on_poke);
    bool poke_open = uv == 0;
    r->poke.data = r;
    if (!poke_open)
        code = error_set(error, GLINT_E_SYSTEM, "raise the limit on open files (ulimit -n)",
                         "cannot start an event loop: %s", uv_strerror(uv));
    if (code == 0 && r->cluster->listen_host != NULL) code = listen_open(r, error);
    r->alone_since_ns = remote_now(r);
    remote_due(r, r->alone_since_ns);
    if (code == 0) code = thread_start(&r->thread, run, r, error);
    if (code == 0) return 0;
    r->stopping = true;
    gate_close(r->gate);
    uv_close((uv_handle_t *)&r->timer, NULL);
    if (poke_open) uv_close((uv_handle_t *)&r->poke, NULL);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    uv_loop_close(&r->loop);
    return code;
}

static void init(struct remote *r, struct glint *g, const struct cluster *cluster)
{
    pthread_condattr_t monotonic;
    r->g = g;
    r->env = g->config.env;
    r->cluster = cluster;
    r->events_end = &r->events;
    r->parcels_end = &r->parcels;
    r->links_end = &r->links;
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->arrived, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

int remote_create(struct glint *g, const struct cluster *cluster, struct transport *out,
                  struct glint_error *error)
{
    const struct liveness_limits *beat = &cluster->heartbeat;
    assert(beat->beat_ns > 0 && beat->beat_ns < beat->suspect_ns);
    assert(beat->suspect_ns < beat->dead_ns);
    struct remote *r = mem_zalloc(sizeof *r);
    if (r == NULL) return error_no_memory(error);
    init(r, g, cluster);
    int code = open_net(r, error);
    if (code == 0) code = open_posts(r, error);
    if (code == 0) code = loop_open(&r->loop, r->env, error);
    if (code == 0) code = start_loop(r, error);
    if (code != 0) {
        free_all(r);
        return code;
    }
    *out = (struct transport){.send = remote_send,
                              .wait = remote_wait,
                              .wake = remote_wake,
                              .progress = remote_progress,
                              .destroy = remote_destroy,
                              .arg = r};
    return 0;
}

uint64_t remote_broadcast_bytes(const struct transport *t)
{
    return atomic_load(&((struct remote *)t->arg)->broadcast_bytes);
}
