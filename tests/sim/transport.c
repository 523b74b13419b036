/* The driver's transport. Events run only inside `wait`. It also plays the heartbeats of
 * executor/executor_process.c and driver/executor_conn.c, with the real liveness checks. */
#include "tests/sim/sim.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static int transport_send(void *arg, uint32_t executor, struct message *m,
                          struct glint_error *error)
{
    struct sim *s = arg;
    (void)error;
    assert(executor < s->executor_count);
    struct sim_executor *e = s->executors[executor];
    oracle_sent(s, e, m);
    if (e->connected)
        net_to_executor(s, e, m);
    else
        message_destroy(m);
    return 0;
}

/* The driver gives up after start_ms without an executor. */
static void start_no_executors_timer(struct sim *s)
{
    s->no_executors_since = s->now;
    sim_push(s, (struct sim_event){.kind = SIM_NO_EXECUTORS_TIMER,
                                   .at = s->now + s->cluster.start_ms * MILLI,
                                   .timer_start = s->now});
}

static void on_no_executors_timer(struct sim *s, const struct sim_event *event)
{
    struct glint_error why = {.code = GLINT_OK};
    if (s->connected_count > 0 || s->no_executors_since != event->timer_start || s->no_executors ||
        s->over)
        return;
    s->no_executors = s->driver_event = true;
    sim_trace(s, "no executors");
    error_set(&why, GLINT_E_NO_EXECUTORS, "see their logs", "no executors");
    driver_on_no_executors(s->driver, &why);
}

static void lose_executor(struct sim *s, struct sim_executor *e, const char *why)
{
    if (!e->connected) return;
    enum executor_loss_reason loss = e->drain_known ? LOSS_DRAINED
                                     : e->signalled ? LOSS_SIGNALED
                                                    : LOSS_CONNECTION;
    struct glint_error error = {.code = GLINT_OK};
    error_set(&error, GLINT_E_EXECUTOR_LOST, NULL, "executor %u: %s", e->number, why);
    sim_trace(s, "the driver loses executor %u: %s", e->number, why);
    e->connected = false;
    s->counts.losses += loss != LOSS_DRAINED;
    s->driver_event = true;
    oracle_lost(s, e, loss);
    driver_on_executor_lost(s->driver, e->number, loss, &error);
    assert(s->connected_count > 0);
    if (--s->connected_count == 0) start_no_executors_timer(s);
}

static void set_suspect(struct sim *s, struct sim_executor *e, bool suspect)
{
    if (e->suspect == suspect || !e->connected) return;
    e->suspect = suspect;
    s->counts.suspects += suspect;
    s->driver_event = true;
    driver_on_executor_suspect(s->driver, e->number, suspect);
}

static void on_frame_from(struct sim *s, struct sim_executor *e)
{
    liveness_on_heartbeat(&e->seen_by_driver, s->now);
    set_suspect(s, e, false);
}

/* Both sides of one connection, twice per heartbeat interval. */
static void liveness_timer(struct sim *s, struct sim_executor *e)
{
    bool heartbeat_due, more = false;
    uint64_t next = s->now + s->cluster.heartbeat.heartbeat_ns, at;
    if (e->connected) {
        more = true;
        enum life life = liveness_on_timer(&e->seen_by_driver, s->now, &heartbeat_due, &at);
        if (life == LIFE_DEAD) {
            net_close(s, e);
            lose_executor(s, e, "no heartbeat");
        } else {
            set_suspect(s, e, life == LIFE_SUSPECT);
            if (heartbeat_due) net_signal(s, e, SIM_PING_TO_EXECUTOR);
        }
    }
    bool stopped = s->nodes[e->node].paused_until > s->now;
    if (e->alive && !stopped) {
        if (liveness_on_timer(&e->seen_by_executor, s->now, &heartbeat_due, &at) == LIFE_DEAD)
            executor_dies(s, e, "no heartbeat from the driver");
        else if (heartbeat_due)
            net_signal(s, e, SIM_PING_TO_DRIVER);
        if (e->alive && e->draining && e->tasks == NULL && !store_has_fetchable_data(e->store))
            executor_dies(s, e, "drained");
    }
    if (more || e->alive)
        sim_push(s, (struct sim_event){.kind = SIM_LIVENESS_TIMER,
                                       .executor = e->number,
                                       .at = next / 2 + s->now / 2});
}

static void join_node(struct sim *s, const struct sim_event *event)
{
    const struct sim_node *node = &s->nodes[event->node];
    uint64_t until = node->paused_until;
    if (node->cut_to_driver > until) until = node->cut_to_driver;
    if (node->cut_to_node > until) until = node->cut_to_node;
    if (s->no_executors || s->executor_count == EXECUTORS_SIM_MAX) return;
    if (until > s->now) { /* the handshake cannot finish yet */
        sim_push(s, (struct sim_event){.kind = SIM_JOIN, .node = event->node, .at = until + MILLI});
        return;
    }
    executor_join(s, event->node);
    struct executor_info info = {.host = "10.0.0.1", .slots = node->slots};
    char name[16];
    snprintf(name, sizeof name, "n%u", event->node);
    info.name = name;
    s->driver_event = true;
    s->connected_count++;
    if (driver_on_executor_added(s->driver, &info) != 0) abort();
}

static struct message *decode(struct sim_event *event)
{
    struct glint_error error = {.code = GLINT_OK};
    struct message *m =
        message_decode((struct glint_slice){event->bytes.data, event->bytes.size}, &error);
    if (m == NULL) abort();
    return m;
}

static void receive_message(struct sim *s, struct sim_executor *e, struct sim_event *event)
{
    if (!e->connected) return;
    struct message *m = decode(event);
    on_frame_from(s, e);
    s->driver_event = true;
    oracle_received(s, e, m);
    driver_on_message(s->driver, e->number, m);
}

static void receive_drain(struct sim *s, struct sim_executor *e)
{
    if (!e->connected) return;
    e->drain_known = s->driver_event = true;
    driver_on_executor_draining(s->driver, e->number);
}

static void interrupt(struct sim *s)
{
    if (s->over) return;
    sim_trace(s, "the user interrupts the job");
    s->interrupted_at = s->now;
    s->driver_event = true;
    driver_interrupt(s->driver, GLINT_E_INTERRUPTED);
}

/* A paused process (SIGSTOP) handles its events when it continues. */
static bool postpone_if_paused(struct sim *s, struct sim_event *event)
{
    if (event->kind != SIM_MESSAGE_TO_EXECUTOR && event->kind != SIM_PING_TO_EXECUTOR &&
        event->kind != SIM_TASK_FINISH && event->kind != SIM_CLOSED_AT_EXECUTOR &&
        event->kind != SIM_DRAIN_TIMEOUT)
        return false;
    uint64_t until = s->nodes[s->executors[event->executor]->node].paused_until;
    if (until <= s->now) return false;
    event->at = until;
    sim_push_again(s, *event);
    return true;
}

static void handle_executor_event(struct sim *s, struct sim_executor *e, struct sim_event *event)
{
    switch (event->kind) {
    case SIM_MESSAGE_TO_EXECUTOR:
        if (e->alive) executor_receives(s, e, decode(event));
        break;
    case SIM_MESSAGE_TO_DRIVER: receive_message(s, e, event); break;
    case SIM_PING_TO_EXECUTOR: liveness_on_heartbeat(&e->seen_by_executor, s->now); break;
    case SIM_PING_TO_DRIVER: on_frame_from(s, e); break;
    case SIM_DRAIN_TO_DRIVER: receive_drain(s, e); break;
    case SIM_TASK_FINISH:
        if (event->task != NULL) executor_task_ends(s, e, event->task);
        break;
    case SIM_LIVENESS_TIMER: liveness_timer(s, e); break;
    case SIM_CLOSED_AT_DRIVER: lose_executor(s, e, "connection closed"); break;
    case SIM_CLOSED_AT_EXECUTOR: executor_dies(s, e, "driver disconnected"); break;
    case SIM_DRAIN_TIMEOUT: executor_dies(s, e, "drain timeout"); break;
    default: break;
    }
}

static void handle_event(struct sim *s, struct sim_event *event)
{
    switch (event->kind) {
    case SIM_JOIN: join_node(s, event); break;
    case SIM_NO_EXECUTORS_TIMER: on_no_executors_timer(s, event); break;
    case SIM_INTERRUPT: interrupt(s); break;
    case SIM_FAULT: faults_happen(s); break;
    case SIM_NOTHING: break;
    default:
        if (!postpone_if_paused(s, event)) {
            handle_executor_event(s, s->executors[event->executor], event);
            buffer_fini(&event->bytes);
        }
    }
}

/* Fails if the job does not end in time, or if the driver spins: waits again and again without
 * simulated time passing. */
static void check_clock(struct sim *s)
{
    uint64_t max = s->end_of_faults + END_NS_MAX;
    if (s->now > max && !s->failed) {
        sim_fail(s, "the job does not end in time");
        driver_interrupt(s->driver, GLINT_E_TERMINATED);
    }
    if (s->now > 2 * max || s->spinning > 100000) {
        sim_fail(s, s->spinning > 0 ? "the driver loops without progress"
                                    : "the job does not end after an interrupt");
        abort();
    }
}

static void transport_wait(void *arg, struct driver *driver, uint64_t deadline_ns)
{
    struct sim *s = arg;
    struct sim_event event;
    uint64_t before = s->now;
    assert(driver == s->driver);
    s->driver_event = false;
    check_clock(s);
    while (!s->driver_event && sim_pop(s, deadline_ns, &event)) handle_event(s, &event);
    if (!s->driver_event && s->now < deadline_ns) s->now = deadline_ns;
    s->spinning = s->now > before || s->driver_event ? 0 : s->spinning + 1;
}

void transport_settle(struct sim *s, uint64_t ns)
{
    struct sim_event event;
    uint64_t until = s->now + ns;
    while (sim_pop(s, until, &event)) handle_event(s, &event);
}

static void transport_wake(void *arg)
{
    (void)arg;
}

static void transport_destroy(void *arg)
{
    (void)arg;
}

int transport_start(struct sim *s, struct glint *g)
{
    struct transport transport = {.send = transport_send,
                                  .wait = transport_wait,
                                  .wake = transport_wake,
                                  .destroy = transport_destroy,
                                  .arg = s};
    s->g = g;
    s->driver = driver_create(g, &transport);
    if (s->driver == NULL) return g->error.code;
    oracle_create(s);
    start_no_executors_timer(s);
    for (uint32_t n = 0; n < s->node_count; n++) {
        s->nodes[n].starting = true;
        uint64_t at = s->lasting == LASTING_BAD_NODES ? 0 : sim_random(s, SECOND);
        sim_push(s, (struct sim_event){.kind = SIM_JOIN, .node = n, .at = at});
    }
    return 0;
}
