/* Fault injection: every job runs repeatedly, and in each run another call fails: the n-th
 * allocation or the n-th env call, once or from then on, for every n until a run has no n-th call.
 *
 * Whatever fails, the job ends with the right output, or with a suitable error and nothing else: no
 * output, no leftover files, no leaked memory, no open file. If two slots race, the n-th call may
 * be another one in the next run; every n is tried anyway. */
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/plan/context_config.h"
#include "tests/support/faults.h"
#include "tests/support/jobs.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 60, OUTPUTS_MAX = 3, QUIET_RUNS = 25, RUNS_MAX = 1000000 };

struct trial {
    const char *words[10];
    struct test_job job;
    const char *outputs[OUTPUTS_MAX];
    struct output expected[OUTPUTS_MAX];
};

enum kind { MEMORY_ONCE, MEMORY_FROM, ENV_ONCE, ENV_FROM, ENV_SHORT };

struct fault {
    enum kind kind;
    int64_t n;
    int error; /* errno of the env call */
};

static unsigned passed, failed;

static void check(bool good, const struct trial *t, const struct fault *f, const char *what)
{
    static const char *const kinds[] = {[MEMORY_ONCE] = "no memory at",
                                        [MEMORY_FROM] = "no memory from",
                                        [ENV_ONCE] = "fault at",
                                        [ENV_FROM] = "faults from",
                                        [ENV_SHORT] = "short calls"};
    if (good) {
        passed++;
        return;
    }
    if (failed++ >= 20) return;
    const char *call = faults_failed();
    fprintf(stderr, "%s %s %s, %s %lld (%s, errno %d): %s\n", t->words[0], t->words[1], t->words[2],
            kinds[f->kind], (long long)f->n, call != NULL ? call : "none", -f->error, what);
}

/* Whether a job may return this code when an env call failed. */
static bool fits_io(int code)
{
    switch (code) {
    case GLINT_E_INPUT_NOT_FOUND:
    case GLINT_E_INPUT_PERMISSION:
    case GLINT_E_INPUT_IO:
    case GLINT_E_OUTPUT_CREATE:
    case GLINT_E_OUTPUT_IO:
    case GLINT_E_OUTPUT_FULL:
    case GLINT_E_WORK_DIR:
    case GLINT_E_SPILL_IO:
    case GLINT_E_SPILL_FULL:
    case GLINT_E_SYSTEM: return true;
    default: return false;
    }
}

static bool outputs_right(const struct trial *t, int code)
{
    bool right = true;
    for (unsigned i = 0; i < OUTPUTS_MAX && t->outputs[i] != NULL; i++) {
        struct output found = output_read(t->outputs[i]);
        struct env_stat st;
        bool absent = env_real()->stat(env_real(), t->outputs[i], &st) == -ENOENT;
        if (code == GLINT_OK)
            right = right && output_same(&found, &t->expected[i]);
        else
            right = right && absent;
        output_free(&found);
    }
    return right;
}

static void arm(const struct fault *f)
{
    static const enum fault_mode modes[] = {
        [ENV_ONCE] = FAULT_ONCE, [ENV_FROM] = FAULT_FROM_THEN_ON, [ENV_SHORT] = FAULT_SHORT};
    if (f->kind == MEMORY_ONCE || f->kind == MEMORY_FROM) {
        faults_set(FAULT_NONE, 1, -EIO);
        mem_fail_at(f->n, f->kind == MEMORY_FROM);
    } else {
        faults_set(modes[f->kind], f->n, f->error);
    }
}

/* One run, and the checks after it. Returns the job's code. */
static int run_one(const struct trial *t, const struct fault *f)
{
    bool memory = f->kind == MEMORY_ONCE || f->kind == MEMORY_FROM;
    struct context_config config = {
        .slots = 2, .bad_rows_max = -1, .encode_messages = memory, .env = faults_env()};
    struct glint_error error;
    int64_t live = mem_live_blocks();
    unsigned files = open_files();
    arm(f);
    int code = test_job_run(&t->job, &config, &error);
    mem_fail_at(0, false);
    bool fits = memory ? code == GLINT_E_NO_MEMORY : fits_io(code);
    const char *call = faults_failed();
    bool may_leave = call != NULL && strcmp(call, "list") == 0; /* it cannot know what to remove */
    check(code == GLINT_OK || fits, t, f, glint_code_name((enum glint_code)code));
    check(code == GLINT_OK || error.cause[0] != '\0', t, f, "no cause");
    check(outputs_right(t, code), t, f, code == GLINT_OK ? "wrong output" : "partial output");
    check(may_leave || scratch_files_left() == 0, t, f, "leftovers");
    check(mem_live_blocks() == live, t, f, "leaked memory");
    check(open_files() == files, t, f, "leaked a file");
    for (unsigned i = 0; i < OUTPUTS_MAX && t->outputs[i] != NULL; i++)
        scratch_remove(t->outputs[i]);
    if (scratch_files_left() > 0) scratch_sweep();
    return code;
}

/* The number of allocations varies, because slots race: stops after many n in a row without an
 * effect. */
static int64_t torture_memory(const struct trial *t)
{
    int64_t n = 1;
    for (int quiet = 0; quiet < QUIET_RUNS; n++) {
        int code = run_one(t, &(struct fault){MEMORY_FROM, n, -EIO});
        quiet = code == GLINT_OK ? quiet + 1 : 0;
        assert(n < RUNS_MAX);
    }
    for (int64_t once = 1; once < n; once++) run_one(t, &(struct fault){MEMORY_ONCE, once, -EIO});
    return n - QUIET_RUNS;
}

/* Returns the first n that no call reached. */
static int64_t torture_env_calls(const struct trial *t, enum kind kind, int error)
{
    for (int64_t n = 1;; n++) {
        struct fault fault = {kind, n, error};
        int code = run_one(t, &fault);
        if (faults_failed() == NULL) {
            check(code == GLINT_OK, t, &fault, "failed without a fault");
            return n;
        }
        assert(n < RUNS_MAX);
    }
}

static void torture(struct trial *t)
{
    struct context_config config = {.slots = 2, .bad_rows_max = -1};
    struct glint_error error;
    test_job_init(&t->job, t->words);
    if (test_job_run(&t->job, &config, &error) != GLINT_OK) {
        fprintf(stderr, "%s without a fault: %s\n", t->words[0], error.cause);
        failed++;
        test_job_fini(&t->job);
        return;
    }
    for (unsigned i = 0; i < OUTPUTS_MAX && t->outputs[i] != NULL; i++) {
        t->expected[i] = output_read(t->outputs[i]);
        assert(t->expected[i].data != NULL);
        scratch_remove(t->outputs[i]);
    }
    struct fault small = {ENV_SHORT, 1, -EIO};
    check(run_one(t, &small) == GLINT_OK, t, &small, "failed");
    int64_t allocations = torture_memory(t);
    int64_t calls = torture_env_calls(t, ENV_ONCE, -EIO);
    torture_env_calls(t, ENV_FROM, -EIO);
    torture_env_calls(t, ENV_FROM, -ENOSPC);
    torture_env_calls(t, ENV_FROM, -EMFILE);
    printf("%s %s %s: %lld allocations, %lld calls\n", t->words[0], t->words[1], t->words[2],
           (long long)allocations, (long long)calls);
    for (unsigned i = 0; i < OUTPUTS_MAX; i++) output_free(&t->expected[i]);
    test_job_fini(&t->job);
}

int main(void)
{
    static const char *const counts[] = {"count-keys", "in.tsv", "counts", NULL};
    static const char *const filters[] = {"bloom-build", "0.1",     "in.tsv",
                                          "counts",      "filters", NULL};
    struct trial trials[] = {
        {.words = {"count-keys", "in.tsv", "out"}, .outputs = {"out"}},
        {.words = {"split-dataset", "in.tsv", "out", "out2"}, .outputs = {"out", "out2"}},
        {.words = {"bloom-build", "--strategy", "indexes", "0.1", "in.tsv", "counts", "out"},
         .outputs = {"out"}},
        {.words = {"bloom-build", "--strategy", "partials", "0.1", "in.tsv", "counts", "out"},
         .outputs = {"out"}},
        {.words = {"bloom-test", "0.1", "in.tsv", "filters", "counts", "out"}, .outputs = {"out"}},
        {.words = {"join-steps", "in.tsv", "in.tsv", "out", "out2", "out3"},
         .outputs = {"out", "out2", "out3"}},
        {.words = {"join", "--type", "full", "--right-key-column", "3", "in.tsv", "in.tsv", "out"},
         .outputs = {"out"}},
        {.words = {"grep", "--regex", "7.*1", "in.tsv", "out"}, .outputs = {"out"}},
        {.words = {"sort", "--by", "2:nr,1", "--unique", "in.tsv", "out"}, .outputs = {"out"}},
        {.words = {"agg", "--by", "2,1", "--mean", "3", "--distinct", "3", "in.tsv", "out"},
         .outputs = {"out"}},
        {.words = {"top", "5", "--by", "2", "in.tsv", "out"}, .outputs = {"out"}},
        {.words = {"dedup", "--by", "2", "in.tsv", "out"}, .outputs = {"out"}},
        {.words = {"dedup", "--bloom", "0.1", "in.tsv", "out"}, .outputs = {"out"}},
        {.words = {"filter-rows", "--with", "filters", "in.tsv", "out"}, .outputs = {"out"}},
    };
    struct context_config config = {.slots = 2, .bad_rows_max = -1};
    scratch_open();
    scratch_ratings("in.tsv", ROWS);
    int prepared = test_job_once(&config, counts, NULL);
    if (prepared == GLINT_OK) prepared = test_job_once(&config, filters, NULL);
    assert(prepared == GLINT_OK);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) torture(&trials[i]);
    scratch_close();
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
