/* What goes wrong, until faults end; then the job must end too. */
#include "tests/sim/sim.h"

#include <assert.h>
#include <string.h>

enum {
    FAULT_DUPLICATE = 1 << 0, /* network.c */
    FAULT_CRASH = 1 << 1,
    FAULT_STOP = 1 << 2,
    FAULT_CUT = 1 << 3,
    FAULT_PEER_CUT = 1 << 4,
    FAULT_DROP = 1 << 5,
    FAULT_FLIP = 1 << 6,
    FAULT_FULL = 1 << 7,
    FAULT_SLOW = 1 << 8,
    FAULT_JUMP = 1 << 9,
    FAULT_KINDS = 10,
};

static struct sim_executor *any_executor(struct sim *s)
{
    for (int tries = 0; tries < 20 && s->executor_count > 0; tries++) {
        struct sim_executor *e = s->executors[sim_random(s, s->executor_count)];
        if (e->alive) return e;
    }
    return NULL;
}

static uint64_t some_time(struct sim *s)
{
    return s->now + (sim_chance(s, 2) ? sim_random(s, 4 * SECOND) : sim_random(s, 25 * SECOND));
}

/* A byte of a map output flips on its way to disk. */
static void flip(struct sim *s, struct sim_executor *e)
{
    for (uint64_t i = 0; i < 40 * 16; i++) {
        const struct run *run = store_output(e->store, i / 40, (uint32_t)(i % 40), 0);
        if (run == NULL) continue;
        if (run->memory != NULL && run->source.bytes > 0 && sim_chance(s, 4)) {
            run->memory[sim_random(s, run->source.bytes)] ^= (uint8_t)(1 << sim_random(s, 8));
            s->counts.flips++;
        }
        store_release(e->store, run);
    }
}

static void happen(struct sim *s, unsigned fault, struct sim_executor *e)
{
    struct sim_node *node = &s->nodes[e->node];
    uint64_t until = some_time(s);
    switch (fault) {
    case FAULT_CRASH:
        s->counts.crashes++;
        executor_dies(s, e, "killed");
        break;
    case FAULT_STOP:
        s->counts.stops++;
        if (until > node->paused_until) node->paused_until = until;
        sim_trace(s, "node %u stops until %llu ms", e->node, (unsigned long long)(until / MILLI));
        break;
    case FAULT_CUT: {
        uint64_t both = sim_random(s, 3); /* one way, the other, both */
        s->counts.cuts++;
        if (both != 0 && until > node->cut_to_driver) node->cut_to_driver = until;
        if (both != 1 && until > node->cut_to_node) node->cut_to_node = until;
        sim_trace(s, "node %u is cut off (%llu)", e->node, (unsigned long long)both);
        break;
    }
    case FAULT_PEER_CUT:
        s->counts.peer_cuts++;
        node->cut_peer[sim_random(s, s->node_count)] = until;
        break;
    case FAULT_DROP:
        s->counts.drops++;
        sim_trace(s, "connection to executor %u is reset", e->number);
        net_close(s, e);
        break;
    case FAULT_FLIP: flip(s, e); break;
    case FAULT_FULL:
        s->counts.full_disks++;
        node->disk_full = !node->disk_full;
        e->env.full = node->disk_full;
        break;
    case FAULT_SLOW:
        s->counts.slow_nodes++;
        node->slow = node->slow == 1 ? 20 : 1;
        break;
    case FAULT_JUMP:
        s->counts.jumps++;
        e->env.clock_off_ns += ((int64_t)sim_random(s, 3) - 1) * 86400 * (int64_t)SECOND;
        s->driver_env.clock_off_ns -= (int64_t)sim_random(s, 100) * (int64_t)SECOND;
        break;
    default: break;
    }
}

void faults_happen(struct sim *s)
{
    if (s->now >= s->end_of_faults) {
        for (uint32_t n = 0; n < s->node_count; n++) {
            struct sim_node *node = &s->nodes[n];
            node->disk_full = false;
            node->slow = 1;
            memset(node->cut_peer, 0, sizeof node->cut_peer);
        }
        for (uint32_t i = 0; i < s->executor_count; i++) s->executors[i]->env.full = false;
        return;
    }
    struct sim_executor *e = any_executor(s);
    unsigned fault = 1u << sim_random(s, FAULT_KINDS);
    if (e != NULL && (s->faults & fault) != 0) happen(s, fault, e);
    sim_push(s, (struct event){.kind = EVENT_FAULT,
                               .at = s->now + sim_random(s, 2 * SECOND) + 10 * MILLI});
}

/* One seed in eight has no fault at all. */
void faults_begin(struct sim *s)
{
    s->faults = sim_chance(s, 8) ? 0 : (unsigned)sim_random(s, 1u << FAULT_KINDS);
    s->end_of_faults = s->faults == 0 ? 0 : sim_random(s, 40 * SECOND);
    assert(s->now == 0);
    sim_push(s, (struct event){.kind = EVENT_FAULT, .at = sim_random(s, SECOND)});
}
