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
    if (e->connected)
        net_to_executor(s, e, m);
    else
        message_destroy(m);
    return 0;
}

static void lose(struct sim *s, struct sim_executor *e, const char *why)
{
    if (!e->connected) return;
    e->connected = false;
    s->counts.losses++;
    s->heard = true;
    struct glint_error error = {.code = GLINT_OK};
    error_set(&error, GLINT_E_EXECUTOR_LOST, NULL, "executor %u: %s", e->number, why);
    sim_trace(s, "the driver loses executor %u: %s", e->number, why);
    driver_on_lost(s->driver, e->number, LOSS_CONNECTION, &error);
}

/* Both sides of one connection, once per beat. */
static void look(struct sim *s, struct sim_executor *e)
{
    bool beat, more = false;
    uint64_t next = s->now + s->cluster.heartbeat.beat_ns, at;
    if (e->connected) {
        more = true;
        if (liveness_look(&e->seen_by_driver, s->now, &beat, &at) == LIFE_DEAD) {
            net_close(s, e);
            lose(s, e, "silent for too long");
        } else if (beat) {
            net_ping(s, e, false);
        }
    }
    bool stopped = s->nodes[e->node].paused_until > s->now;
    if (e->alive && !stopped) {
        if (liveness_look(&e->seen_by_executor, s->now, &beat, &at) == LIFE_DEAD)
            executor_dies(s, e, "its driver is silent");
        else if (beat)
            net_ping(s, e, true);
    }
    if (more || e->alive)
        sim_push(s, (struct event){
                        .kind = EVENT_LOOK, .executor = e->number, .at = next / 2 + s->now / 2});
}

static void join(struct sim *s, uint32_t node)
{
    executor_join(s, node);
    struct executor_info info = {.host = "10.0.0.1", .slots = s->nodes[node].slots};
    char name[16];
    snprintf(name, sizeof name, "n%u", node);
    info.name = name;
    s->heard = true;
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

/* A stopped process does everything once it goes on. */
static bool postponed(struct sim *s, struct event *event)
{
    if (event->kind != EVENT_MESSAGE_TO_EXECUTOR && event->kind != EVENT_PING_TO_EXECUTOR &&
        event->kind != EVENT_TASK_ENDS && event->kind != EVENT_GONE)
        return false;
    uint64_t until = s->nodes[s->executors[event->executor]->node].paused_until;
    if (until <= s->now) return false;
    event->at = until;
    sim_push(s, *event); /* events of one moment keep their order, as they are pushed in it */
    return true;
}

void transport_happens(struct sim *s, struct event *event)
{
    struct sim_executor *e = event->kind == EVENT_JOIN ? NULL : s->executors[event->executor];
    switch (event->kind) {
    case EVENT_MESSAGE_TO_EXECUTOR:
        if (e->alive) executor_receives(s, e, decode(event));
        break;
    case EVENT_MESSAGE_TO_DRIVER:
        if (!e->connected) break;
        liveness_heard(&e->seen_by_driver, s->now);
        s->heard = true;
        driver_on_message(s->driver, e->number, decode(event));
        break;
    case EVENT_PING_TO_EXECUTOR: liveness_heard(&e->seen_by_executor, s->now); break;
    case EVENT_PING_TO_DRIVER: liveness_heard(&e->seen_by_driver, s->now); break;
    case EVENT_TASK_ENDS:
        if (event->task != NULL) executor_task_ends(s, e, event->task);
        break;
    case EVENT_LOOK: look(s, e); break;
    case EVENT_CLOSED: lose(s, e, "connection closed"); break;
    case EVENT_GONE: executor_dies(s, e, "its driver is gone"); break;
    case EVENT_JOIN: join(s, event->node); break;
    case EVENT_FAULT: faults_happen(s); break;
    }
}

static void transport_wait(void *arg, struct driver *driver, uint64_t deadline_ns)
{
    struct sim *s = arg;
    struct event event;
    assert(driver == s->driver);
    s->heard = false;
    while (!s->heard && sim_pop(s, deadline_ns, &event)) {
        if (postponed(s, &event)) continue;
        transport_happens(s, &event);
        buffer_fini(&event.bytes);
    }
    if (!s->heard && s->now < deadline_ns) s->now = deadline_ns;
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
    struct transport transport = {transport_send, transport_wait, transport_wake, transport_destroy,
                                  s};
    s->g = g;
    s->driver = driver_create(g, &transport);
    if (s->driver == NULL) return g->error.code;
    g->runner = driver_runner(s->driver);
    for (uint32_t n = 0; n < s->node_count; n++) {
        s->nodes[n].starting = true;
        sim_push(s, (struct event){.kind = EVENT_JOIN, .node = n, .at = sim_random(s, SECOND)});
    }
    return 0;
}
