/* One loop for all of them; acts come through a locked list, as messages do in the engine. */
#include "engine/net/loop.h"
#include "engine/net/wire.h"
#include "tests/support/fake_nodes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEAT_MS 20u

void must(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "fake cluster: %s\n", what);
    abort();
}

void say(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload)
{
    conn_send(c, type, request, payload);
    if (payload != NULL) buffer_fini(payload);
}

static void net_init(struct net *net, struct node *n, enum role role)
{
    struct fake_cluster *f = n->cluster;
    const struct fake_node *told = n->told;
    *net = (struct net){.loop = &f->loop,
                        .env = env_real(),
                        .tls = told->other_secret ? f->other_tls : f->tls,
                        .connect_ms = 5000};
    net->self =
        (struct hello){.protocol_min = PROTOCOL_MIN, .protocol_max = PROTOCOL_MAX, .role = role};
    snprintf(net->self.cluster, sizeof net->self.cluster, "%s",
             told->cluster != NULL ? told->cluster : "fake");
    snprintf(net->self.node, sizeof net->self.node, "%s", told->name);
    snprintf(net->self.build, sizeof net->self.build, "%s",
             told->build != NULL ? told->build : build_id());
    must(env_real()->random(env_real(), net->self.incarnation, INCARNATION_BYTES) == 0, "random");
}

static void end_process(struct process *p)
{
    if (p->control != NULL) conn_close(p->control, false);
    if (p->data != NULL) conn_close(p->data, false);
    gate_close(p->gate);
    p->gate = NULL;
}

/* ---- Frames of a daemon */

static void admit(struct node *n)
{
    struct process *p = &n->process;
    struct glint_error error = {.code = GLINT_OK};
    struct buffer payload = {NULL, 0, 0};
    must(p->control == NULL && p->data == NULL, "asked for a process while it has one");
    p->wanted = p->heard_job = false;
    gate_close(p->gate);
    net_init(&p->net, n, ROLE_EXECUTOR);
    p->gate = gate_open(&p->net, "127.0.0.1", 0, process_accepted, p, &error);
    must(p->gate != NULL, error.cause);
    struct admitted a = {.port = gate_port(p->gate)};
    memcpy(a.incarnation, p->net.self.incarnation, sizeof a.incarnation);
    must(admitted_encode(&a, &payload, &error) == 0, "ADMITTED does not encode");
    say(n->driver, FRAME_ADMITTED, 0, &payload);
}

static void admit_next(struct node *n)
{
    n->process.wanted = true;
    end_process(&n->process);
    if (n->process.control == NULL && n->process.data == NULL) admit(n);
}

static int daemon_frame(void *arg, struct conn *c, const struct frame *f,
                        struct glint_slice payload, struct glint_error *error)
{
    struct node *n = arg;
    struct admit a;
    if (f->type == FRAME_PING) atomic_fetch_add(&n->told->daemon_pings, 1);
    if (f->type != FRAME_ADMIT) return 0;
    must(admit_decode(payload, &a, error) == 0 && strcmp(a.name, "test-job") == 0, "ADMIT");
    atomic_fetch_add(&n->told->admits, 1);
    for (uint32_t place = n->told->queue; place > 0; place--) say(c, FRAME_QUEUED, place, NULL);
    if (!n->told->keeps_queue) admit_next(n);
    return 0;
}

void process_ended(struct process *p)
{
    if (p->wanted && p->node->driver != NULL && !p->node->cluster->stopping) admit(p->node);
}

static void daemon_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct node *n = arg;
    (void)why;
    if (n->driver != c) return;
    atomic_fetch_add(&n->told->leaves, 1);
    n->driver = NULL;
    end_process(&n->process);
}

static const struct conn_events daemon_events = {.frame = daemon_frame, .closed = daemon_closed};

static bool daemon_accepted(void *arg, struct conn *c, struct glint_error *error)
{
    struct node *n = arg;
    (void)error;
    conn_set(c, &daemon_events, n);
    n->driver = c;
    return true;
}

/* ---- Acts */

static void open_daemon(struct node *n, bool open)
{
    struct glint_error error = {.code = GLINT_OK};
    net_init(&n->net, n, ROLE_DAEMON);
    n->gate = gate_open(&n->net, "127.0.0.1", n->told->port, daemon_accepted, n, &error);
    must(n->gate != NULL, error.cause);
    n->told->port = gate_port(n->gate);
    if (open) return;
    gate_close(n->gate);
    n->gate = NULL;
}

static void end_daemon(struct node *n)
{
    if (n->driver != NULL) conn_close(n->driver, false);
    gate_close(n->gate);
    n->gate = NULL;
}

static void act_on(struct node *n, enum fake_act act, int value)
{
    struct process *p = &n->process;
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    switch (act) {
    case FAKE_CLOSE: end_process(p); break;
    case FAKE_DIE: {
        struct ended ended = {.wait_status = value, .log = "/var/log/fake.log"};
        end_process(p);
        must(ended_encode(&ended, &payload, &error) == 0, "ENDED does not encode");
        if (n->driver != NULL) say(n->driver, FRAME_ENDED, 0, &payload);
        break;
    }
    case FAKE_MUTE: p->mute = true; break;
    case FAKE_SPEAK: p->mute = false; break;
    case FAKE_DRAIN: say(p->control, FRAME_DRAIN, 0, NULL); break;
    case FAKE_CANCEL: {
        struct admit cancel = {.job = 1};
        must(admit_encode(&cancel, &payload, &error) == 0, "CANCEL does not encode");
        say(n->driver, FRAME_CANCEL, 0, &payload);
        break;
    }
    case FAKE_DAEMON_ENDS: end_daemon(n); break;
    case FAKE_DAEMON_STARTS: open_daemon(n, true); break;
    case FAKE_BAD_FRAME: say(p->control, FRAME_QUEUED, 1, NULL); break;
    case FAKE_QUEUED: say(n->driver, FRAME_QUEUED, (uint64_t)value, NULL); break;
    case FAKE_ADMIT: admit_next(n); break;
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
    uv_close((uv_handle_t *)&f->beat, NULL);
    uv_close((uv_handle_t *)&f->poke, NULL);
}

static void on_poke(uv_async_t *poke)
{
    struct fake_cluster *f = poke->data;
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

static void on_beat(uv_timer_t *timer)
{
    struct fake_cluster *f = timer->data;
    for (uint32_t i = 0; i < f->count; i++) {
        struct conn *both[] = {f->nodes[i].driver, f->nodes[i].process.control};
        for (unsigned k = 0; k < 2; k++) {
            struct buffer payload = {NULL, 0, 0};
            struct glint_error error = {.code = GLINT_OK};
            if (both[k] == NULL || !conn_is_open(both[k])) continue;
            if (k == 1 && f->nodes[i].process.mute) continue;
            must(ping_encode(&(struct ping){.sent_ns = 1}, &payload, &error) == 0, "PING");
            say(both[k], FRAME_PING, 0, &payload);
        }
    }
}

/* ---- Life */

static void dial_driver(struct node *n)
{
    struct process *p = &n->process;
    struct glint_error error = {.code = GLINT_OK};
    net_init(&p->net, n, ROLE_EXECUTOR);
    uint16_t port = n->cluster->driver_port;
    p->data = conn_dial(&p->net, "127.0.0.1", port, CHANNEL_DATA, NULL, &process_events, p, &error);
    p->control =
        conn_dial(&p->net, "127.0.0.1", port, CHANNEL_CONTROL, NULL, &process_events, p, &error);
    must(p->control != NULL && p->data != NULL, error.cause);
}

static void *run(void *arg)
{
    struct fake_cluster *f = arg;
    uv_run(&f->loop, UV_RUN_DEFAULT);
    return NULL;
}

static struct tls_context *make_tls(const struct secrets *secrets)
{
    struct glint_error error = {.code = GLINT_OK};
    struct tls_context *tls = tls_context_create(secrets, 0, &error);
    must(tls != NULL, error.cause);
    return tls;
}

struct fake_cluster *fake_start(struct fake_node *nodes, uint32_t count, const char *name,
                                const struct secrets *secrets, uint16_t driver_port)
{
    struct fake_cluster *f = calloc(1, sizeof *f);
    struct glint_error error = {.code = GLINT_OK};
    must(f != NULL && count <= FAKE_NODES_MAX && strcmp(name, "fake") == 0, "nodes");
    signal(SIGPIPE, SIG_IGN); /* a write to a connection that has ended is an error, no more */
    f->count = count;
    f->driver_port = driver_port;
    pthread_mutex_init(&f->lock, NULL);
    must(loop_open(&f->loop, env_real(), &error) == 0, error.cause);
    must(uv_async_init(&f->loop, &f->poke, on_poke) == 0, "async");
    must(uv_timer_init(&f->loop, &f->beat) == 0, "timer");
    uv_timer_start(&f->beat, on_beat, BEAT_MS, BEAT_MS);
    f->poke.data = f->beat.data = f;
    if (secrets != NULL) {
        struct secrets other = *secrets;
        other.list[0].bytes[0] ^= 1;
        f->tls = make_tls(secrets);
        f->other_tls = make_tls(&other);
    }
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i].result_bytes > f->result_bytes) f->result_bytes = nodes[i].result_bytes;
    f->result = malloc(f->result_bytes + 1);
    must(f->result != NULL, "no memory");
    for (uint64_t i = 0; i < f->result_bytes; i++) f->result[i] = (uint8_t)(i * 7 + i / 251);
    for (uint32_t i = 0; i < count; i++) {
        struct node *n = &f->nodes[i];
        n->cluster = f;
        n->told = &nodes[i];
        n->process.node = n;
        if (nodes[i].dials)
            dial_driver(n);
        else
            open_daemon(n, !nodes[i].stays_away);
    }
    must(pthread_create(&f->thread, NULL, run, f) == 0, "thread");
    return f;
}

void fake_do(struct fake_cluster *f, uint32_t node, enum fake_act act, int value)
{
    struct act *a = calloc(1, sizeof *a);
    must(a != NULL && node < f->count, "an act");
    *a = (struct act){NULL, &f->nodes[node], act, value};
    pthread_mutex_lock(&f->lock);
    struct act **at = &f->acts;
    while (*at != NULL) at = &(*at)->next;
    *at = a;
    pthread_mutex_unlock(&f->lock);
    uv_async_send(&f->poke);
}

void fake_stop(struct fake_cluster *f)
{
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_mutex_unlock(&f->lock);
    uv_async_send(&f->poke);
    pthread_join(f->thread, NULL);
    must(uv_loop_close(&f->loop) == 0, "a handle is left");
    for (uint32_t i = 0; i < f->count; i++) free(f->nodes[i].process.value);
    tls_context_destroy(f->tls);
    tls_context_destroy(f->other_tls);
    pthread_mutex_destroy(&f->lock);
    free(f->result);
    free(f);
}
