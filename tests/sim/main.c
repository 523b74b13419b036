/* sim FIRST LAST        runs these seeds; the last line is `N passed, N failed`
 * sim --trace SEED      replays one seed and prints its events
 * sim --canary SEED     runs without faults and must fail: the expected bytes are changed
 *
 * Each seed is a cluster of 1 to 12 nodes, a program of up to three workloads, and faults. At the
 * end outputs, results and counters must equal those of local mode, byte for byte, or the job must
 * have failed with an error that its faults justify; if they do not justify one, it must succeed.
 * It must end within a limit of simulated time and leave nothing behind: no files, memory, tasks or
 * stages. Before that several drivers share the executors of a few daemons (daemons.c). */
#include "engine/base/mem.h"
#include "engine/driver/driver_internal.h"
#include "engine/plan/context_config.h"
#include "tests/sim/sim.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *program;
static uint64_t seed_now;

void sim_fail(struct sim *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "seed %llu at %llu ms: ", (unsigned long long)s->seed,
            (unsigned long long)(s->now / MILLI));
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    s->failed = true;
}

/* A failed assertion or a crash of the engine: prints the seed first. */
static void on_signal(int number)
{
    char text[256];
    int size = snprintf(text, sizeof text, "signal %d; replay: %s --trace %llu\n", number, program,
                        (unsigned long long)seed_now);
    if (size > 0 && write(STDERR_FILENO, text, (size_t)size) < 0) _exit(70);
    signal(number, SIG_DFL);
    raise(number);
}

static void on_note(void *arg, const char *line)
{
    sim_trace(arg, "note: %s", line);
}

static void make_nodes(struct sim *s)
{
    s->node_count = 1 + (uint32_t)sim_random(s, NODES_MAX);
    for (uint32_t n = 0; n < s->node_count; n++)
        s->nodes[n] = (struct sim_node){.slots = 1 + (uint32_t)sim_random(s, 4), .slow = 1};
    sim_env_init(&s->driver_env, s);
    s->driver_env.driver = true;
    s->cluster.heartbeat = (struct liveness_limits){SECOND, 5 * SECOND, 10 * SECOND};
    s->cluster.start_ms = 30000;
    s->cluster.speculate = sim_chance(s, 3);
}

static void sim_init(struct sim *s, uint64_t seed, struct sim_options options)
{
    memset(s, 0, sizeof *s);
    s->seed = s->random = seed_now = seed;
    s->options = options;
    make_nodes(s);
    s->config = (struct context_config){.slots = 1,
                                        .bad_rows_max = -1,
                                        .memory_bytes = 64 * MIB,
                                        .env = &s->driver_env.env,
                                        .cluster = &s->cluster,
                                        .line_bytes_max = LINE_BYTES_MAX_DEFAULT,
                                        .result_bytes_max = RESULT_BYTES_MAX,
                                        .note = on_note,
                                        .note_arg = s};
    snprintf(s->dir, sizeof s->dir, "work");
    test_job_config(&s->config);
    faults_choose(s);
    workloads_choose(s);
    faults_begin(s);
}

/* After the job has ended and all faults are over, executors must have no tasks and no stages. */
static void check_executors(struct sim *s)
{
    transport_settle(s, END_NS_MAX);
    for (uint32_t i = 0; i < s->executor_count; i++) {
        const struct sim_executor *e = s->executors[i];
        if (e->alive && e->connected && !executor_is_idle(e, s->driver->next_stage))
            sim_fail(s, "executor %u still has tasks or stages", e->number);
    }
}

static void check_rest(struct sim *s, int64_t memory)
{
    if (scratch_files_left() != 0) sim_fail(s, "leaked files");
    scratch_sweep();
    if (mem_live_blocks() != memory)
        sim_fail(s, "leaked %lld blocks of memory", (long long)(mem_live_blocks() - memory));
}

struct outcome {
    bool good;
    enum glint_code code;
    uint64_t late_ns; /* how long after the last fault it ended */
    struct sim_counts counts;
};

static struct outcome run_seed(uint64_t seed, struct sim_options options)
{
    static struct sim s;
    struct glint_summary summary;
    sim_init(&s, seed, options);
    daemons_meet(&s);
    int64_t memory = mem_live_blocks();
    struct glint *g = calloc(1, sizeof *g);
    if (g == NULL) abort();
    context_init(g, &s.config);
    if (transport_start(&s, g) != 0) abort();
    workloads_run(&s);
    glint_finish(g);
    s.over = true;
    const struct glint_error error = *glint_error(g);
    driver_summarize(g->driver, &summary);
    uint64_t end = s.now;
    check_outcome(&s, &error, &summary);
    workloads_check(&s, error.code, &summary);
    check_executors(&s);
    driver_destroy(g->driver);
    context_fini(g);
    free(g);
    executors_destroy(&s);
    sim_drop_events(&s);
    oracle_destroy(&s);
    check_rest(&s, memory);
    if (options.trace)
        fprintf(stderr, "%s ended after %llu ms: %s\n", workloads_name(&s.workloads[0]),
                (unsigned long long)(end / MILLI), error.code == GLINT_OK ? "done" : error.cause);
    uint64_t late = end > s.end_of_faults ? end - s.end_of_faults : 0;
    return (struct outcome){!s.failed, error.code, late, s.counts};
}

struct totals {
    unsigned passed, failed;
    struct sim_counts counts;
    uint64_t late_ns;
    unsigned ends[1024]; /* number of jobs by -code */
};

static void add(struct totals *t, const struct outcome *o)
{
    t->passed += o->good;
    t->failed += !o->good;
    for (size_t i = 0; i < sizeof t->counts / sizeof(uint32_t); i++)
        ((uint32_t *)&t->counts)[i] += ((const uint32_t *)&o->counts)[i];
    if (o->late_ns > t->late_ns) t->late_ns = o->late_ns;
    assert(-o->code >= 0 && -o->code < 1024);
    t->ends[-o->code]++;
}

/* With many seeds, every count must be above 0, else something was not tested. */
static void report(struct totals *t, bool many)
{
    static const char *const names[] = {
#define SIM_COUNT(name, text) text,
        SIM_COUNTS(SIM_COUNT)
#undef SIM_COUNT
    };
    const uint32_t *counts = (const uint32_t *)&t->counts;
    printf("%u jobs succeeded", t->ends[0]);
    for (int i = 1; i < 1024; i++)
        if (t->ends[i] > 0)
            printf(", %u with %s", t->ends[i], glint_code_name((enum glint_code) - i));
    printf("; the last one %llu s after its faults\n", (unsigned long long)(t->late_ns / SECOND));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        printf("%s%u %s", i > 0 ? ", " : "", counts[i], names[i]);
        t->failed += many && counts[i] == 0;
        t->passed -= many && counts[i] == 0;
    }
    printf("\n%u passed, %u failed\n", t->passed, t->failed);
}

int main(int argc, char **argv)
{
    bool trace = argc == 3 && strcmp(argv[1], "--trace") == 0;
    bool canary = argc == 3 && strcmp(argv[1], "--canary") == 0;
    static struct totals totals;
    program = argv[0];
    if (argc != 3) {
        fprintf(stderr, "usage: sim FIRST LAST | sim --trace SEED | sim --canary SEED\n");
        return 64;
    }
    uint64_t first = strtoull(argv[trace || canary ? 2 : 1], NULL, 10),
             last = strtoull(argv[2], NULL, 10);
    signal(SIGABRT, on_signal);
    signal(SIGSEGV, on_signal);
    scratch_open();
    for (uint64_t seed = first; seed <= last; seed++) {
        struct outcome o = run_seed(seed, (struct sim_options){trace, canary});
        if (canary) { /* the first run has computed the expected bytes; change them and run again */
            workloads_spoil();
            o = run_seed(seed, (struct sim_options){trace, canary});
        }
        add(&totals, &o);
        if (!o.good)
            fprintf(stderr, "seed %llu failed; replay: %s --trace %llu\n", (unsigned long long)seed,
                    program, (unsigned long long)seed);
    }
    workloads_fini();
    scratch_close();
    report(&totals, !trace && !canary && last - first >= 999);
    return totals.failed > 0;
}
