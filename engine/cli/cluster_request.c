/* One connection and one timeout per executor, in one event loop. At most AT_ONCE_MAX at a time,
 * because of the default limit on open files. */
#include "engine/base/env.h"
#include "engine/cli/cli_internal.h"
#include "engine/net/conn.h"
#include "engine/net/deadline.h"
#include "engine/net/net_init.h"

#include <assert.h>

#define AT_ONCE_MAX 256u

struct executor_request {
    struct request_state *state;
    uint32_t executor;
    struct conn *conn;
    struct deadline deadline;
    bool done;
};

struct request_state {
    const struct cluster_request *request;
    uv_loop_t loop;
    struct net net;
    struct executor_request *requests;
    struct cluster_response *responses;
    uint32_t next, open;
};

static void start_executor_requests(struct request_state *a);

static void on_request_deadline_closed(void *arg)
{
    struct executor_request *q = arg;
    struct request_state *a = q->state;
    assert(a->open > 0);
    a->open--;
    start_executor_requests(a);
}

/* The only place where an executor's request ends. `why` NULL: it has responded. */
static void finish_executor_request(struct executor_request *q, const struct glint_error *why)
{
    if (q->done) return;
    q->done = true;
    if (why != NULL) q->state->responses[q->executor].why = *why;
    if (q->conn != NULL) conn_close(q->conn, false);
    /* The slot becomes free only when libuv has closed the timer: its memory is then unused. */
    deadline_close(&q->deadline, on_request_deadline_closed);
}

static void on_request_timeout(void *arg)
{
    struct executor_request *q = arg;
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_CONNECTION, NULL, "no response within %llu ms",
              (unsigned long long)q->state->net.connect_ms);
    finish_executor_request(q, &why);
}

static void on_request_opened(void *arg, struct conn *c)
{
    struct executor_request *q = arg;
    const struct cluster_request *request = q->state->request;
    struct buffer payload = {NULL, 0, 0};
    struct glint_error why = {.code = GLINT_OK};
    if (request->payload.size > 0 &&
        !buffer_append(&payload, request->payload.data, request->payload.size)) {
        error_no_memory(&why);
        finish_executor_request(q, &why);
        return;
    }
    conn_send(c, request->request_type, 0, &payload);
    buffer_fini(&payload);
}

static int on_response_frame(void *arg, struct conn *c, const struct frame *f,
                             struct glint_slice payload, struct glint_error *error)
{
    struct executor_request *q = arg;
    const struct cluster_request *request = q->state->request;
    (void)c;
    /* Frames may still arrive after the timeout; heartbeats are no response. */
    if (q->done || f->type == FRAME_PING) return 0;
    if (f->type != request->response_type)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected %s frame",
                         frame_type_name(f->type));
    if (!buffer_append(&q->state->responses[q->executor].payload, payload.data, payload.size))
        return error_no_memory(error);
    finish_executor_request(q, NULL);
    return 0;
}

static void on_request_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct executor_request *q = arg;
    struct glint_error closed = *why;
    assert(q->conn == c);
    q->conn = NULL;
    if (closed.code == GLINT_OK)
        error_set(&closed, GLINT_E_CONNECTION, NULL, "the executor closed the connection");
    finish_executor_request(q, &closed);
}

static const struct conn_events events = {
    .opened = on_request_opened, .frame = on_response_frame, .closed = on_request_closed};

static void start_executor_request(struct request_state *a, uint32_t executor)
{
    const struct cluster_executor *e = &a->request->cluster->executors[executor];
    struct executor_request *q = &a->requests[executor];
    struct glint_error why = {.code = GLINT_OK};
    *q = (struct executor_request){.state = a, .executor = executor};
    deadline_init(&q->deadline, &a->loop, on_request_timeout, q);
    deadline_start(&q->deadline, a->net.connect_ms);
    a->open++;
    const struct conn_target to = {e->host, e->port, CHANNEL_CONTROL, NULL};
    q->conn = conn_dial(&a->net, &to, &events, q, &why);
    if (q->conn == NULL) finish_executor_request(q, &why);
}

static void start_executor_requests(struct request_state *a)
{
    while (a->open < AT_ONCE_MAX && a->next < a->request->cluster->executor_count)
        start_executor_request(a, a->next++);
}

int cluster_request_send(const struct cluster_request *request, struct cluster_response **out,
                         struct glint_error *error)
{
    const struct cluster *c = request->cluster;
    struct request_state a = {.request = request};
    const struct net_config config = {.role = ROLE_CLIENT,
                                      .cluster = c->name,
                                      .node = "client",
                                      .secret_file = c->secret_file,
                                      .insecure_plaintext = c->insecure_plaintext,
                                      .connect_ms = c->connect_ms};
    *out = NULL;
    if (event_loop_init(&a.loop, env_real(), error) != 0) return error->code;
    int r = net_init(&a.net, &a.loop, env_real(), &config, error);
    a.requests = mem_zalloc((uint64_t)sizeof *a.requests * (c->executor_count + 1));
    a.responses = mem_zalloc((uint64_t)sizeof *a.responses * (c->executor_count + 1));
    if (a.requests == NULL || a.responses == NULL) r = error_no_memory(error);
    if (r == 0) {
        start_executor_requests(&a);
        uv_run(&a.loop, UV_RUN_DEFAULT);
        assert(a.open == 0 && a.next == c->executor_count);
    }
    net_fini(&a.net);
    int failed = uv_loop_close(&a.loop);
    assert(failed == 0); /* no handle is left */
    mem_free(a.requests);
    if (r == 0)
        *out = a.responses;
    else
        mem_free(a.responses);
    return r;
}

void cluster_responses_free(struct cluster_response *responses, const struct cluster *cluster)
{
    for (uint32_t i = 0; responses != NULL && i < cluster->executor_count; i++)
        buffer_fini(&responses[i].payload);
    mem_free(responses);
}
