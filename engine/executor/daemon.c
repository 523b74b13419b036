/* A daemon's life. It sleeps while nobody is connected: the one timer is set only for what is due,
 * and nothing is due then. */
#include "engine/executor/daemon_internal.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/executor/work_dir.h"
#include "engine/net/loop.h"
#include "engine/net/setup.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_NS_MIN MS_NS /* two looks are at least so far apart */

/* ---- The end */

static void stop(struct daemon *d)
{
    assert(!d->stopping && d->ward_count == 0);
    d->stopping = true;
    gate_close(d->gate);
    d->gate = NULL;
    for (struct visitor *v = d->visitors; v != NULL; v = v->next) visitor_close(v);
    for (uint32_t i = 0; i < DAEMON_SIGNALS; i++)
        if (!uv_is_closing((uv_handle_t *)&d->signals[i])) loop_close_signal(&d->signals[i]);
    uv_close((uv_handle_t *)&d->timer, NULL);
}

static bool is_lonely(const struct daemon *d)
{
    if (!d->config->launched || d->ward_count > 0) return false;
    for (const struct visitor *v = d->visitors; v != NULL; v = v->next)
        if (v->is_driver) return false;
    return true;
}

void daemon_check(struct daemon *d)
{
    if (d->stopping) return;
    if (d->draining && d->ward_count == 0) {
        log_line(LOG_INFO, NULL, "drained");
        stop(d);
        return;
    }
    if (!is_lonely(d)) {
        d->lonely_end_ns = UINT64_MAX;
    } else if (d->lonely_end_ns == UINT64_MAX) {
        d->lonely_end_ns = daemon_now(d) + d->cluster->heartbeat.dead_ns;
        daemon_due(d, d->lonely_end_ns);
    }
}

static void end_wards(struct daemon *d)
{
    for (struct ward *w = ward_next(d->wards); w != NULL; w = ward_next(w->next))
        ward_drain(w, true);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct daemon *d = handle->data;
    if (d->stopping) return;
    if (d->draining) {
        log_line(LOG_INFO, NULL, "ends at once: a second signal");
        end_wards(d);
        return;
    }
    d->draining = true;
    d->drain_end_ns = daemon_now(d) + d->cluster->drain_ms * MS_NS;
    log_line(LOG_INFO, NULL, "drains: signal %d, %u jobs to end, at most %llu ms", number,
             d->ward_count, (unsigned long long)d->cluster->drain_ms);
    queue_refuse_all(d);
    for (struct ward *w = ward_next(d->wards); w != NULL; w = ward_next(w->next))
        ward_drain(w, false);
    daemon_due(d, d->drain_end_ns);
    daemon_check(d);
}

/* ---- The timer */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t daemon_look(struct daemon *d, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    if (d->draining && now >= d->drain_end_ns) {
        d->drain_end_ns = UINT64_MAX;
        if (d->ward_count > 0) log_line(LOG_WARN, NULL, "the time to drain is over");
        end_wards(d);
    }
    if (d->draining) next = d->drain_end_ns;
    for (struct visitor *v = d->visitors; v != NULL; v = v->next)
        next = earlier(next, visitor_look(v, now));
    for (struct ward *w = ward_next(d->wards), *after; w != NULL; w = after) {
        after = ward_next(w->next);
        next = earlier(next, ward_look(w, now));
    }
    if (d->stopping || now < d->lonely_end_ns) return earlier(next, d->lonely_end_ns);
    log_line(LOG_INFO, NULL, "ends: it was started for a job, and none is here");
    stop(d);
    return UINT64_MAX;
}

static void on_timer(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    d->timer_ns = UINT64_MAX;
    uint64_t now = daemon_now(d), next = daemon_look(d, now);
    if (next != UINT64_MAX) daemon_due(d, next < now + LOOK_NS_MIN ? now + LOOK_NS_MIN : next);
}

void daemon_due(struct daemon *d, uint64_t at_ns)
{
    if (d->stopping || at_ns >= d->timer_ns) return;
    uint64_t now = daemon_now(d), left = at_ns > now ? at_ns - now : 0;
    d->timer_ns = at_ns;
    uv_update_time(&d->loop);
    int failed = uv_timer_start(&d->timer, on_timer, (left + MS_NS - 1) / MS_NS, 0);
    assert(failed == 0);
}

/* ---- The beginning */

static const struct cluster_executor *find_self(const struct daemon_config *config)
{
    const struct cluster *c = config->cluster;
    for (uint32_t i = 0; i < c->executor_count; i++)
        if (strcmp(c->executors[i].id, config->id) == 0) return &c->executors[i];
    return NULL;
}

static int check(const struct daemon *d, struct glint_error *error)
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

/* Where standard error goes, if that is a file: there a person reads on. */
static void find_log(struct daemon *d)
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

/* A launched one's log makes room when it starts beyond log_bytes_max: so it has as much to grow.
 */
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
        assert(r == 0); /* the loop has its descriptors already */
        d->signals[i].data = d;
        bool ignored = sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (!ignored || numbers[i] == SIGTERM)
            uv_signal_start(&d->signals[i], on_signal, numbers[i]); /* nohup keeps what it did */
    }
}

static void say_ready(const struct daemon *d)
{
    const char *host = d->self->host;
    bool v6 = strchr(host, ':') != NULL;
    if (d->config->log_json)
        log_line(LOG_INFO, NULL, "executor %s ready on %s%s%s:%u", d->self->id, v6 ? "[" : "", host,
                 v6 ? "]" : "", gate_port(d->gate));
    else
        fprintf(stderr, "executor %s ready on %s%s%s:%u\n", d->self->id, v6 ? "[" : "", host,
                v6 ? "]" : "", gate_port(d->gate));
}

static int start(struct daemon *d, struct glint_error *error)
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
    d->gate = gate_open(&d->net, d->self->host, d->self->port, visitor_on_accepted, d, error);
    if (d->gate == NULL) return error->code;
    work_dir_sweep(d->env, d->self->work_dir);
    find_log(d);
    d->started_ns = daemon_now(d);
    d->lonely_end_ns = UINT64_MAX;
    if (d->config->launched) {
        d->lonely_end_ns = d->started_ns + c->start_ms * MS_NS;
        daemon_due(d, d->lonely_end_ns);
    }
    say_ready(d);
    return 0;
}

int daemon_run(const struct daemon_config *config, struct glint_error *error)
{
    struct daemon d = {.config = config,
                       .cluster = config->cluster,
                       .self = find_self(config),
                       .env = env_real(),
                       .timer_ns = UINT64_MAX};
    int r = check(&d, error);
    if (r == 0) r = loop_open(&d.loop, d.env, error);
    if (r != 0) return r;
    log_start(d.env, config->log_json, d.self->id);
    log_bound(daemon_log_bytes_max(&d));
    uv_timer_init(&d.loop, &d.timer);
    d.timer.data = &d;
    open_signals(&d);
    r = start(&d, error);
    if (r != 0) stop(&d);
    uv_run(&d.loop, UV_RUN_DEFAULT);
    assert(d.stopping && d.wards == NULL && d.visitors == NULL);
    net_fini(&d.net);
    int failed = uv_loop_close(&d.loop);
    assert(failed == 0); /* no handle is left */
    log_end();
    return r;
}
