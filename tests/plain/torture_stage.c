/* Fault injection for glint stage: pack, map, reduce and gather of a job run repeatedly, and in
 * each run another call of one of them fails: the n-th allocation or the n-th env call, for every n
 * until a run has no n-th call. Records are lines in one round, and pairs of raw bytes in the
 * other.
 *
 * Whatever fails, the command ends with its output, or with a suitable error: no output of the job,
 * no leftover files, no leaked memory, no open file. */
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/driver/stage_session.h"
#include "engine/foreign/stage_worker.h"
#include "tests/support/faults.h"
#include "tests/support/jobs.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 60, QUIET_RUNS = 25, RUNS_MAX = 1000000 };
enum step { PACK, MAP, REDUCE, GATHER, STEPS };

static const char *const step_names[] = {"pack", "map", "reduce", "gather"};
static const char *const words[] = {"count-keys", "in.tsv", "out", NULL};
static struct test_job job; /* its command line is parsed once, without faults */
static unsigned passed, failed;
static bool raw;

static void check(bool good, enum step step, int64_t n, const char *what)
{
    passed += good;
    if (good || failed++ >= 20) return;
    const char *call = faults_failed();
    fprintf(stderr, "%s%s, call %lld (%s): %s\n", step_names[step], raw ? " of raw bytes" : "",
            (long long)n, call != NULL ? call : "an allocation", what);
}

static int open_for(const char *name, int flags)
{
    const int file = open(name, flags | O_CLOEXEC, 0600);
    assert(file >= 0);
    return file;
}

/* A part of the job's code, up to the session's end. */
static int run_session(struct stage_session *session, struct context_config *config,
                       struct glint_error *error)
{
    config->stage = session;
    const int r = test_job_run(&job, config, error);
    return r == GLINT_E_INTERRUPTED && session->packed ? 0 : r;
}

static int pack(struct context_config *config, struct glint_error *error)
{
    struct stage_session session = {
        .out = "a.stage", .results = -1, .words = words, .word_count = 3};
    return run_session(&session, config, error);
}

static int gather(struct context_config *config, struct glint_error *error)
{
    struct stage_file file = {.id = 0};
    struct stage_session session = {
        .file = &file, .results = open_for("results", O_RDONLY), .words = words, .word_count = 3};
    int r = stage_file_read(config->env, "a.stage", &file, error);
    if (r == 0) r = run_session(&session, config, error);
    close(session.results);
    stage_file_fini(&file);
    return r;
}

static int run_tasks(bool map, const struct context_config *config, struct glint_error *error)
{
    struct stage_file file = {.id = 0};
    struct stage_worker w = {.started = false};
    struct line_input in = {.env = config->env,
                            .file = open_for(map ? "splits" : "records", O_RDONLY),
                            .name = "standard input",
                            .raw = raw && !map};
    const int out = open_for(map ? "records" : "results", O_WRONLY | O_CREAT | O_TRUNC);
    int r = stage_file_read(config->env, "a.stage", &file, error);
    if (r == 0) r = stage_worker_open(&w, config->env, &file, map ? 0 : 1, config, "work", error);
    w.out = out;
    w.raw = raw;
    if (r == 0) r = map ? stage_worker_map(&w, &in, error) : stage_worker_reduce(&w, &in, error);
    stage_worker_close(&w);
    line_input_fini(&in);
    stage_file_fini(&file);
    close(in.file);
    close(out);
    return r;
}

static int run_step(enum step step, struct glint_error *error)
{
    struct context_config config = {.slots = 1, .bad_rows_max = -1, .env = faults_env()};
    test_job_config(&config);
    *error = (struct glint_error){.code = GLINT_OK};
    switch (step) {
    case PACK: return pack(&config, error);
    case GATHER: return gather(&config, error);
    default: return run_tasks(step == MAP, &config, error);
    }
}

static bool output_exists(enum step step)
{
    struct env_stat st;
    return env_real()->stat(env_real(), step == PACK ? "a.stage" : "out", &st) == 0;
}

static void remove_output(enum step step)
{
    if (step == PACK) (void)remove("a.stage");
    if (step == GATHER) scratch_remove("out");
}

/* One run with the faults that are set. Returns the step's code. */
static int run_one(enum step step, int64_t n, bool memory)
{
    struct glint_error error;
    const int64_t live = mem_live_blocks();
    const unsigned files = open_files();
    const int code = run_step(step, &error);
    mem_fail_at(0, false);
    const char *call = faults_failed();
    const bool may_leave = call != NULL && strcmp(call, "list") == 0;
    check(code == GLINT_OK || error.cause[0] != '\0', step, n, "no cause");
    check(code == GLINT_OK || !memory || code == GLINT_E_NO_MEMORY, step, n, "another error");
    if (step == PACK || step == GATHER)
        check(output_exists(step) == (code == GLINT_OK), step, n, "partial output");
    check(may_leave || scratch_files_left() == 0, step, n, "leftovers");
    check(mem_live_blocks() == live, step, n, "leaked memory");
    check(open_files() == files, step, n, "leaked a file");
    remove_output(step);
    if (scratch_files_left() > 0) scratch_sweep();
    return code;
}

static void torture(enum step step)
{
    int64_t n = 1, calls = 1;
    for (int quiet = 0; quiet < QUIET_RUNS && n < RUNS_MAX; n++) {
        faults_set(FAULT_NONE, 1, -EIO);
        mem_fail_at(n, true);
        quiet = run_one(step, n, true) == GLINT_OK ? quiet + 1 : 0;
    }
    for (; calls < RUNS_MAX; calls++) {
        faults_set(FAULT_ONCE, calls, -EIO);
        const int code = run_one(step, calls, false);
        if (faults_failed() != NULL) continue;
        check(code == GLINT_OK, step, calls, "failed without a fault");
        break;
    }
    faults_set(FAULT_SHORT, 1, -EIO);
    check(run_one(step, 0, false) == GLINT_OK, step, 0, "short calls");
    printf("%s%s: %lld allocations, %lld calls\n", step_names[step], raw ? " of raw bytes" : "",
           (long long)n - QUIET_RUNS, (long long)calls);
}

int main(void)
{
    struct glint_error error;
    scratch_open();
    scratch_ratings("in.tsv", ROWS);
    scratch_write("splits", "0.0\n", 4);
    test_job_init(&job, words);
    for (int round = 0; round < 3; round++) {
        raw = round == 2;
        for (enum step step = PACK; step < STEPS; step++) {
            /* The first round opens what stays open. */
            if (round == 1 || (raw && (step == MAP || step == REDUCE))) torture(step);
            faults_set(FAULT_NONE, 1, -EIO);
            check(run_step(step, &error) == GLINT_OK, step, 0, "failed without a fault");
        }
        scratch_remove("out");
        (void)remove("a.stage");
    }
    test_job_fini(&job);
    scratch_close();
    printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
