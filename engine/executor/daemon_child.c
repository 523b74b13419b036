/* Child processes. One is told by its line's end that nobody wants it, and has KILL_MS to go; what
 * it leaves behind when it is killed is removed on libuv's pool, for that may be much. How it ended
 * is told when its exit is known and its line has been read to the end, for the line may say why.
 */
#include "engine/executor/daemon_internal.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/executor/oom.h"
#include "engine/executor/work_dir.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS_MIN  5000u
#define KILL_MS       8000u /* above all that a child gives itself */
#define KILL_MS_SHORT 2000u
#define LINE_REST_MS  200u /* of what a dead child has written */

struct ward *ward_next(struct ward *w)
{
    while (w != NULL && w->state == WARD_OVER) w = w->next;
    return w;
}

static const struct log_ids *ids_of(const struct ward *w, struct log_ids *out)
{
    *out = (struct log_ids){.job = w->job};
    return out;
}

/* ---- What it leaves behind */

struct sweep {
    uv_work_t work;
    struct env *env;
    const char *parent;
};

static void on_pool(uv_work_t *work)
{
    const struct sweep *s = work->data;
    work_dir_sweep(s->env, s->parent);
}

static void on_swept(uv_work_t *work, int status)
{
    (void)status;
    mem_free(work->data);
}

/* Without memory it stays until the next start. */
static void sweep(struct daemon *d)
{
    struct sweep *s = mem_zalloc(sizeof *s);
    if (s == NULL) return;
    s->env = d->env;
    s->parent = d->self->work_dir;
    s->work.data = s;
    int failed = uv_queue_work(&d->loop, &s->work, on_pool, on_swept);
    assert(failed == 0); /* it fails without a work function only */
}

/* ---- The end */

static void ward_release(struct ward *w)
{
    struct daemon *d = w->d;
    struct ward **at = &d->wards;
    assert(w->handles > 0 && w->state == WARD_OVER);
    if (--w->handles > 0) return;
    while (*at != w) at = &(*at)->next;
    *at = w->next;
    mem_free(w);
}

static void on_process_closed(void *arg)
{
    ward_release(arg);
}

static void on_line_closed(void *arg)
{
    struct ward *w = arg;
    w->line_closed = true;
    if (w->state == WARD_OVER) ward_release(w);
}

static void close_line(struct ward *w)
{
    if (w->line.open) line_close(&w->line, on_line_closed);
}

/* Its handles close, and its place is free. */
static void ward_over(struct ward *w)
{
    struct daemon *d = w->d;
    assert(w->state != WARD_OVER && d->ward_count > 0);
    w->state = WARD_OVER;
    d->ward_count--;
    if (w->visitor != NULL) visitor_on_ended(w->visitor);
    w->visitor = NULL;
    close_line(w);
    w->handles = !w->line_closed;
    if (spawn_close(&w->process, on_process_closed)) w->handles++;
    assert(w->handles > 0); /* the line's of one that was never started */
}

static void tell_end(struct ward *w, bool out_of_memory)
{
    struct visitor *v = w->visitor;
    struct ended ended = {.wait_status = w->wait_status, .out_of_memory = out_of_memory};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    if (v == NULL) return;
    text_format(ended.log, sizeof ended.log, "%s", w->d->log);
    if (WIFSIGNALED(w->wait_status)) text_format(ended.crash, sizeof ended.crash, "%s", w->crash);
    if (ended_encode(&ended, &payload, &ignored) == 0) visitor_send(v, FRAME_ENDED, 0, &payload);
}

static void ward_finish(struct ward *w)
{
    struct daemon *d = w->d;
    struct visitor *v = w->visitor;
    struct log_ids ids;
    int status = w->wait_status;
    bool killed = WIFSIGNALED(status), refused = w->state == WARD_STARTING && w->failure.code != 0;
    bool out_of_memory = killed && oom_kills(d->env) > w->oom_before;
    assert(w->exited);
    if (killed)
        log_line(LOG_ERROR, ids_of(w, &ids), "process %d was killed by signal %d%s", w->process.pid,
                 WTERMSIG(status), out_of_memory ? ": its control group was out of memory" : "");
    else if (WEXITSTATUS(status) != 0)
        log_line(LOG_ERROR, ids_of(w, &ids), "process %d ended with status %d", w->process.pid,
                 WEXITSTATUS(status));
    if (status != 0) sweep(d); /* code of a job may end its process, too */
    if (!refused) tell_end(w, out_of_memory);
    ward_over(w);
    if (refused && v != NULL) visitor_refuse(v, &w->failure);
    queue_pump(d);
    daemon_check(d);
}

static void on_exit(void *arg, int wait_status)
{
    struct ward *w = arg;
    w->exited = true;
    w->wait_status = wait_status;
    if (!w->line.open || w->line_ended) {
        ward_finish(w);
        return;
    }
    w->deadline_ns = daemon_now(w->d) + LINE_REST_MS * MS_NS;
    daemon_due(w->d, w->deadline_ns);
}

static void leave(struct ward *w, uint64_t kill_ms)
{
    uint64_t kill_ns = daemon_now(w->d) + kill_ms * MS_NS;
    bool already = w->state == WARD_LEAVING;
    if (w->exited || w->state == WARD_OVER) return;
    w->state = WARD_LEAVING;
    if (!already || kill_ns < w->deadline_ns) w->deadline_ns = kill_ns;
    daemon_due(w->d, w->deadline_ns);
}

void ward_let_go(struct ward *w)
{
    if (w->state == WARD_LEAVING || w->state == WARD_OVER) return;
    leave(w, KILL_MS);
    close_line(w);
    if (w->exited && w->state != WARD_OVER) ward_finish(w);
}

void ward_drain(struct ward *w, bool now)
{
    if (w->exited) return;
    spawn_kill(&w->process, SIGTERM); /* it may be gone already */
    if (!now && w->state == WARD_RUNNING) return;
    leave(w, KILL_MS_SHORT);
    close_line(w);
}

uint64_t ward_look(struct ward *w, uint64_t now)
{
    struct log_ids ids;
    if (w->state == WARD_RUNNING && !w->exited) return UINT64_MAX;
    if (now < w->deadline_ns) return w->deadline_ns;
    if (w->exited) {
        ward_finish(w);
        return UINT64_MAX;
    }
    if (w->state == WARD_STARTING && w->failure.code == GLINT_OK)
        error_set(&w->failure, GLINT_E_EXECUTOR_LOST, NULL, "its process did not start in time");
    log_line(LOG_WARN, ids_of(w, &ids), "process %d does not end, and is killed", w->process.pid);
    spawn_kill(&w->process, SIGKILL);
    w->deadline_ns = UINT64_MAX;
    return UINT64_MAX;
}

/* ---- Its line */

static bool on_ready(struct ward *w, struct glint_slice payload)
{
    struct admitted admitted;
    struct buffer out = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK};
    if (w->state != WARD_STARTING || admitted_decode(payload, &admitted, &ignored) != 0)
        return false;
    w->state = WARD_RUNNING;
    if (w->d->draining) {
        ward_let_go(w);
        return true;
    }
    if (w->visitor == NULL) return true;
    if (admitted_encode(&admitted, &out, &ignored) != 0) return false;
    visitor_send(w->visitor, FRAME_ADMITTED, 0, &out);
    return true;
}

/* A line about it, which the driver is told, too, and the backtrace. */
static bool on_crashed(struct ward *w, struct glint_slice text)
{
    struct log_ids ids;
    const char *line = (const char *)text.data;
    const char *end = memchr(line, '\n', text.size);
    size_t size = end != NULL ? (size_t)(end - line) : text.size, rest = text.size - size;
    text_format(w->crash, sizeof w->crash, "%.*s", (int)size, line);
    log_line(LOG_ERROR, ids_of(w, &ids), "process %d: %.*s", w->process.pid, (int)size, line);
    if (rest > 1)
        log_line(LOG_ERROR, ids_of(w, &ids), "its backtrace: %.*s", (int)rest - 1, end + 1);
    return true;
}

static bool on_message(void *arg, enum line_kind kind, struct glint_slice payload)
{
    struct ward *w = arg;
    struct glint_error ignored = {.code = GLINT_OK};
    switch (kind) {
    case LINE_READY: return on_ready(w, payload);
    case LINE_STATE: return child_state_decode(payload, &w->told, &ignored) == 0;
    case LINE_CRASHED: return on_crashed(w, payload);
    case LINE_FAILED: return gone_decode(payload, &w->failure, &ignored) == 0;
    default: return false;
    }
}

static void on_line_ended(void *arg)
{
    struct ward *w = arg;
    w->line_ended = true;
    if (w->exited)
        ward_finish(w);
    else if (w->state == WARD_RUNNING)
        leave(w, KILL_MS);
}

static const struct line_events line_events = {.message = on_message, .ended = on_line_ended};

/* ---- The beginning */

static int send_config(struct ward *w, struct glint_error *error)
{
    const struct cluster *c = w->d->cluster;
    const struct cluster_executor *self = w->d->self;
    const struct child_config config = {.cluster = c->name,
                                        .node = self->id,
                                        .secret_file = c->secret_file,
                                        .insecure_plaintext = c->insecure_plaintext,
                                        .host = self->host,
                                        .ports = c->ports,
                                        .slots = self->slots / c->drivers_max,
                                        .memory_bytes = self->memory_bytes / c->drivers_max,
                                        .work_dir = self->work_dir,
                                        .heartbeat = c->heartbeat,
                                        .connect_ms = c->connect_ms,
                                        .fetch_ms = c->fetch_ms,
                                        .drain_ms = c->drain_ms,
                                        .start_ms = c->start_ms,
                                        .log_json = w->d->config->log_json,
                                        .log_bytes_max = daemon_log_bytes_max(w->d)};
    struct buffer payload = {NULL, 0, 0};
    if (child_config_encode(&config, &payload, error) != 0) return error->code;
    return line_send(&w->line, LINE_CONFIG, &payload) ? 0 : error_no_memory(error);
}

/* This very program, whatever stands under its name by now. 0 or a negative errno. */
static int spawn(struct ward *w)
{
    static char name[] = "glint", verb[] = "executor", child[] = "--child";
    char *words[] = {name, verb, child, NULL};
    int pair[2]; /* ours, the child's */
    int r = uv_socketpair(SOCK_STREAM, 0, pair, UV_NONBLOCK_PIPE, 0);
    if (r != 0) return r;
    r = line_take(&w->line, pair[0]);
    if (r == 0) {
        struct spawn_program p = {.path = "/proc/self/exe", .words = words};
        p.files[0] = -1;
        p.files[1] = p.files[2] = STDERR_FILENO;
        p.files[CHILD_PIPE_FILE] = pair[1];
        p.file_count = CHILD_PIPE_FILE + 1;
        r = spawn_start(&w->process, &w->d->loop, &p, on_exit, w);
    } else {
        w->d->env->close(w->d->env, pair[0]);
    }
    w->d->env->close(w->d->env, pair[1]);
    return r;
}

int ward_start(struct daemon *d, struct visitor *v, struct glint_error *error)
{
    struct ward *w = mem_zalloc(sizeof *w);
    assert(d->ward_count < d->cluster->drivers_max && v->ward == NULL);
    if (w == NULL) return error_no_memory(error);
    w->d = d;
    w->job = v->job;
    w->oom_before = oom_kills(d->env);
    line_init(&w->line, &d->loop, &line_events, w);
    w->next = d->wards;
    d->wards = w;
    d->ward_count++;
    int r = spawn(w);
    if (r != 0) {
        spawn_error(error, GLINT_E_SYSTEM, r, "a process");
        ward_over(w);
        return error->code;
    }
    r = line_start(&w->line);
    if (r != 0) error_set_system(error, GLINT_E_SYSTEM, r, "read", "a pipe");
    if (r == 0) r = send_config(w, error);
    if (r != 0) {
        ward_let_go(w);
        return error->code;
    }
    w->visitor = v;
    v->ward = w;
    uint64_t limit_ms = d->cluster->start_ms > START_MS_MIN ? d->cluster->start_ms : START_MS_MIN;
    w->deadline_ns = daemon_now(d) + limit_ms * MS_NS;
    daemon_due(d, w->deadline_ns);
    return 0;
}
