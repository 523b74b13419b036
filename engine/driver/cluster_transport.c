/* The cluster transport: connects the driver to executors on other machines over TCP.
 *
 * A thread of its own runs a libuv loop with all connections. Heartbeats are sent and broadcasts
 * are served even while the job's code keeps the driver's thread busy. Events are queued in an
 * inbox until the driver calls transport->wait. The loop dials the daemons of cluster.toml, which
 * start executors; these connect to the driver, as do those started by users with --join
 * (cluster->listen_host). With `launch` it starts daemons that are unreachable, and stops those it
 * started.
 *
 * It calls the driver only from `wait`, on the driver's thread: driver_on_executor_added when an
 * executor has joined, driver_on_message, driver_on_executor_suspect, driver_on_executor_draining,
 * and driver_on_executor_lost once per executor, after which nothing more comes from it. Results
 * above RESULT_INLINE_BYTES_MAX are fetched before the driver sees them. BROADCAST messages above
 * BROADCAST_INLINE_BYTES_MAX are sent without their body; executors GET its blocks.
 *
 * The one timer here decides whether enough executors can still come (executor_listener.c). */
#include "engine/driver/cluster_transport_internal.h"

#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/net/net_init.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- The queue of events from the loop's thread to the driver's thread, in the order they
 * happened.
 *
 * Only the loop's thread appends. A signal handler that wakes the driver may not lock a mutex: it
 * sets wake_requested, and the loop's thread signals the condition (inbox_wake_driver). */

struct inbox_event *inbox_event_create(enum inbox_event_kind kind, uint32_t executor)
{
    struct inbox_event *e = mem_alloc(sizeof *e);
    if (e == NULL) return NULL;
    e->next = NULL;
    e->kind = kind;
    e->executor = executor;
    e->message = NULL;
    e->fetched_bytes = 0;
    return e;
}

void inbox_event_destroy(struct inbox_event *e)
{
    if (e == NULL) return;
    if (e->kind == INBOX_MESSAGE) message_destroy(e->message);
    mem_free(e);
}

void inbox_push(struct cluster_transport *r, struct inbox_event *e)
{
    assert(e->next == NULL && (e->kind != INBOX_MESSAGE || e->message != NULL));
    pthread_mutex_lock(&r->lock);
    *r->events_end = e;
    r->events_end = &e->next;
    pthread_cond_signal(&r->arrived);
    pthread_mutex_unlock(&r->lock);
}

bool inbox_push_message(struct cluster_transport *r, uint32_t executor, struct message *m,
                        uint64_t fetched_bytes)
{
    struct inbox_event *e = inbox_event_create(INBOX_MESSAGE, executor);
    if (e == NULL) {
        message_destroy(m);
        return false;
    }
    e->message = m;
    e->fetched_bytes = fetched_bytes;
    inbox_push(r, e);
    return true;
}

void inbox_push_note(struct cluster_transport *r, const char *format, ...)
{
    struct inbox_event *e = inbox_event_create(INBOX_NOTE, 0);
    if (e == NULL) return;
    va_list args;
    va_start(args, format);
    vsnprintf(e->line, sizeof e->line, format, args);
    va_end(args);
    inbox_push(r, e);
}

/* Makes inbox_wait return without an event. */
static void inbox_wake_driver(struct cluster_transport *r)
{
    pthread_mutex_lock(&r->lock);
    r->woken = true;
    pthread_cond_signal(&r->arrived);
    pthread_mutex_unlock(&r->lock);
}

/* ---- The driver's thread */

static void dispatch_inbox_event(struct cluster_transport *r, struct driver *driver,
                                 struct inbox_event *e)
{
    switch (e->kind) {
    case INBOX_EXECUTOR_ADDED:
        driver_on_executor_added(driver, &(struct executor_info){e->name, e->host, e->slots});
        break;
    case INBOX_MESSAGE:
        if (e->fetched_bytes > 0) {
            atomic_fetch_sub(&r->fetched_results_bytes, e->fetched_bytes);
            uv_async_send(&r->wakeup); /* starts fetches that had no room */
        }
        driver_on_message(driver, e->executor, e->message);
        e->message = NULL; /* now the driver's */
        break;
    case INBOX_EXECUTOR_DRAINING: driver_on_executor_draining(driver, e->executor); break;
    case INBOX_EXECUTOR_SUSPECT: driver_on_executor_suspect(driver, e->executor, true); break;
    case INBOX_EXECUTOR_ALIVE: driver_on_executor_suspect(driver, e->executor, false); break;
    case INBOX_EXECUTOR_LOST: driver_on_executor_lost(driver, e->executor, e->loss, &e->why); break;
    case INBOX_NO_EXECUTORS: driver_on_no_executors(driver, &e->why); break;
    case INBOX_CANCEL_REQUESTED: driver_on_cancel_requested(driver); break;
    case INBOX_NOTE: glint_note(r->g, "%s", e->line); break;
    }
    inbox_event_destroy(e);
}

/* The deadline is on the context's clock, which tests may replace; the condition waits on the
 * system's monotonic clock. Converts by the time left. */
static struct timespec context_to_system_deadline(const struct cluster_transport *r,
                                                  uint64_t deadline_ns)
{
    struct env *system = env_real();
    uint64_t now = cluster_transport_now(r), left = deadline_ns > now ? deadline_ns - now : 0;
    uint64_t at = system->now_ns(system) + left;
    if (at < left) at = INT64_MAX; /* overflow: UINT64_MAX is no deadline */
    return (struct timespec){(time_t)(at / SECOND_NS), (long)(at % SECOND_NS)};
}

/* Adds what was sent since the last call to the job's counters. */
static void report_broadcast_bytes(struct cluster_transport *r, struct driver *driver)
{
    uint64_t sent = atomic_load(&r->broadcast_bytes);
    assert(sent >= r->broadcast_counted);
    if (sent == r->broadcast_counted) return;
    driver_on_counter_increment(driver, "broadcast bytes sent",
                                (int64_t)(sent - r->broadcast_counted));
    r->broadcast_counted = sent;
}

/* Driver's thread: transport->wait. Blocks until an event, a wake or the deadline (env->now_ns),
 * then passes all events to the driver, oldest first. */
static void inbox_wait(struct cluster_transport *r, struct driver *driver, uint64_t deadline_ns)
{
    struct timespec end = context_to_system_deadline(r, deadline_ns);
    int waited = 0;
    pthread_mutex_lock(&r->lock);
    /* The driver has no more to send at this point: the loop writes all messages at once. */
    if (r->outgoing != NULL) uv_async_send(&r->wakeup);
    while (r->events == NULL && !r->woken && waited == 0)
        waited = pthread_cond_timedwait(&r->arrived, &r->lock, &end);
    struct inbox_event *e = r->events;
    r->events = NULL;
    r->events_end = &r->events;
    r->woken = false;
    pthread_mutex_unlock(&r->lock);
    /* Without the lock: the driver runs the job's code, and may send. */
    while (e != NULL) {
        struct inbox_event *next = e->next;
        e->next = NULL;
        dispatch_inbox_event(r, driver, e);
        e = next;
    }
    report_broadcast_bytes(r, driver);
}

/* ---- The queue of messages from the driver's thread to the loop's thread. The driver's thread
 * encodes them, so that the loop does little work and encoding errors are returned to the sender.
 *
 * The loop is woken only when the driver waits (inbox_wait), so that messages are coalesced into
 * few writes per executor. Exceptions are sent at once, since the driver may run the job's code for
 * long before it waits: KILL, large broadcasts, and more than OUTGOING_BYTES_MAX. */

#define OUTGOING_BYTES_MAX MIB /* queued at most before the loop is woken */

struct outgoing_message {
    struct outgoing_message *next;
    uint32_t executor;
    struct buffer bytes;             /* the encoded message */
    uint64_t inline_broadcast_bytes; /* size of the broadcast in its body, else 0 */
};

/* The message has only the broadcast's id and size; executors fetch it in blocks. */
static bool is_large_broadcast(const struct message *m)
{
    return m->type == MSG_BROADCAST && m->body.size > BROADCAST_INLINE_BYTES_MAX;
}

static int outgoing_message_encode(struct outgoing_message *p, const struct message *m,
                                   struct glint_error *error)
{
    struct message wire = *m;
    if (is_large_broadcast(m)) {
        wire.body = (struct buffer){NULL, 0, 0};
        wire.size = m->body.size;
    }
    int r = message_encode(&wire, &p->bytes, error);
    if (r == 0 && p->bytes.size > CONTROL_FRAME_BYTES_MAX)
        r = error_set(error, GLINT_E_PLAN_LIMIT, "broadcast large values; pack fewer files",
                      "a message to an executor has %llu bytes, the limit is %llu",
                      (unsigned long long)p->bytes.size,
                      (unsigned long long)CONTROL_FRAME_BYTES_MAX);
    return r;
}

static void outgoing_message_destroy(struct outgoing_message *p)
{
    buffer_fini(&p->bytes);
    mem_free(p);
}

/* Driver's thread: transport->send. Takes ownership of `m`. Returns 0, or NO_MEMORY, PLAN_LIMIT
 * (larger than a control frame). */
static int outbox_append_message(struct cluster_transport *r, uint32_t executor, struct message *m,
                                 struct glint_error *error)
{
    struct outgoing_message *p = mem_zalloc(sizeof *p);
    int code = p != NULL ? 0 : error_no_memory(error);
    if (code == 0 && is_large_broadcast(m))
        code = broadcast_server_add(r, m->id, m->body.data, m->body.size, error);
    if (code == 0) code = outgoing_message_encode(p, m, error);
    if (code == 0) {
        p->executor = executor;
        if (m->type == MSG_BROADCAST && !is_large_broadcast(m))
            p->inline_broadcast_bytes = m->body.size;
        pthread_mutex_lock(&r->lock);
        *r->outgoing_end = p;
        r->outgoing_end = &p->next;
        r->outgoing_bytes += p->bytes.size;
        bool now =
            m->type == MSG_KILL || is_large_broadcast(m) || r->outgoing_bytes >= OUTGOING_BYTES_MAX;
        pthread_mutex_unlock(&r->lock);
        if (now) uv_async_send(&r->wakeup);
    } else if (p != NULL) {
        outgoing_message_destroy(p);
    }
    message_destroy(m);
    return code;
}

static void send_outgoing_message(struct cluster_transport *r, struct outgoing_message *p)
{
    struct executor_conn *l = registration_find_executor(r, p->executor);
    if (l == NULL || l->state != EXECUTOR_CONN_JOINED) return; /* lost: reported by its event */
    /* Counted here, once per executor; those sent by reference are counted block by block. */
    if (p->inline_broadcast_bytes > 0)
        atomic_fetch_add(&r->broadcast_bytes, p->inline_broadcast_bytes);
    conn_send(l->control, FRAME_MESSAGE, 0, &p->bytes);
}

static struct outgoing_message *take_outgoing_messages(struct cluster_transport *r)
{
    pthread_mutex_lock(&r->lock);
    struct outgoing_message *p = r->outgoing;
    r->outgoing = NULL;
    r->outgoing_end = &r->outgoing;
    r->outgoing_bytes = 0;
    pthread_mutex_unlock(&r->lock);
    return p;
}

/* Loop's thread: writes all queued messages to their executors' connections; those to executors
 * that are lost are dropped. */
static void outbox_deliver(struct cluster_transport *r)
{
    for (struct outgoing_message *p = take_outgoing_messages(r), *next; p != NULL; p = next) {
        next = p->next;
        assert(p->executor < r->number_count);
        send_outgoing_message(r, p);
        outgoing_message_destroy(p);
    }
}

static void outbox_fini(struct cluster_transport *r)
{
    for (struct outgoing_message *p = take_outgoing_messages(r), *next; p != NULL; p = next) {
        next = p->next;
        outgoing_message_destroy(p);
    }
}

/* ---- cluster transport */

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
static void on_driver_wakeup(uv_async_t *wakeup)
{
    struct cluster_transport *r = wakeup->data;
    if (r->stopping) return;
    if (atomic_exchange(&r->wake_requested, false)) inbox_wake_driver(r);
    outbox_deliver(r);
    broadcast_server_free_removed(r);
    task_result_fetch_start_pending(r);
    if (atomic_load(&r->stop_requested)) close_all_handles(r);
}

static void *event_loop_main(void *arg)
{
    struct cluster_transport *r = arg;
    uv_run(&r->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* ---- The driver's thread */

static int cluster_transport_send(void *arg, uint32_t executor, struct message *m,
                                  struct glint_error *error)
{
    return outbox_append_message(arg, executor, m, error);
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

static void free_cluster_transport(struct cluster_transport *r)
{
    mem_free(r->health);
    for (struct inbox_event *e = r->events, *next; e != NULL; e = next) {
        next = e->next;
        inbox_event_destroy(e);
    }
    inbox_event_destroy(r->no_executors_event);
    outbox_fini(r);
    fetch_server_destroy(r->fetch_server);
    mem_free(r->program);
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
    free_cluster_transport(r);
}

static void cluster_transport_free_broadcast(void *arg, uint64_t id, void *data)
{
    broadcast_server_remove(arg, id, data);
}

/* ---- Start */

static int open_driver_network(struct cluster_transport *r, struct glint_error *error)
{
    const struct net_config config = {
        .role = ROLE_DRIVER,
        .cluster = r->cluster->name,
        .node = "driver",
        .secret_file = r->cluster->secret_file,
        .insecure_plaintext = r->cluster->insecure_plaintext,
        .build = r->cluster->program_build,
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
static int start_event_loop_thread(struct cluster_transport *r, struct glint_error *error)
{
    deadline_init(&r->timer, &r->loop, on_transport_timer, r);
    int code = 0;
    int uv = uv_async_init(&r->loop, &r->wakeup, on_driver_wakeup);
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
    if (code == 0) code = thread_start(&r->thread, event_loop_main, r, error);
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
        [GET_PROGRAM] = {.find = program_server_find, .arg = r}};
    r->fetch_server = fetch_server_create(&r->loop, sources);
    return r->fetch_server != NULL ? 0 : error_no_memory(error);
}

static void init_cluster_transport(struct cluster_transport *r, struct glint *g,
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
    init_cluster_transport(r, g, cluster);
    int code = open_driver_network(r, error);
    if (code == 0) code = create_fetch_server(r, error);
    if (code == 0) code = create_daemon_conns(r, error);
    if (code == 0) code = event_loop_init(&r->loop, r->env, error);
    if (code == 0) code = start_event_loop_thread(r, error);
    if (code != 0) {
        free_cluster_transport(r);
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
