/* Creation and destruction of the cluster transport: a thread with an event loop that never waits
 * for the job's code, and two queues between it and the driver's thread (states and fields:
 * cluster_transport_internal.h).
 *
 * The one timer here decides whether enough executors can still come (registration.c). */
#include "engine/driver/cluster_transport_internal.h"

#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/net/event_loop.h"
#include "engine/net/net_init.h"

#include <assert.h>
#include <string.h>

#define TIMER_NS_MIN MS_NS /* minimum interval between two runs of the timer */
#define CONNECT_MS   5000u /* default of cluster->connect_ms */

/* ---- The loop's thread */

static void on_transport_timer(void *arg)
{
    struct cluster_transport *r = arg;
    assert(!r->stopping);
    uint64_t now = cluster_transport_now(r);
    /* The timer is far too late, so this process was stopped (SIGSTOP, suspend): executors could
     * not register meanwhile, so start_ms begins again. */
    if (liveness_is_process_pause(&r->cluster->heartbeat, r->timer.expired_by_ns, now))
        r->no_executor_since_ns = now;
    uint64_t next = registration_on_timer(r, now);
    for (uint32_t i = 0; i < r->cluster->executor_count && r->daemon_conns != NULL; i++)
        daemon_conn_redial(&r->daemon_conns[i]);
    for (struct executor_conn *l = r->executor_conns; l != NULL; l = l->next) {
        uint64_t due = executor_conn_on_timer(l, now);
        if (due < next) next = due;
    }
    if (next != UINT64_MAX)
        cluster_transport_arm_timer(r, next < now + TIMER_NS_MIN ? now + TIMER_NS_MIN : next);
}

void cluster_transport_arm_timer(struct cluster_transport *r, uint64_t at_ns)
{
    if (!r->stopping) deadline_start_by(&r->timer, at_ns, cluster_transport_now(r));
}

/* Closes all handles. uv_run returns when the last one has closed: connections take up to CLOSE_MS
 * to flush, launched daemons up to their grace period to exit. */
static void close_all_handles(struct cluster_transport *r)
{
    r->stopping = true;
    for (struct executor_conn *l = r->executor_conns, *after; l != NULL; l = after) {
        after = l->next;
        executor_conn_close(l);
    }
    for (uint32_t i = 0; i < r->cluster->executor_count && r->daemon_conns != NULL; i++)
        daemon_conn_close(&r->daemon_conns[i]);
    executor_listener_close(r);
    deadline_close(&r->timer, NULL);
    uv_close((uv_handle_t *)&r->wakeup, NULL);
}

/* Runs after uv_async_send. libuv merges several sends into one call, so it checks everything. */
static void on_wakeup(uv_async_t *wakeup)
{
    struct cluster_transport *r = wakeup->data;
    if (r->stopping) return;
    if (atomic_exchange(&r->wake_requested, false)) inbox_wake_driver(r);
    outbox_deliver(r);
    broadcast_server_free_removed(r);
    task_result_fetch_start_pending(r);
    if (atomic_load(&r->stop_requested)) close_all_handles(r);
}

static void *run_loop(void *arg)
{
    struct cluster_transport *r = arg;
    uv_run(&r->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* ---- The driver's thread */

static int cluster_transport_send(void *arg, uint32_t executor, struct message *m,
                                  struct glint_error *error)
{
    return outbox_send(arg, executor, m, error);
}

static void cluster_transport_wait(void *arg, struct driver *driver, uint64_t deadline_ns)
{
    inbox_wait(arg, driver, deadline_ns);
}

/* Also called from signal handlers, which may only set a flag and call uv_async_send: the loop's
 * thread then signals the condition. */
static void cluster_transport_wake(void *arg)
{
    struct cluster_transport *r = arg;
    atomic_store(&r->wake_requested, true);
    uv_async_send(&r->wakeup);
}

/* Only stores a copy. The loop sends it to the daemons with their next heartbeat. */
static void cluster_transport_progress(void *arg, const struct progress *p)
{
    struct cluster_transport *r = arg;
    if (p->action_ended) return; /* `glint status` keeps showing the last stage */
    struct job_progress now = {.stages = p->job_stages,
                               .tasks = p->job_tasks,
                               .retries = p->job_retries,
                               .stage = p->stage,
                               .stage_tasks = p->tasks,
                               .stage_done = p->tasks_done,
                               .cached_rdds = p->cached_rdds,
                               .cached_blocks = p->cached_blocks,
                               .cached_memory_bytes = p->cached_memory_bytes,
                               .cached_disk_bytes = p->cached_disk_bytes};
    text_format(now.stage_name, sizeof now.stage_name, "%s", p->name);
    pthread_mutex_lock(&r->lock);
    r->progress = now;
    pthread_mutex_unlock(&r->lock);
}

static bool cluster_transport_health(void *arg, uint32_t executor, struct executor_health *out)
{
    struct cluster_transport *r = arg;
    pthread_mutex_lock(&r->lock);
    const bool known = executor < r->health_count && r->health[executor].received_ns > 0;
    if (known) *out = r->health[executor];
    pthread_mutex_unlock(&r->lock);
    return known;
}

static void free_transport(struct cluster_transport *r)
{
    mem_free(r->health);
    for (struct inbox_event *e = r->events, *next; e != NULL; e = next) {
        next = e->next;
        inbox_event_destroy(e);
    }
    inbox_event_destroy(r->no_executors_event);
    outbox_fini(r);
    fetch_server_destroy(r->fetch_server);
    program_server_fini(r);
    broadcast_server_fini(r);
    net_fini(&r->net);
    assert(r->executor_conns == NULL);
    mem_free(r->executors_by_id);
    mem_free(r->by_id);
    mem_free(r->acquisition_states);
    mem_free(r->daemon_conns);
    pthread_cond_destroy(&r->arrived);
    pthread_mutex_destroy(&r->lock);
    secret_clear(&r->job_key);
    mem_free(r);
}

static void cluster_transport_destroy(void *arg)
{
    struct cluster_transport *r = arg;
    atomic_store(&r->stop_requested, true);
    uv_async_send(&r->wakeup);
    int failed = pthread_join(r->thread, NULL);
    assert(failed == 0);
    failed = uv_loop_close(&r->loop);
    assert(failed == 0); /* else a handle is still open */
    free_transport(r);
}

static void cluster_transport_free_broadcast(void *arg, uint64_t id, void *data)
{
    broadcast_server_remove(arg, id, data);
}

/* ---- Start */

static int open_network(struct cluster_transport *r, struct glint_error *error)
{
    const struct net_config config = {
        .role = ROLE_DRIVER,
        .cluster = r->cluster->name,
        .node = "driver",
        .secret_file = r->cluster->secret_file,
        .insecure_plaintext = r->cluster->insecure_plaintext,
        .connect_ms = r->cluster->connect_ms > 0 ? r->cluster->connect_ms : CONNECT_MS};
    int code = net_init(&r->net, &r->loop, r->env, &config, error);
    if (code != 0 || r->net.tls == NULL) return code;
    if (r->env->random(r->env, r->job_key.bytes, sizeof r->job_key.bytes) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    return net_set_job_key(&r->net, &r->job_key, error);
}

/* One daemon_conn per [[executor]] of cluster.toml; none with --listen, where executors dial. */
static int create_daemon_conns(struct cluster_transport *r, struct glint_error *error)
{
    uint32_t count = r->cluster->listen_host == NULL ? r->cluster->executor_count : 0;
    r->no_executors_event = inbox_event_create(INBOX_NO_EXECUTORS, 0);
    if (r->no_executors_event == NULL) return error_no_memory(error);
    memset(&r->no_executors_event->why, 0, sizeof r->no_executors_event->why);
    if (count == 0 && r->cluster->listen_host == NULL)
        return error_set(error, GLINT_E_CONFIG, "add [[executor]] sections, or use --listen",
                         "the cluster has no executors");
    if (count == 0) return 0;
    r->daemon_conns = mem_zalloc(sizeof *r->daemon_conns * count);
    if (r->daemon_conns == NULL) return error_no_memory(error);
    for (uint32_t i = 0; i < count; i++) {
        struct daemon_conn *p = &r->daemon_conns[i];
        p->r = r;
        p->at = &r->cluster->executors[i];
        p->index = i;
    }
    return acquisition_order_init(r) ? 0 : error_no_memory(error);
}

/* Opens the handles on the loop and starts its thread. On failure it closes the loop, too: the
 * handles must be closed by a last run of it, since libuv frees them asynchronously. */
static int start_loop(struct cluster_transport *r, struct glint_error *error)
{
    deadline_init(&r->timer, &r->loop, on_transport_timer, r);
    int code = 0;
    int uv = uv_async_init(&r->loop, &r->wakeup, on_wakeup);
    bool wakeup_open = uv == 0;
    r->wakeup.data = r;
    if (!wakeup_open)
        code = error_set(error, GLINT_E_SYSTEM, "raise the limit on open files (ulimit -n)",
                         "cannot start an event loop: %s", uv_strerror(uv));
    for (uint32_t i = 0; i < r->cluster->executor_count && r->daemon_conns != NULL; i++)
        daemon_conn_init(&r->daemon_conns[i]);
    if (code == 0 && r->cluster->listen_host != NULL) code = executor_listener_open(r, error);
    r->no_executor_since_ns = cluster_transport_now(r);
    cluster_transport_arm_timer(r, r->no_executor_since_ns); /* dials all daemons at once */
    if (code == 0) code = thread_start(&r->thread, run_loop, r, error);
    if (code == 0) return 0;
    r->stopping = true;
    for (uint32_t i = 0; i < r->cluster->executor_count && r->daemon_conns != NULL; i++)
        daemon_conn_close(&r->daemon_conns[i]);
    executor_listener_close(r);
    deadline_close(&r->timer, NULL);
    if (wakeup_open) uv_close((uv_handle_t *)&r->wakeup, NULL);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    uv_loop_close(&r->loop);
    return code;
}

static int create_fetch_server(struct cluster_transport *r, struct glint_error *error)
{
    const struct fetch_source sources[GET_KINDS_END] = {
        [GET_BROADCAST_BLOCK] = broadcast_server_source(r),
        [GET_PROGRAM_BLOCK] = {
            .find = program_server_find, .release = program_server_release, .arg = r}};
    r->fetch_server = fetch_server_create(&r->loop, sources);
    return r->fetch_server != NULL ? 0 : error_no_memory(error);
}

static void init_transport(struct cluster_transport *r, struct glint *g,
                           const struct cluster *cluster)
{
    pthread_condattr_t monotonic;
    r->g = g;
    r->env = g->config.env;
    r->cluster = cluster;
    r->events_end = &r->events;
    r->outgoing_end = &r->outgoing;
    r->executor_conns_end = &r->executor_conns;
    pthread_mutex_init(&r->lock, NULL);
    /* The wall clock may be set: a deadline on it could pass too early, or never. */
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->arrived, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

int cluster_transport_create(struct glint *g, const struct cluster *cluster, struct transport *out,
                             struct glint_error *error)
{
    const struct liveness_limits *limits = &cluster->heartbeat;
    assert(limits->heartbeat_ns > 0 && limits->heartbeat_ns < limits->suspect_ns);
    assert(limits->suspect_ns < limits->dead_ns);
    struct cluster_transport *r = mem_zalloc(sizeof *r);
    if (r == NULL) return error_no_memory(error);
    init_transport(r, g, cluster);
    int code = open_network(r, error);
    if (code == 0) code = create_fetch_server(r, error);
    if (code == 0) code = create_daemon_conns(r, error);
    if (code == 0) code = event_loop_init(&r->loop, r->env, error);
    if (code == 0) code = start_loop(r, error);
    if (code != 0) {
        free_transport(r);
        return code;
    }
    *out = (struct transport){.send = cluster_transport_send,
                              .wait = cluster_transport_wait,
                              .wake = cluster_transport_wake,
                              .free_broadcast = cluster_transport_free_broadcast,
                              .progress = cluster_transport_progress,
                              .health = cluster_transport_health,
                              .destroy = cluster_transport_destroy,
                              .arg = r};
    return 0;
}

uint64_t cluster_transport_broadcast_bytes(const struct transport *t)
{
    return atomic_load(&((struct cluster_transport *)t->arg)->broadcast_bytes);
}
