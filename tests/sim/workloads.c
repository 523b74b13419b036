/* The workloads of a seed, up to three in one context: jobs of jobs/, which write outputs, and
 * plans whose actions share shuffles. Each is first run in local mode; the cluster's bytes, results
 * and counters must be equal. */
#include "tests/sim/sim.h"

#include "engine/driver/driver.h"
#include "jobs/jobs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { ROWS = 12000, KINDS_MAX = 7, JOBS = 4, SPLITS = 4, PARTITIONS = 3, COUNTERS = 16 };

#define BAD_ROW "tt0006000"

static const uint64_t split_bytes[SPLITS] = {4 * KIB, 8 * KIB, 24 * KIB, 96 * KIB};
static const uint32_t partition_counts[PARTITIONS] = {1, 5, 13};

/* ---- Functions of the plans: (none, line) -> (rating, votes), and the sum of votes */

struct row_state {
    struct glint_slice bad;
    int counter;
};

static int row_open(struct glint_task *task, void *state)
{
    struct row_state *r = state;
    r->counter = glint_counter(task, "sim rows");
    return r->counter < 0 ? r->counter : glint_arg_slice(task, "bad", &r->bad);
}

static int row_each(struct glint_task *task, void *state, const struct glint_record *in,
                    struct glint_emitter *out)
{
    const struct row_state *r = state;
    struct glint_slice line = in->value.bytes;
    const uint8_t *first = memchr(line.data, '\t', line.size), *end = line.data + line.size;
    const uint8_t *second =
        first == NULL ? NULL : memchr(first + 1, '\t', (size_t)(end - first - 1));
    struct glint_record made;
    if (r->bad.size > 0 && line.size > r->bad.size &&
        memcmp(line.data, r->bad.data, r->bad.size) == 0)
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "invalid row");
    if (second == NULL ||
        !glint_parse_i64((struct glint_slice){second + 1, (uint64_t)(end - second - 1)},
                         &made.value.i64))
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "missing column");
    made.key.bytes = (struct glint_slice){first + 1, (uint64_t)(second - first - 1)};
    glint_counter_add(task, r->counter, 1);
    glint_emit(out, &made);
    return 0;
}

static int sum_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                     const union glint_value *value)
{
    (void)task, (void)state;
    acc->value.i64 += value->i64;
    return 0;
}

static const struct glint_function row_function = {.name = "sim.row",
                                                   .kind = GLINT_KIND_MAP,
                                                   .in = {GLINT_NONE, GLINT_TEXT},
                                                   .out = {GLINT_TEXT, GLINT_I64},
                                                   .state_size = sizeof(struct row_state),
                                                   .open = row_open,
                                                   .each = row_each};
static const struct glint_function sum_function = {.name = "sim.sum",
                                                   .kind = GLINT_KIND_REDUCE,
                                                   .in = {GLINT_ANY, GLINT_I64},
                                                   .out = {GLINT_SAME, GLINT_SAME},
                                                   .merge = sum_merge};
static const struct glint_function *const functions[] = {&row_function, &sum_function, NULL};
static const struct glint_module module = {"sim", functions};

static const struct glint_module *const modules[] = {&ops_module, &module, NULL};

/* ---- Plans */

struct plan {
    struct glint *g;
    const char *const *outputs;
    uint64_t *digest;
    bool bad_row;
};

static void digest_bytes(uint64_t *digest, const void *data, size_t size)
{
    *digest = XXH3_64bits_withSeed(data, size, *digest);
}

static void digest_rows(uint64_t *digest, struct glint_rows *rows, int code)
{
    for (uint64_t i = 0; code == 0 && i < rows->count; i++) {
        struct glint_record r = glint_rows_at(rows, i);
        if (rows->schema.key == GLINT_TEXT)
            digest_bytes(digest, r.key.bytes.data, r.key.bytes.size);
        if (rows->schema.value == GLINT_I64)
            digest_bytes(digest, &r.value.i64, sizeof r.value.i64);
        else
            digest_bytes(digest, r.value.bytes.data, r.value.bytes.size);
    }
    glint_rows_free(rows);
}

static struct glint_rdd *ratings(const struct plan *p)
{
    struct glint_args *args = glint_args(p->g);
    const char *bad = p->bad_row ? BAD_ROW : "";
    glint_args_add_bytes(args, "bad", bad, strlen(bad));
    return glint_map(glint_text_file(p->g, "in.tsv"), &row_function, args);
}

struct stop {
    uint64_t *digest;
    int left;
};

static int stop_row(void *arg, const struct glint_record *r)
{
    struct stop *stop = arg;
    digest_bytes(stop->digest, r->key.bytes.data, r->key.bytes.size);
    return --stop->left == 0;
}

/* Six actions that reuse one shuffle, whose outputs are computed again only where they are lost;
 * one of them ends while its tasks still run. */
static void plan_again(const struct plan *p)
{
    struct glint_rdd *sums = glint_reduce_by_key(ratings(p), &sum_function, NULL);
    struct glint_rows rows = {0}, some = {0}, found = {0};
    union glint_value key = {.bytes = {(const uint8_t *)"5.9", 3}};
    int64_t n = 0;
    struct stop stop = {p->digest, 3};
    glint_collect_each(sums, stop_row, &stop);
    glint_count(sums, &n);
    digest_bytes(p->digest, &n, sizeof n);
    digest_rows(p->digest, &rows, glint_collect(sums, &rows));
    digest_rows(p->digest, &some, glint_take(sums, 7, &some));
    digest_rows(p->digest, &found, glint_lookup(sums, key, &found));
    glint_save_as_text_file(sums, p->outputs[0]);
}

/* Three shuffles in a row, with a sampling action in between, and a shuffle with two readers. */
static void plan_deep(const struct plan *p)
{
    struct glint_rdd *sums = glint_reduce_by_key(ratings(p), &sum_function, NULL);
    struct glint_rdd *spread = glint_partition_by(glint_repartition(sums, 7), 3);
    struct glint_rdd *sorted = glint_sort_by_key(glint_union(spread, sums), true);
    int64_t n = 0;
    glint_save_as_text_file(sorted, p->outputs[0]);
    glint_count(glint_distinct(glint_keys(sorted)), &n);
    digest_bytes(p->digest, &n, sizeof n);
    glint_save_as_msgpack_file(glint_coalesce(sums, 2), p->outputs[1]);
}

/* An empty input, groups, and an action that ends before its last task. */
static void plan_odd(const struct plan *p)
{
    struct glint_record none = {.value = {.i64 = 0}};
    struct glint_schema numbers = {GLINT_NONE, GLINT_I64};
    struct glint_rdd *rows = ratings(p), *empty = glint_parallelize(p->g, numbers, &none, 0, 3);
    struct glint_rows first = {0}, counts = {0};
    int64_t n = -1;
    glint_count(empty, &n);
    digest_bytes(p->digest, &n, sizeof n);
    digest_rows(p->digest, &first, glint_first(rows, &first));
    digest_rows(p->digest, &counts, glint_count_by_key(rows, &counts));
    glint_save_as_text_file(glint_values(glint_group_by_key(rows)), p->outputs[0]);
}

/* ---- Workloads */

static const struct {
    const char *name, *words[10]; /* @0 and @1 are the outputs */
    void (*plan)(const struct plan *p);
    uint32_t outputs;
} kinds[KINDS_MAX] = {
    {"count-keys", {"count-keys", "in.tsv", "@0"}, NULL, 1},
    {"split-dataset", {"split-dataset", "in.tsv", "@0", "@1"}, NULL, 2},
    {"bloom-build",
     {"bloom-build", "--strategy", "indexes", "0.01", "in.tsv", "counts", "@0"},
     NULL,
     1},
    {"bloom-test", {"bloom-test", "0.01", "in.tsv", "filters", "counts", "@0"}, NULL, 1},
    {"again", {NULL}, plan_again, 1},
    {"deep", {NULL}, plan_deep, 2},
    {"odd", {NULL}, plan_odd, 1},
};

const char *workloads_name(const struct sim_workload *workload)
{
    return kinds[workload->kind].name;
}

struct names {
    char text[OUTPUTS_MAX][16];
    const char *names[OUTPUTS_MAX];
};

static void name_outputs(struct names *n, uint32_t step)
{
    for (uint32_t i = 0; i < OUTPUTS_MAX; i++) {
        snprintf(n->text[i], sizeof n->text[i], "out-%u-%u", step, i);
        n->names[i] = n->text[i];
    }
}

static void run_workload(struct glint *g, const struct sim_workload *workload, uint64_t *digest)
{
    struct names n;
    name_outputs(&n, workload->step);
    if (kinds[workload->kind].plan != NULL) {
        struct plan p = {g, n.names, digest, workload->bad_row};
        kinds[workload->kind].plan(&p);
        return;
    }
    const char *words[10] = {NULL};
    for (uint32_t i = 0; kinds[workload->kind].words[i] != NULL; i++) {
        const char *word = kinds[workload->kind].words[i];
        words[i] = word[0] == '@' ? n.names[word[1] - '0'] : word;
    }
    struct test_job job;
    test_job_init(&job, words);
    struct glint_job_args args = {job.line.arguments, job.line.argument_count, &job.line};
    job.job->run(g, &args);
    test_job_fini(&job);
}

/* ---- Expected results */

struct expected {
    bool known;
    struct output outputs[OUTPUTS_MAX];
    uint64_t digest;
    uint32_t counter_count;
    char names[COUNTERS][NAME_BYTES_MAX];
    int64_t values[COUNTERS];
};

static struct expected expected[KINDS_MAX][SPLITS][PARTITIONS];

/* Counters of memory and transfers depend on which executor ran which task: not compared. */
static bool is_steady(const char *name)
{
    return strstr(name, "spill") == NULL && strstr(name, "shuffle") == NULL &&
           strstr(name, "broadcast") == NULL && strstr(name, "peak") == NULL;
}

static void note_counters(struct expected *e, const struct glint_summary *s)
{
    for (uint32_t i = 0; i < s->counter_count; i++) {
        if (!is_steady(s->counter_names[i])) continue;
        if (e->counter_count == COUNTERS) abort();
        snprintf(e->names[e->counter_count], NAME_BYTES_MAX, "%s", s->counter_names[i]);
        e->values[e->counter_count++] = s->counter_values[i];
    }
}

static struct context_config local_config(const struct context_config *like)
{
    struct context_config c = {.slots = 1,
                               .bad_rows_max = -1,
                               .split_bytes = like->split_bytes,
                               .partitions = like->partitions,
                               .memory_bytes = 64 * MIB};
    test_job_config(&c);
    c.modules = modules;
    return c;
}

/* Creates the inputs: rows, and the outputs of earlier jobs that some jobs read. */
static void make_inputs(void)
{
    static const char *const counts[] = {"count-keys", "in.tsv", "counts", NULL};
    static const char *const filters[] = {"bloom-build", "0.01",    "in.tsv",
                                          "counts",      "filters", NULL};
    static bool made;
    struct context_config config = {.slots = 1, .bad_rows_max = -1, .partitions = 5};
    if (made) return;
    made = true;
    scratch_ratings("in.tsv", ROWS);
    if (test_job_once(&config, counts, NULL) != 0 || test_job_once(&config, filters, NULL) != 0)
        abort();
}

static void run_alone(struct expected *e, uint32_t kind, const struct context_config *config)
{
    struct sim_workload workload = {.kind = kind, .step = 99};
    struct glint_error error = {.code = GLINT_OK};
    struct glint_summary summary;
    struct names n;
    struct glint *g = context_create(config, &error);
    if (g == NULL) abort();
    e->digest = kind;
    run_workload(g, &workload, &e->digest);
    if (glint_finish(g) != 0) {
        fprintf(stderr, "%s: %s\n", kinds[kind].name, glint_error(g)->cause);
        abort();
    }
    summary = *glint_summarize(g);
    note_counters(e, &summary);
    glint_destroy(g);
    name_outputs(&n, workload.step);
    for (uint32_t i = 0; i < kinds[kind].outputs; i++) {
        e->outputs[i] = output_read(n.names[i]);
        if (e->outputs[i].data == NULL) abort();
        scratch_remove(n.names[i]);
    }
    e->known = true;
}

static struct expected *expected_of(const struct sim *s, const struct sim_workload *workload)
{
    uint32_t split = 0, partitions = 0;
    while (split_bytes[split] != s->config.split_bytes) split++;
    while (partition_counts[partitions] != s->config.partitions) partitions++;
    struct expected *e = &expected[workload->kind][split][partitions];
    struct context_config config = local_config(&s->config);
    if (!e->known) run_alone(e, workload->kind, &config);
    return e;
}

void workloads_spoil(void)
{
    for (uint32_t i = 0; i < KINDS_MAX * SPLITS * PARTITIONS; i++) {
        struct expected *e = &(&expected[0][0][0])[i];
        if (e->known) e->outputs[0].data[0] ^= 1;
    }
}

void workloads_fini(void)
{
    for (uint32_t i = 0; i < KINDS_MAX * SPLITS * PARTITIONS; i++)
        for (uint32_t k = 0; k < OUTPUTS_MAX; k++) output_free(&(&expected[0][0][0])[i].outputs[k]);
}

/* ---- The workloads of a seed */

void workloads_choose(struct sim *s)
{
    make_inputs();
    s->config.split_bytes = split_bytes[sim_random(s, SPLITS)];
    s->config.partitions = partition_counts[sim_random(s, PARTITIONS)];
    s->config.modules = modules;
    s->config.jobs = jobs_table;
    s->workload_count = sim_chance(s, 2) ? 1 : 1 + (uint32_t)sim_random(s, WORKLOADS_MAX);
    for (uint32_t i = 0; i < s->workload_count; i++)
        s->workloads[i] =
            (struct sim_workload){.kind = (uint32_t)sim_random(s, KINDS_MAX), .step = i};
    if (s->lasting == LASTING_BAD_ROW) {
        struct sim_workload *w = &s->workloads[sim_random(s, s->workload_count)];
        *w = (struct sim_workload){JOBS + (uint32_t)sim_random(s, KINDS_MAX - JOBS), w->step, true};
    }
    for (uint32_t i = 0; i < s->workload_count; i++) expected_of(s, &s->workloads[i]);
}

void workloads_run(struct sim *s)
{
    for (uint32_t i = 0; i < s->workload_count; i++) {
        uint64_t digest = s->workloads[i].kind;
        run_workload(s->g, &s->workloads[i], &digest);
        s->digests[i] = digest;
    }
}

struct listing {
    uint32_t parts, others;
};

static int list_entry(void *arg, const char *name)
{
    struct listing *l = arg;
    uint32_t number;
    char rest = '\0';
    bool part = sscanf(name, "part-%5u%c", &number, &rest) >= 1;
    if (part && (rest != '.' || strstr(name, ".attempt-") == NULL))
        l->parts++;
    else if (strcmp(name, "_SUCCESS") != 0)
        l->others++;
    return 0;
}

/* Whether the output contains parts and _SUCCESS, and nothing else. */
static bool is_tidy(const char *output)
{
    struct listing l = {0, 0};
    return env_list_dir(env_real(), output, list_entry, &l) == 0 && l.parts > 0 && l.others == 0;
}

static void check_outputs(struct sim *s, const struct sim_workload *workload, bool well)
{
    const struct expected *e = expected_of(s, workload);
    struct names n;
    name_outputs(&n, workload->step);
    for (uint32_t i = 0; i < kinds[workload->kind].outputs; i++) {
        struct output found = output_read(n.names[i]);
        if (well && !output_same(&found, &e->outputs[i]))
            sim_fail(s, "%s: %s has wrong bytes", workloads_name(workload), n.names[i]);
        if (well && !is_tidy(n.names[i]))
            sim_fail(s, "%s: unexpected files in %s", workloads_name(workload), n.names[i]);
        if (!well && found.data != NULL)
            sim_fail(s, "%s: a failed job left %s", workloads_name(workload), n.names[i]);
        output_free(&found);
        scratch_remove(n.names[i]);
    }
    if (well && s->digests[workload->step] != e->digest)
        sim_fail(s, "%s: wrong results", workloads_name(workload));
}

static int64_t wanted_value(const struct sim *s, const char *name)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < s->workload_count; i++) {
        const struct expected *e = expected_of(s, &s->workloads[i]);
        for (uint32_t k = 0; k < e->counter_count; k++)
            if (strcmp(e->names[k], name) == 0) sum += e->values[k];
    }
    return sum;
}

/* Each task must be counted once, however often it ran. */
static void check_counters(struct sim *s, const struct glint_summary *summary)
{
    for (uint32_t i = 0; i < summary->counter_count; i++) {
        const char *name = summary->counter_names[i];
        int64_t wanted = is_steady(name) ? wanted_value(s, name) : 0;
        if (is_steady(name) && summary->counter_values[i] != wanted)
            sim_fail(s, "counter %s is %lld, expected %lld", name,
                     (long long)summary->counter_values[i], (long long)wanted);
    }
}

void workloads_check(struct sim *s, enum glint_code code, const struct glint_summary *summary)
{
    if (code == GLINT_OK) check_counters(s, summary);
    for (uint32_t i = 0; i < s->workload_count; i++)
        check_outputs(s, &s->workloads[i], code == GLINT_OK);
}
