/* A program that embeds glint through the public header: its settings, its context, its action. */
#include "engine/glint.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { RECORDS = 1000, KEYS = 7 };

static struct glint *create(struct glint_config *config)
{
    struct glint_error error;
    struct glint *g = glint_create(config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    return g;
}

static void check_sums(struct glint *g)
{
    struct glint_record records[RECORDS];
    int64_t sums[KEYS] = {0};
    for (int64_t i = 0; i < RECORDS; i++) {
        records[i] = (struct glint_record){.key.i64 = i % KEYS, .value.i64 = i};
        sums[i % KEYS] += i;
    }
    struct glint_schema schema = {GLINT_I64, GLINT_I64};
    struct glint_rdd *rdd = glint_parallelize(g, schema, records, RECORDS, 4);
    struct glint_rows rows = {.count = 0};
    cr_assert_eq(glint_collect(glint_reduce_by_key(rdd, &GLINT_SUM_I64, NULL), &rows), 0);
    cr_assert_eq(rows.count, KEYS);
    for (int64_t k = 0; k < KEYS; k++) {
        struct glint_record row = glint_rows_at(&rows, (uint64_t)k);
        cr_expect(row.key.i64 == k && row.value.i64 == sums[k]);
    }
    struct glint_record last[2];
    glint_rows_records(&rows, KEYS - 2, 2, last);
    cr_expect(last[0].key.i64 == KEYS - 2 && last[1].value.i64 == sums[KEYS - 1]);
    glint_rows_free(&rows);
    cr_expect_eq(glint_summarize(g)->stages, 2);
}

/* One context after the other may have the same settings. */
Test(embedded, public_header_is_sufficient)
{
    struct glint_config *config = glint_config_create();
    cr_assert_not_null(config);
    cr_expect_eq(glint_config_set(config, "master", "local[2]"), 0);
    cr_expect_eq(glint_config_set(config, "no-sync", NULL), 0);
    cr_expect_eq(glint_config_set_name(config, "sums"), 0);
    for (int i = 0; i < 2; i++) {
        struct glint *g = create(config);
        check_sums(g);
        cr_expect_eq(glint_finish(g), GLINT_OK);
        glint_destroy(g);
    }
    glint_config_destroy(config);
}

static int is_even(struct glint_task *task, void *state, const struct glint_record *in)
{
    (void)task, (void)state;
    return in->value.i64 % 2 == 0;
}
static const struct glint_function even =
    GLINT_FILTER("test.even", GLINT_ELEMENTS(GLINT_I64), is_even);
static const struct glint_function *const functions[] = {&even, NULL};

struct notes {
    int count;
    char last[64];
};

static void keep_note(void *arg, const char *line)
{
    struct notes *notes = arg;
    notes->count++;
    snprintf(notes->last, sizeof notes->last, "%s", line);
}

Test(embedded, functions_and_notes_of_the_program)
{
    struct notes notes = {.count = 0};
    int64_t count = 0;
    struct glint_config *config = glint_config_create();
    glint_config_set_functions(config, functions);
    glint_config_set_note(config, keep_note, &notes);
    struct glint *g = create(config);
    struct glint_record records[] = {{.value.i64 = 1}, {.value.i64 = 2}, {.value.i64 = 4}};
    struct glint_schema schema = {GLINT_NONE, GLINT_I64};
    struct glint_rdd *rdd = glint_parallelize(g, schema, records, 3, 2);
    cr_expect_eq(glint_count(glint_filter(rdd, &even, NULL), &count), 0);
    cr_expect_eq(count, 2);
    for (int i = 0; i < 2; i++) glint_note(g, "hello %d", 5);
    cr_expect(notes.count == 2 && strcmp(notes.last, "hello 5") == 0);
    for (int i = 0; i < 4; i++) glint_warn(g, "hello %d", i / 2); /* each text once */
    cr_expect(notes.count == 4 && strcmp(notes.last, "warning: hello 1") == 0);
    glint_destroy(g);
    glint_config_destroy(config);
}

static void check_progress(void *arg, const struct glint_progress *p)
{
    uint32_t *ends = arg;
    if (p->action_ended) {
        ends[1]++;
        return;
    }
    cr_expect_str_eq(p->name, "parallelize..count");
    cr_expect_eq(p->tasks, 2);
    cr_expect(p->tasks_done <= 2 && (!p->stage_ended || p->tasks_done == 2));
    ends[0] += p->stage_ended;
}

Test(embedded, progress)
{
    uint32_t ends[2] = {0, 0};
    int64_t count = 0;
    struct glint_config *config = glint_config_create();
    glint_config_set_progress(config, check_progress, ends);
    struct glint *g = create(config);
    const struct glint_record records[] = {{.value.i64 = 1}, {.value.i64 = 2}};
    struct glint_rdd *rdd =
        glint_parallelize(g, (struct glint_schema){GLINT_NONE, GLINT_I64}, records, 2, 2);
    cr_expect_eq(glint_count(rdd, &count), 0);
    cr_expect_eq(count, 2);
    cr_expect(ends[0] >= 1 && ends[1] == 1);
    glint_destroy(g);
    glint_config_destroy(config);
}

static void expect_invalid(const char *option, const char *value, enum glint_code code,
                           const char *cause)
{
    struct glint_error error;
    struct glint_config *config = glint_config_create();
    cr_assert_not_null(config);
    glint_config_set(config, "master", "local[1]");
    glint_config_set(config, option, value);
    cr_expect_null(glint_create(config, &error));
    cr_expect_eq(error.code, code);
    cr_expect_str_eq(error.cause, cause);
    glint_config_destroy(config);
}

Test(embedded, invalid_setting_is_an_error_of_create)
{
    expect_invalid("memory", "2M", GLINT_E_MEMORY_LIMIT, "1 slots need at least 16.0 MiB");
    expect_invalid("memroy", "2M", GLINT_E_UNKNOWN_OPTION, "a context has no setting memroy");
    expect_invalid("json", NULL, GLINT_E_UNKNOWN_OPTION, "a context has no setting json");
    expect_invalid("overwrite", "yes", GLINT_E_BAD_VALUE,
                   "the setting overwrite is a switch: its value must be NULL");
    expect_invalid("master", "mesos", GLINT_E_BAD_VALUE,
                   "the setting master=mesos: it must be local[*], or local[N] with N from 1 "
                   "to 256");
    expect_invalid("partitions", NULL, GLINT_E_BAD_VALUE,
                   "the setting partitions=: it must be a whole number from 1 to 100000");
    expect_invalid("max-bad-rows", "3", GLINT_E_USAGE,
                   "--max-bad-rows has no effect: without --bad-rows skip the first bad row fails "
                   "the job");
}
