/* An executor process: its life from the open loop to the last free. What it does in between comes
 * from connections (child_driver.c, child_peers.c) and slots (child_outbox.c).
 *
 * The end has an order. Tasks are cancelled and connections closed at once; only when no task runs
 * and no connection is left does the rest close, for until then tasks may fetch and blocks be sent.
 * A task that does not look at its flag is not waited for: its process just ends. */
#include "engine/executor/child_internal.h"

#include "engine/base/crash.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/executor/confine.h"
#include "engine/net/loop.h"
#include "engine/net/setup.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define GRACE_MS        3000u /* for tasks, from the end on */
#define STUCK_DEADS     6u /* so often `dead`, for a task that was told to end and holds its slot */
#define GRACE_SHORT_MS  500u /* after a second signal */
#define END_LOOK_NS     (10 * MS_NS)
#define DRAIN_LOOK_NS   (50 * MS_NS)
#define CONFIG_MS       10000u /* until the line has brought a configuration */
#define DRIVER_CONNECTS 3u     /* connection deadlines that a driver has to come */

/* ---- The end */

/* Its tasks do not end, or a name is being looked up for ever. */
static void abandon(struct child *c)
{
    uint32_t running = c->executor != NULL ? executor_running(c->executor) : 0;
    char what[2 * NAME_BYTES_MAX] = "";
    if (c->executor != NULL) executor_overdue(c->executor, what, sizeof what);
    log_line(LOG_WARN, NULL, "ends with %u tasks that did not stop%s%s", running,
             what[0] != '\0' ? ": " : "", what);
    work_dir_close(&c->work_dir);
    log_end();
    _exit(glint_code_exit_status(c->why.code));
}

static void on_late(uv_timer_t *timer)
{
    abandon(timer->data);
}

/* Nothing can use what is closed here any more. The loop ends with the last handle; the timer does
 * not count. */
static void close_rest(struct child *c, uint64_t now)
{
    struct glint_error gone = {.code = GLINT_OK};
    assert(c->phase == CHILD_ENDING && c->control == NULL && c->data == NULL && c->guests == NULL);
    c->phase = CHILD_CLOSING;
    thread_step_back(); /* its driver ends, too, and need not wait while memory is given back */
    error_set(&gone, GLINT_E_INTERRUPTED, NULL, "the executor ends");
    if (c->peers != NULL) peers_close(c->peers, &gone, NULL, NULL);
    c->peers = NULL;
    uv_close((uv_handle_t *)&c->arrived, NULL);
    loop_close_signal(&c->terminate);
    loop_close_signal(&c->interrupt);
    if (c->has_line) line_close(&c->line, NULL);
    uint64_t left = c->deadline_ns > now ? c->deadline_ns - now : 0;
    uv_timer_start(&c->timer, on_late, CLOSE_MS + left / MS_NS, 0);
    uv_unref((uv_handle_t *)&c->timer);
}

void child_end(struct child *c, const struct glint_error *why)
{
    struct glint_error ignored = {.code = GLINT_OK};
    if (c->phase >= CHILD_ENDING) return;
    c->phase = CHILD_ENDING;
    if (why != NULL) c->why = *why;
    c->redial_ns = UINT64_MAX;
    c->deadline_ns = child_now(c) + (c->signals > 1 ? GRACE_SHORT_MS : GRACE_MS) * MS_NS;
    if (c->executor != NULL)
        executor_receive(c->executor, c->cancel, &ignored);
    else
        message_destroy(c->cancel);
    c->cancel = NULL;
    gate_close(c->gate);
    c->gate = NULL;
    if (c->control != NULL) conn_close(c->control, true);
    if (c->data != NULL) conn_close(c->data, false);
    for (struct guest *g = c->guests; g != NULL; g = g->next) conn_close(g->conn, false);
    child_due(c, child_now(c));
}

static uint64_t look_end(struct child *c, uint64_t now)
{
    bool tasks = c->executor != NULL && executor_running(c->executor) > 0;
    if (!tasks && c->control == NULL && c->data == NULL && c->guests == NULL) {
        close_rest(c, now);
        return UINT64_MAX;
    }
    if (now >= c->deadline_ns) abandon(c);
    return now + END_LOOK_NS;
}

/* While the job goes on a task that does not end keeps others from its slot: they run elsewhere
 * when the process is gone. Answers when to look again. */
static uint64_t look_stuck(struct child *c, uint64_t now)
{
    char what[2 * NAME_BYTES_MAX];
    uint64_t patience = STUCK_DEADS * c->config.heartbeat.dead_ns;
    uint64_t told = c->executor != NULL ? executor_overdue(c->executor, what, sizeof what) : 0;
    if (told == 0) return UINT64_MAX; /* child_driver_look looks at each sign of life */
    if (now < told + patience) return told + patience;
    error_set(&c->why, GLINT_E_TIMEOUT, NULL, "%s did not end within %llu ms", what,
              (unsigned long long)(patience / MS_NS));
    log_error(LOG_ERROR, NULL, &c->why);
    abandon(c);
    return UINT64_MAX;
}

/* ---- Draining */

/* Whoever drains may go when nothing of it is wanted any more. */
static bool is_done(struct child *c)
{
    if (c->executor == NULL) return true;
    if (executor_running(c->executor) > 0 || !child_outbox_is_empty(c)) return false;
    return !store_is_wanted(executor_store(c->executor));
}

static uint64_t look_drain(struct child *c, uint64_t now)
{
    if (!c->draining) return UINT64_MAX;
    if (now < c->drain_end_ns && !is_done(c)) {
        uint64_t next = now + DRAIN_LOOK_NS;
        return next < c->drain_end_ns ? next : c->drain_end_ns;
    }
    log_line(LOG_INFO, NULL, "drained: %s",
             now < c->drain_end_ns ? "nothing is left to do" : "its time is over");
    child_end(c, NULL);
    return now;
}

void child_on_signal(struct child *c)
{
    uint64_t now = child_now(c);
    c->signals++;
    if (c->phase == CHILD_ENDING && c->signals > 1 && c->deadline_ns > now + GRACE_SHORT_MS * MS_NS)
        c->deadline_ns = now + GRACE_SHORT_MS * MS_NS;
    if (c->phase >= CHILD_ENDING) return;
    if (c->phase < CHILD_SERVING || c->signals > 1) {
        child_end(c, NULL);
        return;
    }
    assert(!c->draining);
    c->draining = true;
    c->drain_end_ns = now + c->config.drain_ms * MS_NS;
    log_line(LOG_INFO, NULL, "drains: no new tasks, at most %llu ms",
             (unsigned long long)c->config.drain_ms);
    child_send_drain(c);
    child_due(c, now);
}

/* ---- The timer */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void driver_is_late(struct child *c)
{
    struct glint_error why = {.code = GLINT_OK};
    if (c->phase == CHILD_STARTING)
        error_set(&why, GLINT_E_CONNECTION, NULL, "no configuration came from the daemon");
    else if (c->config.join_host == NULL)
        error_set(&why, GLINT_E_CONNECTION, NULL, "the driver that asked for it did not come");
    else
        error_set(&why, GLINT_E_CONNECTION, "start one: glint submit --listen HOST:PORT",
                  "no driver at %s:%u within %llu ms%s%s", c->config.join_host, c->config.join_port,
                  (unsigned long long)c->config.start_ms, c->last.code != GLINT_OK ? ": " : "",
                  c->last.cause);
    child_end(c, &why);
}

/* All that may be due; answers when to look again. */
static uint64_t child_look(struct child *c, uint64_t now)
{
    if (c->phase < CHILD_SERVING && now >= c->deadline_ns) driver_is_late(c);
    if (c->phase < CHILD_SERVING && now >= c->redial_ns) child_join(c);
    if (c->phase == CHILD_STARTING) return c->deadline_ns;
    if (c->phase == CHILD_WAITING) { /* often: our own sleep shows as a look that comes late */
        uint64_t look = now + c->config.heartbeat.beat_ns;
        return earlier(look, earlier(c->deadline_ns, c->redial_ns));
    }
    if (c->phase == CHILD_ENDING) return look_end(c, now);
    assert(c->phase == CHILD_SERVING);
    uint64_t next = child_driver_look(c, now);
    if (c->phase == CHILD_SERVING) next = earlier(next, child_outbox_send(c, now));
    if (c->phase == CHILD_SERVING) next = earlier(next, look_drain(c, now));
    if (c->phase == CHILD_SERVING) next = earlier(next, look_stuck(c, now));
    return c->phase == CHILD_SERVING ? next : now;
}

static void on_timer(uv_timer_t *timer)
{
    struct child *c = timer->data;
    assert(c->phase != CHILD_CLOSING);
    uint64_t now = child_now(c);
    if (c->phase == CHILD_WAITING && liveness_slept(&c->config.heartbeat, c->timer_ns, now))
        c->deadline_ns += now - c->timer_ns;
    c->timer_ns = UINT64_MAX;
    uint64_t next = child_look(c, now);
    if (next != UINT64_MAX) child_due(c, next);
}

void child_due(struct child *c, uint64_t at_ns)
{
    if (c->phase == CHILD_CLOSING || at_ns >= c->timer_ns) return;
    uint64_t now = child_now(c), left = at_ns > now ? at_ns - now : 0;
    c->timer_ns = at_ns;
    uv_update_time(&c->loop);
    int failed = uv_timer_start(&c->timer, on_timer, (left + MS_NS - 1) / MS_NS, 0);
    assert(failed == 0);
}

/* An outcome waits to be sent. */
static void on_arrived(uv_async_t *async)
{
    struct child *c = async->data;
    uint64_t now = child_now(c), next = now;
    if (c->phase == CHILD_SERVING) next = child_outbox_send(c, now);
    if (c->draining || c->phase == CHILD_ENDING) next = now;
    if (next != UINT64_MAX) child_due(c, next);
}

/* ---- The beginning */

int child_open(struct child *c, struct env *env, struct glint_error *error)
{
    *c = (struct child){.env = env,
                        .phase = CHILD_STARTING,
                        .timer_ns = UINT64_MAX,
                        .redial_ns = UINT64_MAX,
                        .work_dir = {.lock = FOLDER_NOT_LOCKED}};
    c->last_outcome = &c->first;
    if (loop_open(&c->loop, env, error) != 0) return error->code;
    pthread_mutex_init(&c->lock, NULL);
    uv_timer_init(&c->loop, &c->timer);
    int r = uv_async_init(&c->loop, &c->arrived, on_arrived);
    assert(r == 0); /* the loop has its descriptors already */
    r = uv_signal_init(&c->loop, &c->terminate);
    assert(r == 0);
    r = uv_signal_init(&c->loop, &c->interrupt);
    assert(r == 0);
    c->timer.data = c->arrived.data = c->terminate.data = c->interrupt.data = c;
    c->deadline_ns = child_now(c) + CONFIG_MS * MS_NS;
    child_due(c, c->deadline_ns);
    return 0;
}

/* The work directory's path must hold when the current folder changes (child_driver.c). */
static int open_work_dir(struct child *c, struct glint_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX];
    size_t size = sizeof folder;
    int r = work_dir_open(&c->work_dir, c->env, c->config.work_dir, error);
    if (r != 0 || c->work_dir.path[0] == '/') return r;
    r = uv_cwd(folder, &size);
    if (r != 0) return error_set_system(error, GLINT_E_WORK_DIR, r, "find", "the current folder");
    if (!text_format(path, sizeof path, "%s/%s", folder, c->work_dir.path))
        return error_set(error, GLINT_E_WORK_DIR, NULL, "the work directory's path is too long");
    memcpy(c->work_dir.path, path, sizeof path);
    return 0;
}

/* On the first of its ports that is free. */
static struct gate *listen_on(struct child *c, struct glint_error *error)
{
    const struct child_config *config = &c->config;
    const struct port_range ports = config->ports;
    struct gate *gate = NULL;
    if (config->port != 0 || ports.first == 0)
        return gate_open(&c->net, config->host, config->port, child_on_accepted, c, error);
    for (uint32_t port = ports.first; gate == NULL && port <= ports.last; port++) {
        error->code = GLINT_OK;
        gate = gate_open(&c->net, config->host, (uint16_t)port, child_on_accepted, c, error);
    }
    if (gate == NULL && ports.first < ports.last) {
        const struct glint_error last = *error;
        error->code = GLINT_OK;
        error_set(error, last.code, "widen ports, in the cluster's file or as --ports",
                  "none of the ports %u to %u is free: %s", ports.first, ports.last, last.cause);
    }
    return gate;
}

int child_start(struct child *c, const struct child_config *config, struct glint_error *error)
{
    assert(c->phase == CHILD_STARTING && config->slots > 0 && config->slots <= SLOTS_MAX);
    const struct net_config net = {.role = ROLE_EXECUTOR,
                                   .cluster = config->cluster,
                                   .node = config->node,
                                   .secret_file = config->secret_file,
                                   .insecure_plaintext = config->insecure_plaintext,
                                   .connect_ms = config->connect_ms};
    c->config = *config;
    log_start(c->env, config->log_json, config->node);
    log_bound(config->log_bytes_max);
    if (config->memory_bytes / config->slots < SLOT_MEMORY_BYTES_MIN)
        return error_set(error, GLINT_E_MEMORY_LIMIT, "raise memory, or use fewer slots",
                         "%u slots need at least %llu MiB of memory", config->slots,
                         (unsigned long long)(config->slots * SLOT_MEMORY_BYTES_MIN / MIB));
    int r = net_init(&c->net, &c->loop, c->env, &net, error);
    if (r == 0) r = open_work_dir(c, error);
    if (r != 0) return r;
    c->gate = listen_on(c, error);
    if (c->gate == NULL) return error->code;
    c->phase = CHILD_WAITING;
    c->deadline_ns = child_now(c);
    c->deadline_ns += config->join_host != NULL ? config->start_ms * MS_NS
                                                : DRIVER_CONNECTS * config->connect_ms * MS_NS;
    if (config->join_host != NULL) child_join(c);
    child_due(c, c->deadline_ns);
    return 0;
}

int child_close(struct child *c)
{
    uv_run(&c->loop, UV_RUN_DEFAULT);
    assert(c->phase == CHILD_CLOSING);
    uv_close((uv_handle_t *)&c->timer, NULL);
    uv_run(&c->loop, UV_RUN_DEFAULT);
    serve_destroy(c->serve);
    values_destroy(c->values);
    executor_destroy(c->executor);
    child_outbox_fini(c);
    net_fini(&c->net);
    work_dir_close(&c->work_dir);
    pthread_mutex_destroy(&c->lock);
    int failed = uv_loop_close(&c->loop);
    assert(failed == 0); /* no handle is left */
    return c->why.code;
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    child_on_signal(handle->data);
}

int child_run(const struct child_config *config, struct glint_error *error)
{
    struct child c;
    assert(config->join_host != NULL);
    confine_privileges();
    if (child_open(&c, config->env, error) != 0) return error->code;
    crash_start(config->node, NULL);
    crash_thread_begin(NULL, NULL);
    uv_signal_start(&c.terminate, on_signal, SIGTERM);
    uv_signal_start(&c.interrupt, on_signal, SIGINT);
    struct glint_error why = {.code = GLINT_OK};
    if (child_start(&c, config, &why) != 0) child_end(&c, &why);
    int r = child_close(&c);
    if (r != 0) *error = c.why;
    return r;
}
