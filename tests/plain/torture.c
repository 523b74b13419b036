/* Fault injection for what jobs do not reach with a few rows: spilling and merging, sorting with
 * its sampling action, joins that spill values to disk, results that are fetched, and two outputs
 * of which one replaces an older one. For every n, the n-th allocation, the n-th env call or the
 * n-th removal fails.
 *
 * Whatever fails, the plan ends with the right output, or with a suitable error and the previous
 * output: no partial output, no leftover files, no leaked memory or open file. (torture_jobs does
 * the same for the jobs.) */
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/driver/driver.h"
#include "tests/support/faults.h"
#include "tests/support/jobs.h"
#include "tests/support/local.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUIET_RUNS = 12 };

enum kind { NO_FAULT, MEMORY_ONCE, MEMORY_FROM, ENV_ONCE, ENV_FROM, ENV_SHORT, REMOVAL_ONCE };
static const char *const kind_names[] = {
    "no fault",    "no memory at", "no memory from",         "a fault at",
    "faults from", "short calls",  "a removal that fails at"};

struct trial {
    const char *name;
    int (*plan)(struct glint *g);
    const char *outputs[2];
    struct output expected[2], before[2]; /* before: the output that the plan replaces */
    uint32_t slots;
    bool encode, skips; /* skips: try only some n, a run is slow */
    /* The injected fault. */
    enum kind kind;
    int64_t n;
    int error;
};

static unsigned passed, failed;

static void check(bool good, const struct trial *t, const char *what)
{
    if (good) {
        passed++;
        return;
    }
    if (failed++ >= 20) return;
    const char *call = faults_failed();
    fprintf(stderr, "%s, %u slots%s, %s %lld (%s, errno %d): %s\n", t->name, t->slots,
            t->encode ? ", encoded" : "", kind_names[t->kind], (long long)t->n,
            call != NULL ? call : "none", -t->error, what);
}

/* ---- The n-th removal fails */

static atomic_int_fast64_t removals;
static int64_t removal_fails; /* 0: none */

static bool removal_must_fail(void)
{
    return removal_fails > 0 && atomic_fetch_add(&removals, 1) + 1 == removal_fails;
}

static int remove_or_fail(struct env *env, int dir, const char *name, bool directory)
{
    return removal_must_fail() ? -EIO : env_real()->remove(env, dir, name, directory);
}

/* ---- Plans */

static int run_spills(struct glint *g)
{
    struct glint_rdd *large = glint_map(local_numbers(g, 45, 1), FN_LARGE, NULL);
    struct glint_rdd *sorted = glint_with_partitions(glint_sort_by_key(large, true), 2);
    glint_save_as_text_file(glint_map(sorted, FN_FIRST, NULL), "out");
    if (glint_error(g)->code == GLINT_OK && glint_counter_value(g, "spills") == 0)
        glint_abort(g, GLINT_E_PROTOCOL, NULL, "the job did not spill");
    return glint_error(g)->code;
}

static int take_rows(struct glint *g, struct glint_rdd *rdd)
{
    struct glint_rows rows;
    int64_t n = -1;
    int r = glint_collect(rdd, &rows);
    if (r != 0) return r;
    bool right = rows.count == 100;
    for (uint64_t i = 0; i < rows.count && right; i++)
        right = glint_rows_at(&rows, i).key.i64 == 9 - (int64_t)i / 10;
    glint_rows_free(&rows);
    r = glint_take(rdd, 25, &rows);
    if (r != 0) return r;
    right = right && rows.count == 25;
    glint_rows_free(&rows);
    r = glint_count(rdd, &n);
    if (r == 0 && (n != 100 || !right)) r = glint_abort(g, GLINT_E_PROTOCOL, NULL, "wrong rows");
    return r;
}

static int run_sort(struct glint *g)
{
    struct glint_rdd *pairs = glint_map(local_numbers(g, 100, 3), FN_MAP, NULL);
    struct glint_rdd *sorted = glint_with_partitions(glint_sort_by_key(pairs, false), 3);
    if (take_rows(g, sorted) == 0) glint_save_as_text_file(sorted, "out");
    return glint_error(g)->code;
}

/* A partitioner with state and arguments, in a shuffle that combines and in one that does not. */
static int run_partitioner(struct glint *g)
{
    struct glint_rdd *counts = local_counts(glint_map(local_numbers(g, 100, 3), FN_MAP, NULL));
    struct glint_args *args = glint_args(g);
    glint_args_add_i64(args, "step", 7);
    struct glint_rdd *again = glint_partition_by(glint_with_partitioner(counts, FN_PART, args), 2);
    glint_save_as_text_file(glint_with_partitioner(again, FN_PART, args), "out");
    return glint_error(g)->code;
}

static int run_replace(struct glint *g)
{
    struct glint_rdd *pairs = glint_map(local_numbers(g, 100, 3), FN_MAP, NULL);
    glint_save_as_text_file(local_counts(pairs), "out");
    glint_save_as_msgpack_file(pairs, "old");
    return glint_error(g)->code;
}

/* More values per key than a join keeps in memory. */
static int run_join(struct glint *g)
{
    struct glint_rdd *left = glint_map(local_numbers(g, 20, 1), FN_LARGE, NULL);
    struct glint_rdd *right = glint_map(local_numbers(g, 55, 1), FN_LARGE, NULL);
    struct glint_rdd *joined = glint_with_partitions(glint_join(left, right), 1);
    glint_save_as_text_file(glint_map(joined, FN_FIRSTS, NULL), "out");
    if (glint_error(g)->code == GLINT_OK && glint_counter_value(g, "spills") < 10)
        glint_abort(g, GLINT_E_PROTOCOL, NULL, "the values of a key did not spill");
    return glint_error(g)->code;
}

/* Operators with two inputs, and an action that runs before the action. */
static int run_sides(struct glint *g)
{
    struct glint_rdd *pairs = glint_map(local_numbers(g, 40, 2), FN_MAP, NULL);
    struct glint_rdd *few = glint_map(local_numbers(g, 15, 1), FN_MAP, NULL);
    struct glint_rdd *indexed = glint_zip_with_index(local_numbers(g, 8, 2));
    struct glint_rdd *rest = glint_subtract(pairs, glint_intersection(pairs, few));
    struct glint_rdd *outer = glint_full_outer_join(glint_subtract_by_key(rest, indexed), indexed);
    glint_save_as_msgpack_file(glint_cogroup(outer, few), "out");
    return glint_error(g)->code;
}

/* Lines through processes. Their number of calls varies with the size of reads. */
static int run_pipe(struct glint *g)
{
    static const struct glint_schema schema = GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT);
    static const char *const cat[] = {"/bin/cat", NULL};
    static const struct glint_command combine = {.argv = cat, .combine = true};
    struct glint_record rows[20];
    char text[20][8];
    for (int i = 0; i < 20; i++) {
        text_format(text[i], sizeof text[i], "%d", i * 7 % 20);
        const struct glint_slice slice = {(const uint8_t *)text[i], strlen(text[i])};
        rows[i] = (struct glint_record){.key = {.bytes = slice}, .value = {.bytes = slice}};
    }
    struct glint_rdd *pairs = glint_parallelize(g, schema, rows, 20, 2);
    glint_save_as_text_file(glint_pipe(glint_pipe_command(pairs, &combine), cat, NULL), "out");
    return glint_error(g)->code;
}

/* ---- One run, and the checks after it */

static bool fits(const struct trial *t, int code)
{
    if (t->kind == MEMORY_ONCE || t->kind == MEMORY_FROM) return code == GLINT_E_NO_MEMORY;
    switch (code) {
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

static void arm(const struct trial *t)
{
    static const enum fault_mode modes[] = {
        [NO_FAULT] = FAULT_NONE,    [MEMORY_ONCE] = FAULT_NONE,      [MEMORY_FROM] = FAULT_NONE,
        [ENV_ONCE] = FAULT_ONCE,    [ENV_FROM] = FAULT_FROM_THEN_ON, [ENV_SHORT] = FAULT_SHORT,
        [REMOVAL_ONCE] = FAULT_NONE};
    faults_set(modes[t->kind], t->n, t->error);
    removal_fails = t->kind == REMOVAL_ONCE ? t->n : 0;
    atomic_store(&removals, 0);
    if (t->kind == MEMORY_ONCE || t->kind == MEMORY_FROM) mem_fail_at(t->n, t->kind == MEMORY_FROM);
}

static int run_plan(const struct trial *t, struct glint_error *error)
{
    struct env env = *faults_env();
    env.remove = remove_or_fail;
    struct context_config config = local_config(t->slots, t->encode);
    config.env = &env;
    config.work_dir = "work";
    config.overwrite = true;
    arm(t);
    struct glint *g = context_create(&config, error);
    int code = error->code;
    if (g != NULL) {
        t->plan(g);
        code = glint_finish(g);
        *error = *glint_error(g);
    }
    glint_destroy(g);
    mem_fail_at(0, false);
    return code;
}

static bool outputs_right(const struct trial *t, int code)
{
    bool right = true;
    for (int i = 0; i < 2 && t->outputs[i] != NULL; i++) {
        struct output found = output_read(t->outputs[i]);
        const struct output *wanted = code == GLINT_OK ? &t->expected[i] : &t->before[i];
        struct env_stat st;
        bool absent = env_real()->stat(env_real(), t->outputs[i], &st) == -ENOENT;
        right = right && (wanted->data == NULL ? absent : output_same(&found, wanted));
        output_free(&found);
    }
    return right;
}

/* Every call fails after the new output has replaced the old one, so it cannot be rolled back: the
 * error says so. */
static bool is_stuck(const struct trial *t, const struct glint_error *error)
{
    return t->kind == ENV_FROM &&
           strcmp(error->effect, "an output was published and could not be rolled back") == 0;
}

/* Whether the old output is complete in the hidden directory next to the new one. */
static bool old_is_kept(const char *name, const struct output *before)
{
    char prefix[64], path[PATH_MAX];
    bool same = false;
    text_format(prefix, sizeof prefix, ".%s.glint-", name);
    DIR *directory = opendir(".");
    for (struct dirent *e; directory != NULL && !same && (e = readdir(directory)) != NULL;) {
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0) continue;
        text_format(path, sizeof path, "%s/output", e->d_name);
        struct output found = output_read(path);
        same = output_same(&found, before);
        output_free(&found);
    }
    if (directory != NULL) closedir(directory);
    return same;
}

/* Whether each output is the old one, or is new with the old one kept; and at least one is new. */
static bool outputs_kept(const struct trial *t)
{
    bool right = true, any = false;
    for (int i = 0; i < 2 && t->outputs[i] != NULL; i++) {
        struct output found = output_read(t->outputs[i]);
        const struct output *before = &t->before[i];
        bool new = output_same(&found, &t->expected[i]);
        bool old =
            before->data == NULL ? access(t->outputs[i], F_OK) != 0 : output_same(&found, before);
        right = right && (old || (new &&old_is_kept(t->outputs[i], before)));
        any = any || new;
        output_free(&found);
    }
    return right && any;
}

/* Restores the old outputs and removes everything else. */
static void restore_outputs(const struct trial *t)
{
    for (int i = 0; i < 2 && t->outputs[i] != NULL; i++) {
        scratch_remove(t->outputs[i]);
        if (t->before[i].data == NULL) continue;
        int r = env_real()->make_dir(env_real(), ENV_CWD, t->outputs[i], false);
        char path[64];
        text_format(path, sizeof path, "%s/part-00000", t->outputs[i]);
        if (r == 0) scratch_write(path, t->before[i].data, t->before[i].size);
        text_format(path, sizeof path, "%s/_SUCCESS", t->outputs[i]);
        if (r == 0) scratch_write(path, "", 0);
    }
    if (scratch_files_left() > 0) scratch_sweep();
}

/* Returns the plan's code. */
static int run_one(const struct trial *t)
{
    struct glint_error error = {.code = GLINT_OK};
    int64_t live = mem_live_blocks();
    unsigned files = open_files();
    int code = run_plan(t, &error);
    const char *call = faults_failed();
    bool hit = call != NULL || (t->kind == REMOVAL_ONCE && atomic_load(&removals) >= t->n);
    /* Files that could not be listed or removed may be left. */
    bool may_leave = t->kind == REMOVAL_ONCE || (call != NULL && strcmp(call, "list") == 0);
    check(code == GLINT_OK || hit || t->kind == MEMORY_ONCE || t->kind == MEMORY_FROM, t,
          "failed without a fault");
    check(code == GLINT_OK || fits(t, code), t, glint_code_name((enum glint_code)code));
    check(code == GLINT_OK || error.cause[0] != '\0', t, "no cause");
    if (is_stuck(t, &error)) {
        check(outputs_kept(t), t, "an output is lost");
    } else {
        check(outputs_right(t, code), t, code == GLINT_OK ? "wrong output" : "partial output");
        check(may_leave || scratch_files_left() == 0, t, "leftovers");
    }
    check(mem_live_blocks() == live, t, "leaked memory");
    check(open_files() == files, t, "leaked a file");
    restore_outputs(t);
    return code;
}

/* Tries n from 1 until a run has no n-th call. For allocations, until many runs in a row succeed,
 * because two slots race and their number varies. Every n is tried with one slot; with two, or if
 * runs are slow, the steps grow. Returns the last n. */
static int64_t torture_kind(struct trial *t, enum kind kind, int error)
{
    bool memory = kind == MEMORY_ONCE || kind == MEMORY_FROM, reached = true;
    bool wide = t->skips || (memory && t->slots > 1);
    int quiet_runs = wide ? 3 : QUIET_RUNS;
    t->kind = kind;
    t->error = error;
    t->n = 1;
    for (int quiet = 0; memory ? quiet < quiet_runs : reached;) {
        int code = run_one(t);
        reached = kind == REMOVAL_ONCE ? atomic_load(&removals) >= t->n : faults_failed() != NULL;
        quiet = code == GLINT_OK ? quiet + 1 : 0;
        t->n += wide ? 1 + t->n / 12 : 1;
    }
    return t->n - 1;
}

static void torture(struct trial *t)
{
    struct glint_error error = {.code = GLINT_OK};
    t->slots = 1;
    t->error = -EIO;
    t->kind = NO_FAULT;
    t->n = 1;
    restore_outputs(t);
    check(run_plan(t, &error) == GLINT_OK, t, error.cause);
    for (int i = 0; i < 2 && t->outputs[i] != NULL; i++)
        t->expected[i] = output_read(t->outputs[i]);
    restore_outputs(t);
    for (int shape = 0; shape < 3 && error.code == GLINT_OK; shape++) {
        t->slots = shape == 0 ? 1 : 2;
        t->encode = shape == 2;
        t->kind = ENV_SHORT;
        t->n = 1;
        if (!t->skips) check(run_one(t) == GLINT_OK, t, "failed");
        int64_t allocations = torture_kind(t, MEMORY_FROM, -EIO);
        torture_kind(t, MEMORY_ONCE, -EIO);
        int64_t calls = torture_kind(t, ENV_ONCE, -EIO);
        torture_kind(t, ENV_FROM, shape == 0 ? -EIO : shape == 1 ? -ENOSPC : -EMFILE);
        int64_t removed = torture_kind(t, REMOVAL_ONCE, -EIO);
        printf("%s, %u slots%s: %lld allocations, %lld calls, %lld removals\n", t->name, t->slots,
               t->encode ? ", encoded" : "", (long long)allocations, (long long)calls,
               (long long)removed);
    }
    for (int i = 0; i < 2; i++) output_free(&t->expected[i]);
}

int main(void)
{
    static char old[] = "previous output\n";
    struct trial trials[] = {
        {.name = "sort", .plan = run_sort, .outputs = {"out"}},
        {.name = "partitioner", .plan = run_partitioner, .outputs = {"out"}},
        {.name = "replace",
         .plan = run_replace,
         .outputs = {"out", "old"},
         .before = {{NULL, 0}, {old, sizeof old - 1}}},
        {.name = "spill", .plan = run_spills, .outputs = {"out"}, .skips = true},
        {.name = "join", .plan = run_join, .outputs = {"out"}, .skips = true},
        {.name = "sides", .plan = run_sides, .outputs = {"out"}, .skips = true},
        {.name = "pipe", .plan = run_pipe, .outputs = {"out"}, .skips = true},
    };
    scratch_open();
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) torture(&trials[i]);
    scratch_close();
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
