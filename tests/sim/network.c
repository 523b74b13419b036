/* Links between the driver and executors. Messages arrive in order, after a latency. A cut link
 * delays all messages until it heals, as TCP does: each side only sees missing heartbeats. */
#include "tests/sim/sim.h"

#include <assert.h>
#include <stdlib.h>

/* Returns the delivery time of a message that is sent now. */
static uint64_t arrival(struct sim *s, struct sim_executor *e, bool to_driver)
{
    struct sim_node *node = &s->nodes[e->node];
    uint64_t *last = to_driver ? &e->last_to_driver : &e->last_to_executor;
    uint64_t cut = to_driver ? node->cut_to_driver : node->cut_to_node;
    uint64_t at = (cut > s->now ? cut : s->now) + 50000 + sim_random(s, 2 * MILLI);
    if (sim_chance(s, 200)) at += sim_random(s, 300 * MILLI); /* a latency spike */
    if (at <= *last) at = *last + 1;
    return *last = at;
}

static struct buffer encode(const struct message *m)
{
    struct buffer bytes = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    if (message_encode(m, &bytes, &error) != 0) abort();
    return bytes;
}

/* Another executor sends the same message, as if it had run the attempt. */
static void send_as_other_executor(struct sim *s, const struct sim_executor *e,
                                   const struct message *m)
{
    struct sim_executor *other = s->executors[sim_random(s, s->executor_count)];
    if (other == e || !other->alive || !other->connected) return;
    s->counts.wrong_senders++;
    struct sim_event event = {.kind = SIM_MESSAGE_TO_DRIVER, .executor = other->number};
    event.bytes = encode(m);
    event.at = arrival(s, other, true);
    sim_push(s, event);
}

static void deliver(struct sim *s, struct sim_executor *e, struct message *m, bool to_driver)
{
    struct sim_event event = {.kind = to_driver ? SIM_MESSAGE_TO_DRIVER : SIM_MESSAGE_TO_EXECUTOR,
                              .executor = e->number};
    bool twice = (s->faults & FAULT_DUPLICATE) && to_driver && s->now < s->end_of_faults &&
                 sim_chance(s, 20);
    if (twice) {
        s->counts.duplicates++;
        event.bytes = encode(m);
        event.at = arrival(s, e, to_driver);
        sim_push(s, event);
    }
    if (twice && sim_chance(s, 3)) send_as_other_executor(s, e, m);
    event.bytes = encode(m);
    event.at = arrival(s, e, to_driver);
    message_destroy(m);
    sim_push(s, event);
}

void net_to_executor(struct sim *s, struct sim_executor *e, struct message *m)
{
    deliver(s, e, m, false);
}

void net_to_driver(struct sim *s, struct sim_executor *e, struct message *m)
{
    deliver(s, e, m, true);
}

void net_signal(struct sim *s, struct sim_executor *e, enum sim_event_kind kind)
{
    bool to_driver = kind != SIM_PING_TO_EXECUTOR && kind != SIM_CLOSED_AT_EXECUTOR;
    sim_push(
        s, (struct sim_event){.kind = kind, .executor = e->number, .at = arrival(s, e, to_driver)});
}

void net_close(struct sim *s, struct sim_executor *e)
{
    net_signal(s, e, SIM_CLOSED_AT_DRIVER);
    net_signal(s, e, SIM_CLOSED_AT_EXECUTOR);
}

/* Loses all messages after some time: a reset loses the end of a stream, never a part in the
 * middle. */
static void lose_end(struct sim *s, const struct sim_executor *e, enum sim_event_kind kind)
{
    uint64_t from = s->now + sim_random(s, 4 * MILLI);
    for (uint32_t i = 0; i < s->event_count; i++) {
        struct sim_event *event = &s->events[i];
        if (event->kind != kind || event->executor != e->number || event->at < from) continue;
        buffer_fini(&event->bytes); /* the event stays in the heap, without effect */
        event->kind = SIM_NOTHING;
        s->counts.lost_messages++;
    }
}

void net_reset(struct sim *s, struct sim_executor *e)
{
    lose_end(s, e, SIM_MESSAGE_TO_DRIVER);
    lose_end(s, e, SIM_MESSAGE_TO_EXECUTOR);
    net_close(s, e);
}

bool net_peer_open(struct sim *s, uint32_t from, uint32_t to)
{
    assert(from < s->node_count && to < s->node_count);
    if (from != to && (s->severed[from] || s->severed[to])) return false;
    return s->nodes[from].cut_peer[to] <= s->now && s->nodes[to].cut_peer[from] <= s->now;
}
