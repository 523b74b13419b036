/* A connection and a deadline per executor, in one loop, some hundred at a time: more would be more
 * open files than a process has by default. */
#include "engine/cli/ask.h"

#include "engine/base/env.h"
#include "engine/net/conn.h"
#include "engine/net/loop.h"
#include "engine/net/setup.h"

#include <assert.h>

#define AT_ONCE_MAX 256u

struct asked {
    struct asking *asking;
    uint32_t executor;
    struct conn *conn;
    uv_timer_t timer;
    bool done;
};

struct asking {
    const struct ask *ask;
    uv_loop_t loop;
    struct net net;
    struct asked *asked;
    uint32_t next, open;
};

static void ask_more(struct asking *a);

static void on_timer_closed(uv_handle_t *handle)
{
    struct asked *q = handle->data;
    struct asking *a = q->asking;
    assert(a->open > 0);
    a->open--;
    ask_more(a);
}

/* The one place where an executor is done. `why` NULL: it has answered. */
static void done(struct asked *q, const struct glint_error *why)
{
    const struct ask *ask = q->asking->ask;
    if (q->done) return;
    q->done = true;
    if (why != NULL) ask->failed(ask->arg, q->executor, why);
    if (q->conn != NULL) conn_close(q->conn, false);
    uv_close((uv_handle_t *)&q->timer, on_timer_closed);
}

static void on_late(uv_timer_t *timer)
{
    struct asked *q = timer->data;
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_CONNECTION, NULL, "no answer within %llu ms",
              (unsigned long long)q->asking->net.connect_ms);
    done(q, &why);
}

static void on_opened(void *arg, struct conn *c)
{
    struct asked *q = arg;
    const struct ask *ask = q->asking->ask;
    struct buffer payload = {NULL, 0, 0};
    struct glint_error why = {.code = GLINT_OK};
    if (ask->payload.size > 0 && !buffer_append(&payload, ask->payload.data, ask->payload.size)) {
        error_no_memory(&why);
        done(q, &why);
        return;
    }
    conn_send(c, ask->question, 0, &payload);
    buffer_fini(&payload);
}

static int on_frame(void *arg, struct conn *c, const struct frame *f, struct glint_slice payload,
                    struct glint_error *error)
{
    struct asked *q = arg;
    const struct ask *ask = q->asking->ask;
    (void)c;
    if (q->done || f->type == FRAME_PING) return 0;
    if (f->type != ask->answer)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a %s frame is no answer",
                         frame_name(f->type));
    int r = ask->answered(ask->arg, q->executor, f, payload, error);
    if (r == 0) done(q, NULL);
    return r;
}

static void on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct asked *q = arg;
    struct glint_error closed = *why;
    assert(q->conn == c);
    q->conn = NULL;
    if (closed.code == GLINT_OK)
        error_set(&closed, GLINT_E_CONNECTION, NULL, "it has closed the connection");
    done(q, &closed);
}

static const struct conn_events events = {
    .opened = on_opened, .frame = on_frame, .closed = on_closed};

static void ask_one(struct asking *a, uint32_t executor)
{
    const struct cluster_executor *e = &a->ask->cluster->executors[executor];
    struct asked *q = &a->asked[executor];
    struct glint_error why = {.code = GLINT_OK};
    *q = (struct asked){.asking = a, .executor = executor};
    uv_timer_init(&a->loop, &q->timer);
    q->timer.data = q;
    a->open++;
    uv_timer_start(&q->timer, on_late, a->net.connect_ms, 0);
    q->conn = conn_dial(&a->net, e->host, e->port, CHANNEL_CONTROL, NULL, &events, q, &why);
    if (q->conn == NULL) done(q, &why);
}

static void ask_more(struct asking *a)
{
    while (a->open < AT_ONCE_MAX && a->next < a->ask->cluster->executor_count)
        ask_one(a, a->next++);
}

int ask_all(const struct ask *ask, struct glint_error *error)
{
    const struct cluster *c = ask->cluster;
    struct asking a = {.ask = ask};
    const struct net_config config = {.role = ROLE_CLIENT,
                                      .cluster = c->name,
                                      .node = "client",
                                      .secret_file = c->secret_file,
                                      .insecure_plaintext = c->insecure_plaintext,
                                      .connect_ms = c->connect_ms};
    if (loop_open(&a.loop, env_real(), error) != 0) return error->code;
    int r = net_init(&a.net, &a.loop, env_real(), &config, error);
    if (r == 0) a.asked = mem_zalloc((uint64_t)sizeof *a.asked * (c->executor_count + 1));
    if (r == 0 && a.asked == NULL) r = error_no_memory(error);
    if (r == 0) {
        ask_more(&a);
        uv_run(&a.loop, UV_RUN_DEFAULT);
        assert(a.open == 0 && a.next == c->executor_count);
    }
    net_fini(&a.net);
    int failed = uv_loop_close(&a.loop);
    assert(failed == 0); /* no handle is left */
    mem_free(a.asked);
    return r;
}
