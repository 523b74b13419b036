/* The driver's transport: events happen while it waits, and only then. What executor/child.c and
 * driver/remote.c do about signs of life is done here, with the same liveness. */
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

/* The driver gives up when nobody has been there for so long. */
static void be_alone(struct sim *s)
{
    s->alone_since = s->now;
    sim_push(s, (struct event){.kind = EVENT_DESERTED,
                               .at = s->now + s->cluster.start_ms * MILLI,
                               .stay = s->now});
}

static void look_around(struct sim *s, const struct event *event)
{
    struct glint_error why = {.code = GLINT_OK};
    if (s->connected_count > 0 || s->alone_since != event->stay || s->deserted || s->over) return;
    s->deserted = s->heard = true;
    sim_trace(s, "nobody is there");
    error_set(&why, GLINT_E_NO_EXECUTORS, "look at their logs", "nobody is there");
    driver_on_deserted(s->driver, &why);
}

static void lose(struct sim *s, struct sim_executor *e, const char *why)
{
    if (!e->connected) return;
    enum loss loss = e->drain_known ? LOSS_DRAINED : e->signalled ? LOSS_CHILD : LOSS_CONNECTION;
    struct glint_error error = {.code = GLINT_OK};
    error_set(&error, GLINT_E_EXECUTOR_LOST, NULL, "executor %u: %s", e->number, why);
    sim_trace(s, "the driver loses executor %u: %s", e->number, why);
    e->connected = false;
    s->counts.losses += loss != LOSS_DRAINED;
    s->heard = true;
    oracle_lost(s, e, loss);
    driver_on_lost(s->driver, e->number, loss, &error);
    assert(s->connected_count > 0);
    if (--s->connected_count == 0) be_alone(s);
}

static void set_silent(struct sim *s, struct sim_executor *e, bool silent)
{
    if (e->silent == silent || !e->connected) return;
    e->silent = silent;
    s->counts.silences += silent;
    s->heard = true;
    driver_on_silent(s->driver, e->number, silent);
}

static void hear(struct sim *s, struct sim_executor *e)
{
    liveness_heard(&e->seen_by_driver, s->now);
    set_silent(s, e, false);
}

/* Both sides of one connection, once per beat. */
static void look(struct sim *s, struct sim_executor *e)
{
    bool beat, more = false;
    uint64_t next = s->now + s->cluster.heartbeat.beat_ns, at;
    if (e->connected) {
        more = true;
        enum life life = liveness_look(&e->seen_by_driver, s->now, &beat, &at);
        if (life == LIFE_DEAD) {
            net_close(s, e);
            lose(s, e, "silent for too long");
        } else {
            set_silent(s, e, life == LIFE_SUSPECT);
            if (beat) net_signal(s, e, EVENT_PING_TO_EXECUTOR);
        }
    }
    bool stopped = s->nodes[e->node].paused_until > s->now;
    if (e->alive && !stopped) {
        if (liveness_look(&e->seen_by_executor, s->now, &beat, &at) == LIFE_DEAD)
            executor_dies(s, e, "its driver is silent");
        else if (beat)
            net_signal(s, e, EVENT_PING_TO_DRIVER);
        if (e->alive && e->draining && e->tasks == NULL && !store_is_wanted(e->store))
            executor_dies(s, e, "nothing of it is wanted");
    }
    if (more || e->alive)
        sim_push(s, (struct event){
                        .kind = EVENT_LOOK, .executor = e->number, .at = next / 2 + s->now / 2});
}

static void join(struct sim *s, const struct event *event)
{
    const struct sim_node *node = &s->nodes[event->node];
    uint64_t until = node->paused_until;
    if (node->cut_to_driver > until) until = node->cut_to_driver;
    if (node->cut_to_node > until) until = node->cut_to_node;
    if (s->deserted || s->executor_count == EXECUTORS_SIM_MAX) return;
    if (until > s->now) { /* nobody can shake hands */
        sim_push(s, (struct event){.kind = EVENT_JOIN, .node = event->node, .at = until + MILLI});
        return;
    }
    executor_join(s, event->node);
    struct executor_info info = {.host = "10.0.0.1", .slots = node->slots};
    char name[16];
    snprintf(name, sizeof name, "n%u", event->node);
    info.name = name;
    s->heard = true;
    s->connected_count++;
    if (driver_on_executor(s->driver, &info) != 0) abort();
}

static struct message *decode(struct event *event)
{
    struct glint_error error = {.code = GLINT_OK};
    struct message *m =
        message_decode((struct glint_slice){event->bytes.data, event->bytes.size}, &error);
    if (m == NULL) abort();
    return m;
}

static void hear_message(struct sim *s, struct sim_executor *e, struct event *event)
{
    if (!e->connected) return;
    struct message *m = decode(event);
    hear(s, e);
    s->heard = true;
    oracle_heard(s, e, m);
    driver_on_message(s->driver, e->number, m);
}

static void hear_drain(struct sim *s, struct sim_executor *e)
{
    if (!e->connected) return;
    e->drain_known = s->heard = true;
    driver_on_draining(s->driver, e->number);
}

static void interrupt(struct sim *s)
{
    if (s->over) return;
    sim_trace(s, "somebody interrupts the job");
    s->interrupted_at = s->now;
    s->heard = true;
    s->g->runner->interrupt(s->g->runner, GLINT_E_INTERRUPTED);
}

/* A stopped process does everything once it goes on. */
static bool postponed(struct sim *s, struct event *event)
{
    if (event->kind != EVENT_MESSAGE_TO_EXECUTOR && event->kind != EVENT_PING_TO_EXECUTOR &&
        event->kind != EVENT_TASK_ENDS && event->kind != EVENT_GONE && event->kind != EVENT_LEAVES)
        return false;
    uint64_t until = s->nodes[s->executors[event->executor]->node].paused_until;
    if (until <= s->now) return false;
    event->at = until;
    sim_push_again(s, *event);
    return true;
}

static void happen_to(struct sim *s, struct sim_executor *e, struct event *event)
{
    switch (event->kind) {
    case EVENT_MESSAGE_TO_EXECUTOR:
        if (e->alive) executor_receives(s, e, decode(event));
        break;
    case EVENT_MESSAGE_TO_DRIVER: hear_message(s, e, event); break;
    case EVENT_PING_TO_EXECUTOR: liveness_heard(&e->seen_by_executor, s->now); break;
    case EVENT_PING_TO_DRIVER: hear(s, e); break;
    case EVENT_DRAIN_TO_DRIVER: hear_drain(s, e); break;
    case EVENT_TASK_ENDS:
        if (event->task != NULL) executor_task_ends(s, e, event->task);
        break;
    case EVENT_LOOK: look(s, e); break;
    case EVENT_CLOSED: lose(s, e, "connection closed"); break;
    case EVENT_GONE: executor_dies(s, e, "its driver is gone"); break;
    case EVENT_LEAVES: executor_dies(s, e, "its time to drain is over"); break;
    default: break;
    }
}

static void happen(struct sim *s, struct event *event)
{
    switch (event->kind) {
    case EVENT_JOIN: join(s, event); break;
    case EVENT_DESERTED: look_around(s, event); break;
    case EVENT_INTERRUPT: interrupt(s); break;
    case EVENT_FAULT: faults_happen(s); break;
    case EVENT_NOTHING: break;
    default:
        if (!postponed(s, event)) {
            happen_to(s, s->executors[event->executor], event);
            buffer_fini(&event->bytes);
        }
    }
}

/* Neither does the job go on for ever, nor does the driver ask again and again in one moment. */
static void look_at_the_clock(struct sim *s)
{
    uint64_t max = s->end_of_faults + END_NS_MAX;
    if (s->now > max && !s->failed) {
        sim_fail(s, "the job does not end");
        s->g->runner->interrupt(s->g->runner, GLINT_E_TERMINATED);
    }
    if (s->now > 2 * max || s->spinning > 100000) {
        sim_fail(s,
                 s->spinning > 0 ? "the driver spins" : "the job does not even end when told to");
        abort();
    }
}

static void transport_wait(void *arg, struct driver *driver, uint64_t deadline_ns)
{
    struct sim *s = arg;
    struct event event;
    uint64_t before = s->now;
    assert(driver == s->driver);
    s->heard = false;
    look_at_the_clock(s);
    while (!s->heard && sim_pop(s, deadline_ns, &event)) happen(s, &event);
    if (!s->heard && s->now < deadline_ns) s->now = deadline_ns;
    s->spinning = s->now > before || s->heard ? 0 : s->spinning + 1;
}

void transport_settle(struct sim *s, uint64_t ns)
{
    struct event event;
    uint64_t until = s->now + ns;
    while (sim_pop(s, until, &event)) happen(s, &event);
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
    g->runner = driver_runner(s->driver);
    oracle_create(s);
    be_alone(s);
    for (uint32_t n = 0; n < s->node_count; n++) {
        s->nodes[n].starting = true;
        uint64_t at = s->lasting == LASTING_BAD_NODES ? 0 : sim_random(s, SECOND);
        sim_push(s, (struct event){.kind = EVENT_JOIN, .node = n, .at = at});
    }
    return 0;
}
