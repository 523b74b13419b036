/* Local mode: the driver and one executor in one process. The transport is function calls instead
 * of sockets.
 *
 * The executor's slots append messages to an inbox, for which the driver's thread waits. With
 * encode_messages (for tests) each message is encoded and decoded on the way, in both directions.
 */
#include "engine/driver/transport.h"

#include "engine/base/locked_dir.h"
#include "engine/base/thread.h"
#include "engine/executor/executor.h"

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

struct local {
    struct glint *g;
    struct executor *executor;
    struct work_dir work_dir;
    sem_t arrived;        /* a message, or `wake` */
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
    sem_post(&l->arrived);
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

static void local_transport_wait(void *arg, struct driver *driver, uint64_t deadline_ns)
{
    struct local *l = arg;
    semaphore_wait_until(&l->arrived, l->g->config.env, deadline_ns);
    local_receive_messages(l, driver);
}

/* Any thread, and signal handlers. */
static void local_transport_wake(void *arg)
{
    sem_post(&((struct local *)arg)->arrived);
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
    sem_destroy(&l->arrived);
    pthread_mutex_destroy(&l->lock);
    work_dir_close(&l->work_dir);
    mem_free(l);
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
    sem_init(&l->arrived, 0, 0);
    int r = work_dir_open(&l->work_dir, g->config.env, g->config.work_dir, &g->error);
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
