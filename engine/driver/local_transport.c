/* Local mode: the driver and one executor in one process. The transport is function calls instead
 * of sockets.
 *
 * The driver's thread waits in a libuv loop: the executor's slots append messages to an inbox and
 * wake the loop with uv_async_send; a timer ends each wait at its deadline. With encode_messages
 * (for tests) each message is encoded and decoded on the way, in both directions. */
#include "engine/driver/transport.h"

#include "engine/base/locked_dir.h"
#include "engine/executor/executor.h"
#include "engine/net/net_init.h"

#include <assert.h>
#include <pthread.h>
#include <unistd.h>
#include <uv.h>

struct local {
    struct glint *g;
    struct executor *executor;
    struct work_dir work_dir;
    uv_loop_t loop;
    uv_async_t arrived;
    uv_timer_t timer;
    bool event_loop_init;
    pthread_mutex_t lock; /* guards the inbox */
    struct message_queue inbox;
};

/* ---- Executor to driver */

/* Any slot's thread. Takes ownership of `m`. */
static void local_transport_deliver(void *arg, struct message *m)
{
    struct local *l = arg;
    assert(m->type == MSG_DONE || m->type == MSG_FAILED);
    pthread_mutex_lock(&l->lock);
    message_queue_append(&l->inbox, m);
    pthread_mutex_unlock(&l->lock);
    uv_async_send(&l->arrived);
}

/* Returns a decoded copy and destroys `m`. On failure sets *error and returns `m` itself. */
static struct message *encode_and_decode_message(struct message *m, struct glint_error *error)
{
    struct buffer wire = {NULL, 0, 0};
    struct message *back = NULL;
    if (message_encode(m, &wire, error) == 0) back = message_decode(buffer_slice(&wire), error);
    buffer_fini(&wire);
    if (back == NULL) return m;
    message_destroy(m);
    return back;
}

static void local_receive_messages(struct local *l, struct driver *driver)
{
    pthread_mutex_lock(&l->lock);
    struct message_queue arrived = l->inbox;
    l->inbox = (struct message_queue){NULL, NULL};
    pthread_mutex_unlock(&l->lock);
    for (struct message *m; (m = message_queue_pop(&arrived)) != NULL;) {
        if (l->g->config.encode_messages) m = encode_and_decode_message(m, &l->g->error);
        driver_on_message(driver, 0, m);
    }
}

static void on_message_arrived(uv_async_t *handle)
{
    uv_stop(handle->loop);
}

static void on_local_timer(uv_timer_t *handle)
{
    uv_stop(handle->loop);
}

static void local_transport_wait(void *arg, struct driver *driver, uint64_t deadline_ns)
{
    struct local *l = arg;
    struct env *env = l->g->config.env;
    uint64_t now = env->now_ns(env);
    /* Round up: waking before the deadline would spin. libuv counts from its cached time, which is
     * old after the job's own code ran. */
    uint64_t ms = deadline_ns > now ? (deadline_ns - now + MS_NS - 1) / MS_NS : 0;
    uv_update_time(&l->loop);
    uv_timer_start(&l->timer, on_local_timer, ms, 0);
    uv_run(&l->loop, UV_RUN_DEFAULT); /* until uv_stop */
    uv_timer_stop(&l->timer);
    local_receive_messages(l, driver);
}

/* Any thread, and signal handlers: uv_async_send is async-signal-safe. */
static void local_transport_wake(void *arg)
{
    uv_async_send(&((struct local *)arg)->arrived);
}

/* ---- Driver to executor */

static int local_transport_send(void *arg, uint32_t executor, struct message *m,
                                struct glint_error *error)
{
    struct local *l = arg;
    assert(executor == 0);
    if (l->g->config.encode_messages) m = encode_and_decode_message(m, error);
    return executor_handle_message(l->executor, m, error);
}

static void local_transport_destroy(void *arg)
{
    struct local *l = arg;
    if (l->g->stuck) { /* a task that does not end uses the rest */
        work_dir_close(&l->work_dir);
        return;
    }
    executor_destroy(l->executor);
    message_queue_fini(&l->inbox);
    if (l->event_loop_init) {
        uv_close((uv_handle_t *)&l->arrived, NULL);
        uv_close((uv_handle_t *)&l->timer, NULL);
        uv_run(&l->loop, UV_RUN_DEFAULT);
        uv_loop_close(&l->loop);
    }
    pthread_mutex_destroy(&l->lock);
    work_dir_close(&l->work_dir);
    mem_free(l);
}

static int start_local_loop(struct local *l, struct glint_error *error)
{
    if (event_loop_init(&l->loop, l->g->config.env, error) != 0) return error->code;
    int r = uv_async_init(&l->loop, &l->arrived, on_message_arrived);
    assert(r == 0); /* event_loop_init opened its descriptors */
    uv_timer_init(&l->loop, &l->timer);
    l->event_loop_init = true;
    return 0;
}

struct task_options transport_task_options(const struct context_config *c)
{
    struct task_options options = {.line_bytes_max = c->line_bytes_max,
                                   .result_bytes_max = c->result_bytes_max,
                                   .skip_bad_rows = c->skip_bad_rows,
                                   .bad_rows_max = c->bad_rows_max,
                                   .no_sync = c->no_sync};
    if (getcwd(options.dir, sizeof options.dir) == NULL) options.dir[0] = '\0';
    return options;
}

static int start_local_executor(struct local *l, struct glint_error *error)
{
    const struct context_config *c = &l->g->config;
    struct executor_config config = {.slots = c->slots,
                                     .options = transport_task_options(c),
                                     .registry = c,
                                     .env = c->env,
                                     .deliver = local_transport_deliver,
                                     .deliver_arg = l};
    config.options.memory_bytes = c->memory_bytes / c->slots;
    config.options.dir[0] = '\0'; /* paths are relative to this process's directory */
    config.options.allow_commands = true;
    config.options.work_dir = l->work_dir.path;
    l->executor = executor_create(&config, error);
    return l->executor != NULL ? 0 : error->code;
}

int local_transport_create(struct glint *g, struct transport *out)
{
    struct local *l = mem_zalloc(sizeof *l);
    if (l == NULL) return error_no_memory(&g->error);
    l->g = g;
    l->work_dir.lock = LOCKED_DIR_NONE;
    pthread_mutex_init(&l->lock, NULL);
    int r = work_dir_open(&l->work_dir, g->config.env, g->config.work_dir, &g->error);
    if (r == 0) r = start_local_loop(l, &g->error);
    if (r == 0) r = start_local_executor(l, &g->error);
    if (r != 0) {
        local_transport_destroy(l);
        return r;
    }
    *out = (struct transport){.send = local_transport_send,
                              .wait = local_transport_wait,
                              .wake = local_transport_wake,
                              .destroy = local_transport_destroy,
                              .local = true,
                              .arg = l};
    return 0;
}
