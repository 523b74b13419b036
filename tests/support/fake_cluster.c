/* One loop for all nodes; acts are passed to it by a locked list, as messages are in the engine. */
#include "engine/net/net_init.h"
#include "engine/net/wire.h"
#include "tests/support/fake_nodes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEAT_MS 20u

void check_or_exit(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "fake cluster: %s\n", what);
    abort();
}

void send_or_exit(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload)
{
    conn_send(c, type, request, payload);
    if (payload != NULL) buffer_fini(payload);
}

static void start_net(struct net *net, struct node *n, enum role role)
{
    struct fake_cluster *f = n->cluster;
    const struct fake_node *spec = n->spec;
    *net = (struct net){.loop = &f->loop,
                        .env = env_real(),
                        .tls = spec->other_secret ? f->other_tls : f->tls,
                        .connect_ms = 5000};
    net->self =
        (struct hello){.protocol_min = PROTOCOL_MIN, .protocol_max = PROTOCOL_MAX, .role = role};
    snprintf(net->self.cluster, sizeof net->self.cluster, "%s",
             spec->cluster != NULL ? spec->cluster : "fake");
    snprintf(net->self.node, sizeof net->self.node, "%s", spec->name);
    snprintf(net->self.build, sizeof net->self.build, "%s",
             spec->build != NULL ? spec->build : build_id());
    check_or_exit(env_real()->random(env_real(), net->self.incarnation, INCARNATION_BYTES) == 0,
                  "random");
}

static void end_process(struct process *p)
{
    if (p->control != NULL) conn_close(p->control, false);
    if (p->data != NULL) conn_close(p->data, false);
}

/* ---- Frames of a daemon */

static struct tls_context *make_tls(const struct secrets *secrets)
{
    struct glint_error error = {.code = GLINT_OK};
    struct tls_context *tls = tls_context_create(secrets, false, &error);
    check_or_exit(tls != NULL, error.cause);
    return tls;
}

static void dial_driver(struct node *n, const char *host, uint16_t port)
{
    struct process *p = &n->process;
    struct glint_error error = {.code = GLINT_OK};
    p->data = conn_dial(&p->net, &(struct conn_target){host, port, CHANNEL_DATA, NULL},
                        &process_events, p, &error);
    p->control = conn_dial(&p->net, &(struct conn_target){host, port, CHANNEL_CONTROL, NULL},
                           &process_events, p, &error);
    check_or_exit(p->control != NULL && p->data != NULL, error.cause);
}

static void start_executor(struct node *n)
{
    struct process *p = &n->process;
    check_or_exit(p->control == NULL && p->data == NULL, "REQUEST_EXECUTOR while a process runs");
    p->start_pending = p->received_job = false;
    p->opened = 0;
    start_net(&p->net, n, ROLE_EXECUTOR);
    memcpy(p->net.self.incarnation, n->request.incarnation, INCARNATION_BYTES);
    if (p->net.tls != NULL) {
        tls_context_destroy(p->tls);
        p->tls = p->net.tls = make_tls(NULL);
        check_or_exit(tls_context_set_job_key(p->tls, &n->request.key), "no job key");
    }
    send_or_exit(n->driver, FRAME_EXECUTOR_STARTED, 0, NULL);
    if (!n->spec->never_connects) dial_driver(n, n->request.driver_host, n->request.driver_port);
}

void process_dial_again(struct process *p)
{
    struct node *n = p->node;
    if (n->driver == NULL || n->cluster->stopping || p->control != NULL || p->data != NULL) return;
    p->opened = 0;
    dial_driver(n, n->request.driver_host, n->request.driver_port);
}

static void start_next_executor(struct node *n)
{
    n->process.start_pending = true;
    end_process(&n->process);
    if (n->process.control == NULL && n->process.data == NULL) start_executor(n);
}

static int daemon_frame(void *arg, struct conn *c, const struct frame *f,
                        struct glint_slice payload, struct glint_error *error)
{
    struct node *n = arg;
    if (f->type == FRAME_PING) atomic_fetch_add(&n->spec->daemon_pings, 1);
    if (f->type != FRAME_REQUEST_EXECUTOR) return 0;
    check_or_exit(executor_request_decode(payload, &n->request, error) == 0 &&
                      strcmp(n->request.job.name, "test-job") == 0,
                  "invalid REQUEST_EXECUTOR");
    atomic_fetch_add(&n->spec->executor_requests, 1);
    if (n->spec->build != NULL) {
        struct glint_error why = {.code = GLINT_OK};
        struct buffer reject = {NULL, 0, 0};
        error_set(&why, GLINT_E_PEER_MISMATCH, NULL, "%s is not %s", n->spec->build, build_id());
        check_or_exit(reject_encode(&why, &reject, error) == 0, "cannot encode REJECT");
        send_or_exit(c, FRAME_REJECT, 0, &reject);
        return 0;
    }
    for (uint32_t place = n->spec->queue; place > 0; place--)
        send_or_exit(c, FRAME_QUEUED, place, NULL);
    if (!n->spec->never_starts) start_next_executor(n);
    return 0;
}

void process_exited(struct process *p)
{
    if (p->start_pending && p->node->driver != NULL && !p->node->cluster->stopping)
        start_executor(p->node);
}

static void daemon_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct node *n = arg;
    (void)why;
    if (n->driver != c) return;
    atomic_fetch_add(&n->spec->leaves, 1);
    n->driver = NULL;
    end_process(&n->process);
}

static const struct conn_events daemon_events = {.frame = daemon_frame, .closed = daemon_closed};

static bool daemon_accepted(void *arg, struct conn *c, struct glint_error *error)
{
    struct node *n = arg;
    (void)error;
    conn_set_events(c, &daemon_events, n);
    n->driver = c;
    return true;
}

/* ---- Acts */

static void open_daemon(struct node *n, bool open)
{
    struct glint_error error = {.code = GLINT_OK};
    start_net(&n->net, n, ROLE_DAEMON);
    n->listener = listener_open(&n->net, "127.0.0.1", n->spec->port, daemon_accepted, n, &error);
    check_or_exit(n->listener != NULL, error.cause);
    n->spec->port = listener_port(n->listener);
    if (open) return;
    listener_close(n->listener);
    n->listener = NULL;
}

static void end_daemon(struct node *n)
{
    if (n->driver != NULL) conn_close(n->driver, false);
    listener_close(n->listener);
    n->listener = NULL;
}

static void act_on(struct node *n, enum fake_act act, int value)
{
    struct process *p = &n->process;
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    switch (act) {
    case FAKE_CLOSE: end_process(p); break;
    case FAKE_DIE: {
        struct executor_exited exited = {.wait_status = value, .log = "/var/log/fake.log"};
        end_process(p);
        check_or_exit(executor_exited_encode(&exited, &payload, &error) == 0,
                      "cannot encode EXECUTOR_EXITED");
        if (n->driver != NULL) send_or_exit(n->driver, FRAME_EXECUTOR_EXITED, 0, &payload);
        break;
    }
    case FAKE_STOP_HEARTBEAT: p->ignores_messages = true; break;
    case FAKE_RESUME_HEARTBEAT: p->ignores_messages = false; break;
    case FAKE_DRAIN: send_or_exit(p->control, FRAME_DRAIN, 0, NULL); break;
    case FAKE_CANCEL: {
        struct job_identity cancel = {.job = 1};
        check_or_exit(job_identity_encode(&cancel, &payload, &error) == 0, "cannot encode CANCEL");
        send_or_exit(n->driver, FRAME_CANCEL, 0, &payload);
        break;
    }
    case FAKE_DAEMON_ENDS: end_daemon(n); break;
    case FAKE_DAEMON_STARTS: open_daemon(n, true); break;
    case FAKE_BAD_FRAME: send_or_exit(p->control, FRAME_QUEUED, 1, NULL); break;
    case FAKE_QUEUED: send_or_exit(n->driver, FRAME_QUEUED, (uint64_t)value, NULL); break;
    case FAKE_START_EXECUTOR: start_next_executor(n); break;
    case FAKE_PROGRAM_REQUEST: send_or_exit(n->driver, FRAME_PROGRAM_REQUEST, 0, NULL); break;
    case FAKE_STARTED: send_or_exit(n->driver, FRAME_EXECUTOR_STARTED, 0, NULL); break;
    case FAKE_BAD_EXIT: send_or_exit(n->driver, FRAME_EXECUTOR_EXITED, 0, NULL); break;
    }
    buffer_fini(&payload);
}

static void stop_all(struct fake_cluster *f)
{
    f->stopping = true;
    for (uint32_t i = 0; i < f->count; i++) {
        end_process(&f->nodes[i].process);
        end_daemon(&f->nodes[i]);
    }
    uv_close((uv_handle_t *)&f->heartbeat_timer, NULL);
    uv_close((uv_handle_t *)&f->wakeup, NULL);
}

static void on_wakeup(uv_async_t *wakeup)
{
    struct fake_cluster *f = wakeup->data;
    pthread_mutex_lock(&f->lock);
    struct act *a = f->acts;
    bool stop = f->stop;
    f->acts = NULL;
    pthread_mutex_unlock(&f->lock);
    while (a != NULL) {
        struct act *next = a->next;
        act_on(a->node, a->act, a->value);
        free(a);
        a = next;
    }
    if (stop && !f->stopping) stop_all(f);
}

static void on_heartbeat_timer(uv_timer_t *timer)
{
    struct fake_cluster *f = timer->data;
    for (uint32_t i = 0; i < f->count; i++) {
        struct conn *both[] = {f->nodes[i].driver, f->nodes[i].process.control};
        for (unsigned k = 0; k < 2; k++) {
            struct buffer payload = {NULL, 0, 0};
            struct glint_error error = {.code = GLINT_OK};
            if (both[k] == NULL || !conn_is_open(both[k])) continue;
            if (k == 1 && f->nodes[i].process.ignores_messages) continue;
            check_or_exit(ping_encode(&(struct ping){.sent_ns = 1}, &payload, &error) == 0,
                          "cannot encode PING");
            send_or_exit(both[k], FRAME_PING, 0, &payload);
        }
    }
}

/* ---- Start and stop */

static void *run(void *arg)
{
    struct fake_cluster *f = arg;
    uv_run(&f->loop, UV_RUN_DEFAULT);
    return NULL;
}

struct fake_cluster *fake_start(struct fake_node *nodes, uint32_t count, const char *name,
                                const struct secrets *secrets, uint16_t driver_port)
{
    struct fake_cluster *f = calloc(1, sizeof *f);
    struct glint_error error = {.code = GLINT_OK};
    check_or_exit(f != NULL && count <= FAKE_NODES_MAX && strcmp(name, "fake") == 0,
                  "invalid nodes");
    signal(SIGPIPE, SIG_IGN); /* a write to a closed connection must return an error */
    f->count = count;
    f->driver_port = driver_port;
    pthread_mutex_init(&f->lock, NULL);
    check_or_exit(event_loop_init(&f->loop, env_real(), &error) == 0, error.cause);
    check_or_exit(uv_async_init(&f->loop, &f->wakeup, on_wakeup) == 0, "uv_async_init");
    check_or_exit(uv_timer_init(&f->loop, &f->heartbeat_timer) == 0, "uv_timer_init");
    uv_timer_start(&f->heartbeat_timer, on_heartbeat_timer, BEAT_MS, BEAT_MS);
    f->wakeup.data = f->heartbeat_timer.data = f;
    if (secrets != NULL) {
        struct secrets other = *secrets;
        other.list[0].bytes[0] ^= 1;
        f->tls = make_tls(secrets);
        f->other_tls = make_tls(&other);
    }
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i].result_bytes > f->result_bytes) f->result_bytes = nodes[i].result_bytes;
    f->result = malloc(f->result_bytes + 1);
    check_or_exit(f->result != NULL, "no memory");
    for (uint64_t i = 0; i < f->result_bytes; i++) f->result[i] = (uint8_t)(i * 7 + i / 251);
    for (uint32_t i = 0; i < count; i++) {
        struct node *n = &f->nodes[i];
        n->cluster = f;
        n->spec = &nodes[i];
        n->process.node = n;
        if (!nodes[i].dials) {
            open_daemon(n, !nodes[i].port_closed);
            continue;
        }
        start_net(&n->process.net, n, ROLE_EXECUTOR);
        dial_driver(n, "127.0.0.1", driver_port);
    }
    return f;
}

void fake_cluster_run(struct fake_cluster *f)
{
    check_or_exit(pthread_create(&f->thread, NULL, run, f) == 0, "pthread_create");
}

void fake_do(struct fake_cluster *f, uint32_t node, enum fake_act act, int value)
{
    struct act *a = calloc(1, sizeof *a);
    check_or_exit(a != NULL && node < f->count, "invalid act");
    *a = (struct act){NULL, &f->nodes[node], act, value};
    pthread_mutex_lock(&f->lock);
    struct act **at = &f->acts;
    while (*at != NULL) at = &(*at)->next;
    *at = a;
    pthread_mutex_unlock(&f->lock);
    uv_async_send(&f->wakeup);
}

void fake_stop(struct fake_cluster *f)
{
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_mutex_unlock(&f->lock);
    uv_async_send(&f->wakeup);
    pthread_join(f->thread, NULL);
    check_or_exit(uv_loop_close(&f->loop) == 0, "a handle is still open");
    for (uint32_t i = 0; i < f->count; i++) {
        free(f->nodes[i].process.value);
        tls_context_destroy(f->nodes[i].process.tls);
    }
    tls_context_destroy(f->tls);
    tls_context_destroy(f->other_tls);
    pthread_mutex_destroy(&f->lock);
    free(f->result);
    free(f);
}
