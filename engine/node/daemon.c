/* Life cycle of the executor daemon. An idle daemon does not wake up. */
#include "engine/node/daemon_internal.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/base/work_dir.h"
#include "engine/net/event_loop.h"
#include "engine/net/net_init.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Shutdown */

/* Closes everything; the loop stops with the last connection. No executor may be left. */
static void daemon_stop(struct daemon *d)
{
    assert(!d->stopping && d->runner_count == 0);
    d->stopping = true;
    listener_close(d->listener);
    d->listener = NULL;
    for (struct daemon_session *v = d->sessions; v != NULL; v = v->next) session_close(v);
    for (uint32_t i = 0; i < DAEMON_SIGNALS; i++)
        if (!uv_is_closing((uv_handle_t *)&d->signals[i])) signal_close_and_ignore(&d->signals[i]);
    deadline_close(&d->drain_deadline, NULL);
    deadline_close(&d->idle_deadline, NULL);
    deadline_close(&d->client_deadline, NULL);
    service_notify_close(&d->service);
}

/* Whether a launched daemon has neither a driver nor an executor. */
static bool is_idle(const struct daemon *d)
{
    if (!d->config->launched || d->runner_count > 0) return false;
    for (const struct daemon_session *v = d->sessions; v != NULL; v = v->next)
        if (v->is_driver) return false;
    return true;
}

void daemon_stop_if_done(struct daemon *d)
{
    if (d->stopping) return;
    if (d->draining && d->runner_count == 0) {
        log_line(LOG_INFO, NULL, "drained");
        daemon_stop(d);
        return;
    }
    bool idle = is_idle(d);
    if (!idle) deadline_stop(&d->idle_deadline);
    if (idle && !d->idle) deadline_start(&d->idle_deadline, d->cluster->heartbeat.dead_ns / MS_NS);
    d->idle = idle;
}

/* The drain time is over, or a second signal came: executors exit without draining. */
static void stop_runners_now(struct daemon *d)
{
    for (struct executor_runner *w = executor_runner_next(d->runners); w != NULL;
         w = executor_runner_next(w->next))
        executor_runner_drain(w, true);
}

static void on_daemon_signal(uv_signal_t *handle, int number)
{
    struct daemon *d = handle->data;
    if (d->stopping) return;
    if (d->draining) {
        log_line(LOG_INFO, NULL, "second signal: stopping now");
        stop_runners_now(d);
        return;
    }
    d->draining = true;
    service_notify_stopping(&d->service);
    log_line(LOG_INFO, NULL, "draining after signal %d: %u jobs running, at most %llu ms", number,
             d->runner_count, (unsigned long long)d->cluster->drain_ms);
    /* Queued drivers never get an executor here: reject them now, so that they use other nodes. */
    job_queue_reject_all(d);
    for (struct executor_runner *w = executor_runner_next(d->runners); w != NULL;
         w = executor_runner_next(w->next))
        executor_runner_drain(w, false);
    deadline_start(&d->drain_deadline, d->cluster->drain_ms);
    daemon_stop_if_done(d);
}

/* ---- Deadlines */

static void on_drain_deadline(void *arg)
{
    struct daemon *d = arg;
    if (d->stopping) return;
    if (d->runner_count > 0) log_line(LOG_WARN, NULL, "drain timeout");
    stop_runners_now(d);
}

static void on_idle_deadline(void *arg)
{
    struct daemon *d = arg;
    if (d->stopping || !d->idle) return;
    log_line(LOG_INFO, NULL, "shutting down: launched for a job, and no driver is connected");
    daemon_stop(d);
}

/* ---- Startup */

static const struct cluster_executor *find_own_config(const struct daemon_config *config)
{
    const struct cluster *c = config->cluster;
    for (uint32_t i = 0; i < c->executor_count; i++)
        if (strcmp(c->executors[i].id, config->id) == 0) return &c->executors[i];
    return NULL;
}

static int check_config(const struct daemon *d, struct glint_error *error)
{
    const struct cluster *c = d->cluster;
    if (d->self == NULL)
        return error_set(error, GLINT_E_CONFIG, "add an [[executor]] section, or correct --id",
                         "the cluster has no executor %s", d->config->id);
    assert(c->drivers_max > 0 && d->self->slots > 0);
    if (d->self->slots < c->drivers_max)
        return error_set(error, GLINT_E_CONFIG, "raise slots, or lower drivers_max",
                         "executor %s has %u slots for drivers_max = %u", d->self->id,
                         d->self->slots, c->drivers_max);
    if (d->self->memory_bytes / d->self->slots < SLOT_MEMORY_BYTES_MIN)
        return error_set(error, GLINT_E_MEMORY_LIMIT, "raise memory, or lower slots",
                         "executor %s has less than %llu MiB of memory for each of its %u slots",
                         d->self->id, (unsigned long long)(SLOT_MEMORY_BYTES_MIN / MIB),
                         d->self->slots);
    return 0;
}

/* Finds the file that standard error is redirected to, if any: the driver names it in its messages
 * when an executor exits. */
static void find_log_path(struct daemon *d)
{
    uv_fs_t fs;
    struct env_stat stat;
    int r = uv_fs_readlink(NULL, &fs, "/proc/self/fd/2", NULL);
    const char *path = r == 0 ? fs.ptr : "";
    if (path[0] == '/' && d->env->stat(d->env, path, &stat) == 0 && stat.kind == ENV_FILE &&
        !text_format(d->log, sizeof d->log, "%s", path))
        d->log[0] = '\0';
    uv_fs_req_cleanup(&fs);
}

/* The launching job rotates a log larger than log_bytes_max (node/daemon_launch.c). So a daemon
 * starts with at most that much, and may add as much again. */
uint64_t daemon_log_bytes_max(const struct daemon *d)
{
    return d->config->launched ? 2 * d->cluster->log_bytes_max : 0;
}

static void open_signals(struct daemon *d)
{
    static const int numbers[DAEMON_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    for (uint32_t i = 0; i < DAEMON_SIGNALS; i++) {
        struct sigaction before;
        int r = uv_signal_init(&d->loop, &d->signals[i]);
        assert(r == 0); /* event_loop_init opened its descriptors */
        d->signals[i].data = d;
        /* A signal ignored by the parent, e.g. SIGHUP under nohup, stays ignored. */
        bool ignored = sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (!ignored || numbers[i] == SIGTERM)
            uv_signal_start(&d->signals[i], on_daemon_signal, numbers[i]);
    }
}

static void print_ready(const struct daemon *d)
{
    const char *host = d->self->host;
    bool v6 = strchr(host, ':') != NULL;
    if (d->config->log_json)
        log_line(LOG_INFO, NULL, "executor %s ready on %s%s%s:%u", d->self->id, v6 ? "[" : "", host,
                 v6 ? "]" : "", listener_port(d->listener));
    else
        fprintf(stderr, "executor %s ready on %s%s%s:%u\n", d->self->id, v6 ? "[" : "", host,
                v6 ? "]" : "", listener_port(d->listener));
}

static int daemon_start(struct daemon *d, struct glint_error *error)
{
    const struct cluster *c = d->cluster;
    const struct net_config net = {.role = ROLE_DAEMON,
                                   .cluster = c->name,
                                   .node = d->self->id,
                                   .secret_file = c->secret_file,
                                   .insecure_plaintext = c->insecure_plaintext,
                                   .connect_ms = c->connect_ms};
    int r = net_init(&d->net, &d->loop, d->env, &net, error);
    if (r != 0) return r;
    d->listener =
        listener_open(&d->net, d->self->host, d->self->port, session_on_accepted, d, error);
    if (d->listener == NULL) return error->code;
    /* Directories of executors of a daemon that was killed; those of live processes are locked. */
    work_dir_remove_stale(d->env, d->self->work_dir);
    find_log_path(d);
    d->started_ns = daemon_now(d);
    d->idle = d->config->launched;
    if (d->idle) deadline_start(&d->idle_deadline, c->start_ms);
    print_ready(d);
    service_notify_ready(&d->service);
    return 0;
}

int daemon_run(const struct daemon_config *config, struct glint_error *error)
{
    struct daemon d = {.config = config,
                       .cluster = config->cluster,
                       .self = find_own_config(config),
                       .env = env_real()};
    int r = check_config(&d, error);
    if (r == 0) r = event_loop_init(&d.loop, d.env, error);
    if (r != 0) return r;
    log_configure(d.env, config->log_json, d.self->id);
    log_limit_bytes(daemon_log_bytes_max(&d));
    deadline_init(&d.drain_deadline, &d.loop, on_drain_deadline, &d);
    deadline_init(&d.idle_deadline, &d.loop, on_idle_deadline, &d);
    deadline_init(&d.client_deadline, &d.loop, session_drop_idle_clients, &d);
    service_notify_init(&d.service, &d.loop, d.env);
    open_signals(&d);
    r = daemon_start(&d, error);
    /* After an error: closes what daemon_start opened; the loop below runs the close callbacks. */
    if (r != 0) daemon_stop(&d);
    uv_run(&d.loop, UV_RUN_DEFAULT);
    assert(d.stopping && d.runners == NULL && d.sessions == NULL);
    net_fini(&d.net);
    int failed = uv_loop_close(&d.loop);
    assert(failed == 0); /* all handles are closed */
    log_flush_repeats();
    return r;
}
