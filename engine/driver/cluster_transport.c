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
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/driver/cluster_transport_internal.h"
#include "engine/net/net_init.h"
#include "engine/transfer/broadcast.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- Serves broadcasts that are too large for their BROADCAST message
 * (BROADCAST_INLINE_BYTES_MAX). An executor knows the id and size, asks which blocks to fetch from
 * where (BLOCK_REQUEST), and gets from the driver those that the tracker assigned to the driver;
 * the rest come from other executors. The bytes are not copied: sockets send from the context's
 * memory. A block is compressed when it is first sent and cached until the job ends, so that this
 * is done once. */

/* ---- Sends the driver's own program to daemons of another build: its size and SHA-256, then its
 * bytes. It is hashed when the first daemon asks, on libuv's thread pool. /proc/self/exe is the
 * file that runs, also if its path has been replaced. */

#define OWN_PROGRAM "/proc/self/exe"

struct program_server {
    struct cluster_transport *r;
    struct run file;
    struct program_info info;
    bool hashing, hashed;
    uv_work_t work;
    struct glint_error why;
    char path[PATH_MAX];
};

static void send_program_info(struct daemon_conn *p)
{
    struct program_server *s = p->r->program;
    if (p->conn == NULL || p->state != DAEMON_CONN_REQUESTED) return;
    if (s->why.code != GLINT_OK)
        daemon_conn_fail(p, &s->why);
    else
        conn_send_payload(p->conn, FRAME_PROGRAM, 0, &program_info_format, &s->info);
}

static void hash_program_on_pool(uv_work_t *work)
{
    struct program_server *s = work->data;
    struct env *env = s->r->env;
    struct env_stat stat;
    const int file = env->open(env, ENV_CWD, s->path, ENV_READ);
    int r = file < 0 ? file : env->stat_open(env, file, &stat);
    if (r >= 0) r = sha256_of_file(env, file, s->info.sha256);
    if (r < 0) error_set_system(&s->why, GLINT_E_SYSTEM, r, "read", s->path);
    if (r >= 0) s->info.size = stat.size;
    if (file >= 0) env->close(env, file);
    s->file = (struct run){.source = {.bytes = s->info.size}, .path = s->path, .env = env};
}

static void on_program_hashed(uv_work_t *work, int status)
{
    struct program_server *s = work->data;
    struct cluster_transport *r = s->r;
    (void)status;
    s->hashing = false;
    s->hashed = true;
    if (r->stopping) return;
    for (uint32_t i = 0; i < r->cluster->executor_count; i++)
        if (r->daemon_conns[i].fetches_program) send_program_info(&r->daemon_conns[i]);
}

int program_server_on_request(struct daemon_conn *p, struct glint_error *error)
{
    struct cluster_transport *r = p->r;
    if (p->state != DAEMON_CONN_REQUESTED)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected PROGRAM_REQUEST");
    if (r->program == NULL) r->program = mem_zalloc(sizeof *r->program);
    struct program_server *s = r->program;
    if (s == NULL) return error_no_memory(error);
    p->fetches_program = true;
    /* The acquisition order no longer waits for this daemon. */
    registration_join_if_enough_executors(r);
    if (s->hashed) send_program_info(p);
    if (s->hashed || s->hashing) return 0;
    s->r = r;
    text_format(s->path, sizeof s->path, "%s",
                r->cluster->program != NULL ? r->cluster->program : OWN_PROGRAM);
    s->work.data = s;
    s->hashing = true;
    int failed = uv_queue_work(&r->loop, &s->work, hash_program_on_pool, on_program_hashed);
    assert(failed == 0); /* fails only without a work function */
    return 0;
}

/* struct fetch_source: the program; `arg` is the transport. */
static void program_server_find(void *arg, const struct get_request *g, struct fetch_found *out,
                                struct glint_error *why)
{
    const struct cluster_transport *r = arg;
    (void)g;
    if (r->program != NULL && r->program->hashed)
        out->file = &r->program->file;
    else
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "the driver's program was not requested");
}

/* ---- broadcast server */

/* What is cached of one block of a broadcast, so that it is compressed and hashed once. */
struct sent_block {
    struct buffer packed; /* compressed; empty: not compressed yet, or incompressible */
    uint64_t checksum;    /* of the uncompressed block */
    bool has_checksum, incompressible;
};

/* A broadcast above BROADCAST_INLINE_BYTES_MAX. The driver's thread adds it; `tracker` and `blocks`
 * are used by the loop's thread only. */
struct served_broadcast {
    struct served_broadcast *next;
    uint64_t id, size;
    const uint8_t *data; /* borrowed from the context until it is removed */
    void *owned_data;    /* under lock; not NULL: it is removed, and freed with this */
    uint32_t sending;    /* blocks that are being sent; loop's thread */
    struct tracker *tracker;
    struct sent_block *blocks;
};

/* Both threads. The loop's thread may use the result without the lock, as only that removes. */
static struct served_broadcast *find_served_broadcast(struct cluster_transport *r, uint64_t id)
{
    pthread_mutex_lock(&r->lock);
    struct served_broadcast *v = r->broadcasts;
    while (v != NULL && v->id != id) v = v->next;
    pthread_mutex_unlock(&r->lock);
    return v;
}

/* Driver's thread. Adds a broadcast unless it is known; `data` is borrowed until
 * broadcast_server_remove or broadcast_server_fini. Returns 0 or NO_MEMORY. */
static int broadcast_server_add(struct cluster_transport *r, uint64_t id, const void *data,
                                uint64_t size, struct glint_error *error)
{
    if (find_served_broadcast(r, id) != NULL) return 0; /* sent to another executor before */
    uint32_t blocks = broadcast_block_count(size);
    struct served_broadcast *v = mem_zalloc(sizeof *v);
    if (v != NULL) {
        v->id = id;
        v->size = size;
        v->data = data;
        v->tracker = broadcast_tracker_create(blocks);
        v->blocks = mem_zalloc(sizeof *v->blocks * ((uint64_t)blocks + 1));
    }
    if (v == NULL || v->tracker == NULL || v->blocks == NULL) {
        if (v != NULL) {
            broadcast_tracker_destroy(v->tracker);
            mem_free(v->blocks);
        }
        mem_free(v);
        return error_no_memory(error);
    }
    pthread_mutex_lock(&r->lock);
    v->next = r->broadcasts;
    r->broadcasts = v;
    if (id > r->last_served_broadcast) r->last_served_broadcast = id;
    pthread_mutex_unlock(&r->lock);
    return 0;
}

/* Driver's thread. Takes ownership of the data: it is freed when no block is being sent. */
static void broadcast_server_remove(void *arg, uint64_t id, void *data)
{
    struct cluster_transport *r = arg;
    struct served_broadcast *v = find_served_broadcast(r, id);
    if (v == NULL) { /* it was small, or never sent */
        mem_free(data);
        return;
    }
    assert(v->data == data && v->owned_data == NULL);
    pthread_mutex_lock(&r->lock);
    v->owned_data = data;
    pthread_mutex_unlock(&r->lock);
    uv_async_send(&r->wakeup);
}

static void free_served_broadcast(struct served_broadcast *v)
{
    for (uint32_t i = 0; i < broadcast_block_count(v->size); i++) buffer_fini(&v->blocks[i].packed);
    broadcast_tracker_destroy(v->tracker);
    mem_free(v->blocks);
    mem_free(v->owned_data);
    mem_free(v);
}

/* Loop's thread: frees the removed ones of which no block is being sent. */
static void broadcast_server_free_removed(struct cluster_transport *r)
{
    struct served_broadcast *freed = NULL;
    pthread_mutex_lock(&r->lock);
    for (struct served_broadcast **link = &r->broadcasts; *link != NULL;) {
        struct served_broadcast *v = *link;
        if (v->owned_data == NULL || v->sending > 0) {
            link = &v->next;
            continue;
        }
        *link = v->next;
        v->next = freed;
        freed = v;
    }
    pthread_mutex_unlock(&r->lock);
    for (struct served_broadcast *next; freed != NULL; freed = next) {
        next = freed->next;
        free_served_broadcast(freed);
    }
}

/* ---- Blocks */

static struct glint_slice served_broadcast_bytes(const struct served_broadcast *v)
{
    return (struct glint_slice){v->data, v->size};
}

static uint64_t get_broadcast_block_checksum(struct served_broadcast *v, uint32_t block)
{
    struct sent_block *b = &v->blocks[block];
    if (!b->has_checksum)
        b->checksum = broadcast_block_checksum(v->id, block, served_broadcast_bytes(v));
    b->has_checksum = true;
    return b->checksum;
}

/* The block as it is sent: compressed, or uncompressed if that is not smaller or there is no
 * memory. The result is borrowed until broadcast_server_fini. */
static struct glint_slice get_encoded_broadcast_block(struct served_broadcast *v, uint32_t block)
{
    struct sent_block *b = &v->blocks[block];
    struct glint_error ignored = {.code = GLINT_OK};
    if (b->packed.size == 0 && !b->incompressible)
        b->incompressible =
            broadcast_block_compress(block, served_broadcast_bytes(v), &b->packed, &ignored) == 0 &&
            b->packed.size == 0;
    if (b->packed.size == 0) return broadcast_block_slice(served_broadcast_bytes(v), block);
    return buffer_slice(&b->packed);
}

static void find_broadcast_block_to_serve(void *arg, const struct get_request *g,
                                          struct fetch_found *out, struct glint_error *why)
{
    struct served_broadcast *v = find_served_broadcast(arg, g->id);
    if (v != NULL && g->block < broadcast_block_count(v->size)) {
        out->bytes = get_encoded_broadcast_block(v, g->block);
        out->ref = v;
        v->sending++;
    } else {
        error_set(why, GLINT_E_PROTOCOL, NULL, "block %u of broadcast %llu not found", g->block,
                  (unsigned long long)g->id);
    }
}

static void release_served_broadcast_block(void *arg, void *ref)
{
    struct served_broadcast *v = ref;
    assert(v->sending > 0);
    if (--v->sending == 0) broadcast_server_free_removed(arg);
}

/* The source of GET_BROADCAST_BLOCK, for fetch_server_create. */
static struct fetch_source broadcast_server_source(struct cluster_transport *r)
{
    return (struct fetch_source){.find = find_broadcast_block_to_serve,
                                 .release = release_served_broadcast_block,
                                 .arg = r,
                                 .bytes_sent = &r->broadcast_bytes};
}

/* ---- Block assignments */

static void send_broadcast_block_assignment(struct executor_conn *l, struct served_broadcast *v,
                                            struct block_assignment *assignment)
{
    assert(assignment->count <= BLOCK_REQUEST_MAX);
    assignment->id = v->id;
    /* Being lost: broadcast_server_on_executor_lost takes the assignment back. */
    if (l->data == NULL || l->state != EXECUTOR_CONN_JOINED) return;
    for (uint32_t i = 0; i < assignment->count; i++)
        assignment->blocks[i].checksum =
            get_broadcast_block_checksum(v, assignment->blocks[i].block);
    conn_send_payload(l->data, FRAME_BLOCK_ASSIGN, 0, &block_assignment_format, assignment);
}

/* After an event that may have freed blocks: sends BLOCK_ASSIGN to executors that wait. */
static void assign_broadcast_blocks_to_waiting(struct cluster_transport *r,
                                               struct served_broadcast *v)
{
    uint32_t number = 0;
    struct block_assignment assignment = {.id = 0};
    while (broadcast_tracker_next_assignment(v->tracker, &number, &assignment)) {
        struct executor_conn *l = registration_find_executor(r, number);
        if (l != NULL) send_broadcast_block_assignment(l, v, &assignment);
    }
}

static uint64_t last_served_broadcast_id(struct cluster_transport *r)
{
    pthread_mutex_lock(&r->lock);
    const uint64_t id = r->last_served_broadcast;
    pthread_mutex_unlock(&r->lock);
    return id;
}

int broadcast_server_on_block_request(struct executor_conn *l, struct glint_slice payload,
                                      struct glint_error *error)
{
    struct block_request request;
    struct block_assignment assignment = {.id = 0};
    int r = block_request_decode(payload, &request, error);
    if (r != 0) return r;
    struct served_broadcast *v = find_served_broadcast(l->r, request.id);
    /* It was removed while the request was on its way. */
    if (v == NULL && l->joined && request.id <= last_served_broadcast_id(l->r)) return 0;
    if (v == NULL || !l->joined)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "BLOCK_REQUEST for an unknown broadcast");
    if (!broadcast_tracker_on_block_request(v->tracker, l->number, &request, &assignment))
        return error_no_memory(error);
    send_broadcast_block_assignment(l, v, &assignment);
    assign_broadcast_blocks_to_waiting(l->r, v);
    return 0;
}

void broadcast_server_on_executor_lost(struct cluster_transport *r, uint32_t number)
{
    /* New ones are prepended, so the list behind `first` does not change. */
    pthread_mutex_lock(&r->lock);
    struct served_broadcast *first = r->broadcasts;
    pthread_mutex_unlock(&r->lock);
    for (struct served_broadcast *v = first; v != NULL; v = v->next) {
        broadcast_tracker_on_executor_lost(v->tracker, number);
        assign_broadcast_blocks_to_waiting(r, v);
    }
}

/* Frees all broadcasts, and the data of removed ones. The loop's thread must have ended. */
static void broadcast_server_fini(struct cluster_transport *r)
{
    for (struct served_broadcast *v = r->broadcasts, *next; v != NULL; v = next) {
        next = v->next;
        free_served_broadcast(v);
    }
    r->broadcasts = NULL;
}

/* ---- The queue of events from the loop's thread to the driver's thread, in the order they
 * happened. Only the loop's thread appends. */

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
    pthread_mutex_unlock(&r->lock);
    sem_post(&r->arrived);
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
static void inbox_wait(void *arg, struct driver *driver, uint64_t deadline_ns)
{
    struct cluster_transport *r = arg;
    pthread_mutex_lock(&r->lock);
    /* The driver has no more to send at this point: the loop writes all messages at once. */
    if (r->outgoing != NULL) uv_async_send(&r->wakeup);
    pthread_mutex_unlock(&r->lock);
    semaphore_wait_until(&r->arrived, r->env, deadline_ns);
    pthread_mutex_lock(&r->lock);
    struct inbox_event *e = r->events;
    r->events = NULL;
    r->events_end = &r->events;
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
static int outbox_append_message(void *arg, uint32_t executor, struct message *m,
                                 struct glint_error *error)
{
    struct cluster_transport *r = arg;
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
    for (uint32_t i = 0; i < r->daemon_conn_count; i++) daemon_conn_redial(&r->daemon_conns[i]);
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
    for (uint32_t i = 0; i < r->daemon_conn_count; i++) daemon_conn_close(&r->daemon_conns[i]);
    executor_listener_close(r);
    deadline_close(&r->timer, NULL);
    uv_close((uv_handle_t *)&r->wakeup, NULL);
}

/* Runs after uv_async_send. libuv merges several sends into one call, so it checks everything. */
static void on_driver_wakeup(uv_async_t *wakeup)
{
    struct cluster_transport *r = wakeup->data;
    if (r->stopping) return;
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

/* Any thread, and signal handlers. */
static void cluster_transport_wake(void *arg)
{
    sem_post(&((struct cluster_transport *)arg)->arrived);
}

/* Only stores a copy. The loop sends it to the daemons with their next heartbeat. */
static void cluster_transport_set_progress(void *arg, const struct progress *p)
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
    sem_destroy(&r->arrived);
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
    assert(count > 0 || r->cluster->listen_host != NULL); /* a file has executors */
    if (count == 0) return 0;
    r->daemon_conns = mem_zalloc(sizeof *r->daemon_conns * count);
    if (r->daemon_conns == NULL) return error_no_memory(error);
    r->daemon_conn_count = count;
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
    int code = uv_async_init(&r->loop, &r->wakeup, on_driver_wakeup);
    assert(code == 0); /* event_loop_init opened its descriptors */
    r->wakeup.data = r;
    deadline_init(&r->timer, &r->loop, on_transport_timer, r);
    for (uint32_t i = 0; i < r->daemon_conn_count; i++) daemon_conn_init(&r->daemon_conns[i]);
    if (r->cluster->listen_host != NULL) code = executor_listener_open(r, error);
    r->no_executor_since_ns = cluster_transport_now(r);
    cluster_transport_arm_timer(r, r->no_executor_since_ns); /* dials all daemons at once */
    if (code == 0) code = thread_start(&r->thread, event_loop_main, r, error);
    if (code == 0) return 0;
    close_all_handles(r);
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
    r->g = g;
    r->env = g->config.env;
    r->cluster = cluster;
    r->events_end = &r->events;
    r->outgoing_end = &r->outgoing;
    r->executor_conns_end = &r->executor_conns;
    pthread_mutex_init(&r->lock, NULL);
    sem_init(&r->arrived, 0, 0);
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
    *out = (struct transport){.send = outbox_append_message,
                              .wait = inbox_wait,
                              .wake = cluster_transport_wake,
                              .free_broadcast = broadcast_server_remove,
                              .progress = cluster_transport_set_progress,
                              .health = cluster_transport_health,
                              .destroy = cluster_transport_destroy,
                              .arg = r};
    return 0;
}

uint64_t cluster_transport_broadcast_bytes(const struct transport *t)
{
    return atomic_load(&((struct cluster_transport *)t->arg)->broadcast_bytes);
}
