/* Fault injection. Most faults are temporary and end at end_of_faults; after that the job must end,
 * too. Some seeds have one permanent fault, with or without temporary ones. */
#include "tests/sim/sim.h"

#include <assert.h>
#include <string.h>

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

/* Corrupts map outputs of one executor. */
static void flip_bytes(struct sim *s, struct sim_executor *e)
{
    for (uint64_t i = 0; i < 40 * 16; i++) {
        const struct run *run = store_acquire_map_output(e->store, i / 40, (uint32_t)(i % 40), 0);
        if (run == NULL) continue;
        if (run->memory != NULL && run->source.bytes > 0 && sim_chance(s, 4)) {
            run->memory[sim_random(s, run->source.bytes)] ^= (uint8_t)(1 << sim_random(s, 8));
            s->counts.flips++;
        }
        store_release(e->store, run);
    }
}

static void cut_network(struct sim *s, uint32_t number)
{
    struct sim_node *node = &s->nodes[number];
    uint64_t both = sim_random(s, 3), until = some_time(s); /* 0, 1: one direction; 2: both */
    s->counts.cuts++;
    if (both != 0 && until > node->cut_to_driver) node->cut_to_driver = until;
    if (both != 1 && until > node->cut_to_node) node->cut_to_node = until;
    sim_trace(s, "node %u is cut off (%llu)", number, (unsigned long long)both);
}

/* Faults of the network and of nodes. */
static void inject_node_fault(struct sim *s, unsigned fault, struct sim_executor *e)
{
    struct sim_node *node = &s->nodes[e->node];
    uint64_t until = some_time(s);
    switch (fault) {
    case FAULT_STOP:
        s->counts.stops++;
        if (until > node->paused_until) node->paused_until = until;
        sim_trace(s, "node %u is paused until %llu ms", e->node,
                  (unsigned long long)(until / MILLI));
        break;
    case FAULT_CUT: cut_network(s, e->node); break;
    case FAULT_PEER_CUT:
        s->counts.peer_cuts++;
        node->cut_peer[sim_random(s, s->node_count)] = until;
        break;
    case FAULT_FULL:
        s->counts.full_disks++;
        node->disk_full = !node->disk_full;
        e->env.full = node->disk_full;
        break;
    case FAULT_SLOW:
        s->counts.slow_nodes++;
        node->slow = node->slow == 1 ? 20 : 1;
        break;
    case FAULT_SLOW_DISK:
        s->counts.slow_disks++;
        node->slow_disk = node->slow_disk > 0 ? 0 : sim_random(s, 10 * SECOND);
        break;
    case FAULT_JUMP:
        s->counts.jumps++;
        e->env.clock_off_ns += ((int64_t)sim_random(s, 3) - 1) * 86400 * (int64_t)SECOND;
        s->driver_env.clock_off_ns -= (int64_t)sim_random(s, 100) * (int64_t)SECOND;
        break;
    default: break;
    }
}

/* Faults of one process or its connection. */
static void inject_process_fault(struct sim *s, unsigned fault, struct sim_executor *e)
{
    switch (fault) {
    case FAULT_CRASH:
        s->counts.crashes++;
        executor_dies(s, e, "its machine failed");
        break;
    case FAULT_KILL_EXECUTOR: /* its daemon reports the signal, unless the node is cut off */
        s->counts.killed_processes++;
        e->signalled = s->nodes[e->node].cut_to_driver <= s->now;
        executor_dies(s, e, "killed by a signal");
        break;
    case FAULT_DRAIN:
        s->counts.drains++;
        executor_drains(s, e);
        break;
    case FAULT_DROP:
        s->counts.drops++;
        sim_trace(s, "connection to executor %u is reset", e->number);
        net_reset(s, e);
        break;
    case FAULT_FLIP: flip_bytes(s, e); break;
    default: break;
    }
}

static void end_faults(struct sim *s)
{
    for (uint32_t n = 0; n < s->node_count; n++) {
        struct sim_node *node = &s->nodes[n];
        node->disk_full = false;
        node->slow = 1;
        node->slow_disk = 0;
        memset(node->cut_peer, 0, sizeof node->cut_peer);
    }
    for (uint32_t i = 0; i < s->executor_count; i++) s->executors[i]->env.full = false;
}

void faults_happen(struct sim *s)
{
    if (s->now >= s->end_of_faults) {
        end_faults(s);
        return;
    }
    struct sim_executor *e = any_executor(s);
    unsigned fault = 1u << sim_random(s, FAULT_KINDS);
    if (e != NULL && (s->faults & fault) != 0) {
        inject_node_fault(s, fault, e);
        inject_process_fault(s, fault, e);
    }
    sim_push(s, (struct sim_event){.kind = SIM_FAULT,
                                   .at = s->now + sim_random(s, s->fault_gap) + 10 * MILLI});
}

/* Sets a flag of some nodes, at least one, often most of them. */
static void some_nodes(struct sim *s, size_t member)
{
    uint32_t one_in = 1 + (uint32_t)sim_random(s, 3);
    for (uint32_t n = 0; n < s->node_count; n++)
        *(bool *)((char *)&s->nodes[n] + member) = sim_chance(s, one_in);
    *(bool *)((char *)&s->nodes[sim_random(s, s->node_count)] + member) = true;
}

static void begin_lasting(struct sim *s)
{
    switch (s->lasting) {
    case LASTING_POISON:
        s->poison_stage = 1 + (uint32_t)sim_random(s, 4);
        s->poison_partition = (uint32_t)sim_random(s, 6);
        s->poison_left = 1 + (uint32_t)sim_random(s, 6);
        break;
    case LASTING_SEVERED:
        for (uint32_t n = 0; n < s->node_count; n++) s->severed[n] = true;
        if (s->node_count < 3 || sim_chance(s, 2)) break;
        memset(s->severed, 0, sizeof s->severed);
        s->severed[sim_random(s, s->node_count)] = true;
        break;
    case LASTING_BAD_NODES: some_nodes(s, offsetof(struct sim_node, bad)); break;
    case LASTING_CORRUPT_OUTPUTS: some_nodes(s, offsetof(struct sim_node, corrupts_outputs)); break;
    case LASTING_LEAVING:
        for (uint32_t n = 0; n < s->node_count; n++) s->nodes[n].leaves = true;
        break;
    case LASTING_INTERRUPT:
        sim_push(s, (struct sim_event){.kind = SIM_INTERRUPT, .at = sim_random(s, 20 * SECOND)});
        break;
    case LASTING_TIMEOUT: s->config.timeout_ns = 1 + sim_random(s, 20 * SECOND); break;
    case LASTING_OUTPUT_FULL:
        s->output_full_from = sim_random(s, 10 * SECOND);
        s->output_full_until = s->output_full_from + sim_random(s, 10 * SECOND);
        break;
    default: break;
    }
}

/* One seed in eight has no temporary faults; one in three has a permanent one. */
void faults_choose(struct sim *s)
{
    s->faults = sim_chance(s, 8) ? 0 : (unsigned)sim_random(s, 1u << FAULT_KINDS);
    s->fault_gap = sim_chance(s, 4) ? 300 * MILLI : 2 * SECOND;
    if (sim_chance(s, 3)) {
        s->lasting = (enum lasting)sim_random(s, LASTING_KINDS);
        if (sim_chance(s, 2)) s->faults = 0;
    }
    if (!s->options.quiet) return;
    s->faults = 0;
    s->lasting = LASTING_NOTHING;
}

void faults_begin(struct sim *s)
{
    assert(s->now == 0 && s->workload_count > 0);
    begin_lasting(s);
    s->end_of_faults = s->faults == 0 ? 0 : sim_random(s, 40 * SECOND);
    sim_push(s, (struct sim_event){.kind = SIM_FAULT, .at = sim_random(s, SECOND)});
}
