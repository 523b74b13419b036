/* The speed of the scheduler alone. It simulates a cluster whose executors always have all slots
 * busy and full queues; tasks end in random order, half of the tasks prefer an executor, and the
 * second stage reads the first.
 *
 *     cc -std=c17 -D_GNU_SOURCE -O3 -I. tests/bench/sched.c engine/sched/sched*.c \
 *         engine/base/mem.c engine/base/error.c -o sched
 *     sched [EXECUTORS [TASKS [SLOTS]]]     default: 10,000 1,000,000 4
 *
 * Prints one JSON object: tasks scheduled and completed per second on one core, and bytes per
 * task. */
#include "engine/sched/sched.h"
#include "engine/base/hash.h"
#include "engine/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct cluster {
    struct sched *s;
    struct task_attempt *running;
    uint64_t count, started, random, now_ns;
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool build(struct cluster *c, uint32_t executors, uint32_t tasks, uint32_t slots)
{
    uint32_t first = 0;
    c->s = sched_create(true);
    if (c->s == NULL) return false;
    for (uint32_t i = 0; i < executors; i++)
        if (!sched_add_executor(c->s, i, slots, sched_prefetch_limit(slots))) return false;
    if (!sched_add_stage(c->s, tasks / 2, NULL, 0)) return false;
    if (!sched_add_stage(c->s, tasks - tasks / 2, &first, 1)) return false;
    for (uint32_t t = 0; t < tasks - tasks / 2; t++)
        sched_set_preferred_executor(c->s, 1, t, (uint32_t)(hash_mix(t) % executors));
    c->running = mem_alloc(sizeof *c->running * executors * (slots + sched_prefetch_limit(slots)));
    return c->running != NULL;
}

/* Fills all slots, then ends one task, and repeats: the cluster stays full until the end. */
static void run(struct cluster *c)
{
    while (!sched_stage_is_done(c->s, 1)) {
        while (sched_next_task(c->s, c->now_ns, &c->running[c->count])) {
            c->count++;
            c->started++;
        }
        (void)sched_next_wakeup_ns(c->s);
        c->random = hash_mix(c->random);
        c->now_ns += 1000;
        uint64_t pick = c->random % c->count;
        struct task_attempt r = c->running[pick];
        c->running[pick] = c->running[--c->count];
        sched_on_task_done(c->s, r.executor, r.stage, r.task, r.attempt, c->now_ns);
    }
}

static uint32_t argument(int argc, char **argv, int i, uint32_t otherwise)
{
    return argc > i ? (uint32_t)strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    uint32_t executors = argument(argc, argv, 1, 10000), tasks = argument(argc, argv, 2, 1000000);
    uint32_t slots = argument(argc, argv, 3, 4);
    struct cluster c = {.random = 1};
    double begin = seconds();
    if (executors == 0 || tasks < 2 || slots == 0 || !build(&c, executors, tasks, slots)) {
        fprintf(stderr, "sched: no memory, or nothing to do\n");
        return 2;
    }
    double built = seconds();
    run(&c);
    double end = seconds();
    printf("{\"executors\": %" PRIu32 ", \"tasks\": %" PRIu32 ", \"slots\": %" PRIu32
           ", \"attempts\": %" PRIu64 ", \"build_seconds\": %.3f, \"run_seconds\": %.3f"
           ", \"tasks_per_second\": %.0f, \"bytes_per_task\": %.1f}\n",
           executors, tasks, slots, c.started, built - begin, end - built, tasks / (end - built),
           (double)sched_memory_bytes(c.s) / tasks);
    mem_free(c.running);
    sched_destroy(c.s);
    return 0;
}
