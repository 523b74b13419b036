/* sim FIRST LAST        runs these seeds; the last line is `N passed, N failed`
 * sim --trace SEED      replays one and shows what happens
 * sim --canary SEED     one that must fail: a byte of what is expected is wrong
 *
 * Each seed is a cluster of 1 to 8 nodes, a job, and faults. At the end its output must be that of
 * local mode, byte for byte, or the job must have failed for a reason that the faults explain; with
 * few faults it must not fail. It ends within a bound of simulated time, and leaves nothing. */
#include "tests/sim/sim.h"
#include "tests/support/jobs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12000, OUTPUTS_MAX = 2, JOBS = 4 };
#define TIME_MAX (3600 * SECOND)

static const struct {
    const char *words[10], *outputs[OUTPUTS_MAX];
} jobs[JOBS] = {
    {{"count-keys", "in.tsv", "out"}, {"out"}},
    {{"split-dataset", "in.tsv", "out", "out2"}, {"out", "out2"}},
    {{"bloom-build", "--strategy", "indexes", "0.01", "in.tsv", "counts", "out"}, {"out"}},
    {{"bloom-test", "0.01", "in.tsv", "filters", "counts", "out"}, {"out"}},
};

static struct output expected[JOBS][OUTPUTS_MAX];

static struct glint_config base_config(void)
{
    return (struct glint_config){.slots = 1,
                                 .bad_rows_max = -1,
                                 .split_bytes = 8 * KIB,
                                 .partitions = 5,
                                 .memory_bytes = 64 * MIB};
}

static void run_locally(void)
{
    static const char *const counts[] = {"count-keys", "in.tsv", "counts", NULL};
    static const char *const filters[] = {"bloom-build", "0.01",    "in.tsv",
                                          "counts",      "filters", NULL};
    struct glint_config config = base_config();
    if (test_job_once(&config, counts, NULL) != 0 || test_job_once(&config, filters, NULL) != 0)
        abort();
    for (unsigned j = 0; j < JOBS; j++) {
        if (test_job_once(&config, jobs[j].words, NULL) != 0) abort();
        for (unsigned o = 0; o < OUTPUTS_MAX && jobs[j].outputs[o] != NULL; o++) {
            expected[j][o] = output_read(jobs[j].outputs[o]);
            if (expected[j][o].data == NULL) abort();
            scratch_remove(jobs[j].outputs[o]);
        }
    }
}

static void on_progress(void *arg, const struct progress *p)
{
    struct sim *s = arg;
    (void)p;
    if (s->now > TIME_MAX + s->end_of_faults) {
        fprintf(stderr, "the job does not end\n");
        abort();
    }
}

static void on_note(void *arg, const char *line)
{
    sim_trace(arg, "note: %s", line);
}

static void sim_init(struct sim *s, uint64_t seed, bool trace)
{
    memset(s, 0, sizeof *s);
    s->random = seed;
    s->options.trace = trace;
    s->node_count = 1 + (uint32_t)sim_random(s, NODES_MAX);
    for (uint32_t n = 0; n < s->node_count; n++)
        s->nodes[n] = (struct sim_node){.slots = 1 + (uint32_t)sim_random(s, 3), .slow = 1};
    sim_env_init(&s->driver_env, s);
    s->cluster.heartbeat = (struct liveness_limits){SECOND, 5 * SECOND, 10 * SECOND};
    s->config = base_config();
    s->config.env = &s->driver_env.env;
    s->config.cluster = &s->cluster;
    s->cluster.speculate = sim_chance(s, 3);
    s->config.line_bytes_max = LINE_BYTES_MAX_DEFAULT;
    s->config.result_bytes_max = RESULT_BYTES_MAX;
    s->config.progress = on_progress;
    s->config.progress_arg = s;
    s->config.note = on_note;
    s->config.note_arg = s;
    s->config.timeout_ns = TIME_MAX;
    snprintf(s->folder, sizeof s->folder, "work");
    test_job_config(&s->config);
}

/* A failure that the faults explain: as many losses as a job may have, or tasks that met a fault
 * four times. */
static bool explained(const struct sim *s, enum glint_code code)
{
    switch (code) {
    case GLINT_E_TOO_MANY_LOSSES: return s->counts.losses > LOSSES_MAX;
    case GLINT_E_FETCH_FAILED:
    case GLINT_E_CONNECTION: return s->counts.fetch_failures >= STAGE_ATTEMPTS_MAX;
    case GLINT_E_SPILL_FULL:
    case GLINT_E_OUTPUT_FULL: return s->counts.full_disks > 0;
    case GLINT_E_EXECUTOR_LOST: return s->counts.losses >= TASK_ATTEMPTS_MAX;
    default: return false;
    }
}

static bool check(const struct sim *s, unsigned job, const struct glint_error *error)
{
    bool good = true;
    for (unsigned o = 0; o < OUTPUTS_MAX && jobs[job].outputs[o] != NULL; o++) {
        struct output found = output_read(jobs[job].outputs[o]);
        bool right =
            error->code == GLINT_OK ? output_same(&found, &expected[job][o]) : found.data == NULL;
        if (!right) {
            fprintf(stderr, "%s: %s\n", jobs[job].outputs[o],
                    error->code == GLINT_OK ? "wrong bytes" : "output of a job that failed");
            good = false;
        }
        output_free(&found);
        scratch_remove(jobs[job].outputs[o]);
    }
    if (error->code != GLINT_OK && !explained(s, error->code)) {
        fprintf(stderr, "failed, and no fault explains it: %s; %s\n", error->cause, error->effect);
        good = false;
    }
    if (leftovers() != 0) {
        fprintf(stderr, "something is left\n");
        good = false;
    }
    scratch_sweep();
    return good;
}

struct outcome {
    bool good, ended_well;
    struct sim_counts counts;
};

static struct outcome run_seed(uint64_t seed, bool trace)
{
    static struct sim s;
    struct test_job job;
    struct glint_error error;
    sim_init(&s, seed, trace);
    unsigned number = (unsigned)sim_random(&s, JOBS);
    test_job_init(&job, jobs[number].words);
    struct glint *g = calloc(1, sizeof *g);
    if (g == NULL) abort();
    context_init(g, &s.config);
    faults_begin(&s);
    if (transport_start(&s, g) != 0) abort();
    struct glint_job_args args = {job.line.arguments, &job.line};
    job.job->run(g, &args);
    glint_finish(g);
    error = *glint_error(g);
    g->runner->destroy(g->runner);
    context_fini(g);
    free(g);
    executors_destroy(&s);
    sim_drop_events(&s);
    test_job_fini(&job);
    struct outcome o = {check(&s, number, &error), error.code == GLINT_OK, s.counts};
    if (trace)
        fprintf(stderr, "%s after %llu ms: %s\n", jobs[number].words[0],
                (unsigned long long)(s.now / MILLI), error.code == GLINT_OK ? "done" : error.cause);
    return o;
}

int main(int argc, char **argv)
{
    bool trace = argc == 3 && strcmp(argv[1], "--trace") == 0;
    bool canary = argc == 3 && strcmp(argv[1], "--canary") == 0;
    if (argc != 3) {
        fprintf(stderr, "usage: sim FIRST LAST | sim --trace SEED | sim --canary SEED\n");
        return 64;
    }
    uint64_t first = strtoull(argv[trace || canary ? 2 : 1], NULL, 10),
             last = strtoull(argv[2], NULL, 10);
    unsigned passed = 0, failed = 0, well = 0;
    struct sim_counts all = {0};
    scratch_open();
    scratch_ratings("in.tsv", ROWS);
    run_locally();
    for (unsigned j = 0; canary && j < JOBS; j++) expected[j][0].data[0] ^= 1;
    for (uint64_t seed = first; seed <= last; seed++) {
        struct outcome o = run_seed(seed, trace);
        passed += o.good;
        failed += !o.good;
        well += o.ended_well;
        for (size_t i = 0; i < sizeof all / sizeof(uint32_t); i++)
            ((uint32_t *)&all)[i] += ((const uint32_t *)&o.counts)[i];
        if (!o.good)
            fprintf(stderr, "seed %llu failed: sim --trace %llu\n", (unsigned long long)seed,
                    (unsigned long long)seed);
    }
    for (unsigned j = 0; j < JOBS; j++)
        for (unsigned o = 0; o < OUTPUTS_MAX; o++) output_free(&expected[j][o]);
    scratch_close();
    printf("%u of %u jobs ended well; %u joins, %u losses, %u tasks, %u fetch failures\n", well,
           passed + failed, all.joins, all.losses, all.tasks, all.fetch_failures);
    printf("%u crashes, %u stops, %u cuts, %u cuts between executors, %u resets, %u duplicates, "
           "%u flipped bytes, %u full disks, %u slow nodes, %u clock jumps\n",
           all.crashes, all.stops, all.cuts, all.peer_cuts, all.drops, all.duplicates, all.flips,
           all.full_disks, all.slow_nodes, all.jumps);
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
