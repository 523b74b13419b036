/* saveAsTextFiles: several outputs in one pass. */
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(save_files, .init = scratch_open, .fini = scratch_close);

enum { ROWS = 5000, PARTITIONS = 3, OUTPUTS = 4 };

static uint64_t long_bytes(uint64_t row)
{
    return row % 1000 == 7 ? 300000 : row % 40; /* the long ones exceed the write buffer */
}

/* Row i belongs to output i^2 mod 4, which is 0 or 1: the other outputs get no rows. */
static struct table rows_make(void)
{
    static char line[300000];
    struct table t = {.schema = {GLINT_I64, GLINT_TEXT}};
    for (uint64_t i = 0; i < sizeof line; i++) line[i] = (char)('a' + i % 26);
    for (uint64_t i = 0; i < ROWS; i++)
        table_add(&t, number((int64_t)(i * i % OUTPUTS)), bytes(line + i % 26, long_bytes(i) / 2));
    return t;
}

static void paths_make(char out[OUTPUTS][PATH_BYTES], const char *paths[OUTPUTS])
{
    for (int i = 0; i < OUTPUTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "out%d", i);
        paths[i] = scratch_path(name, out[i]);
    }
}

/* The expected contents of part `part` of output `output`. */
static struct buffer part_expected(const struct table *t, int output, uint64_t part)
{
    struct buffer b = {NULL, 0, 0};
    for (uint64_t i = ROWS * part / PARTITIONS; i < ROWS * (part + 1) / PARTITIONS; i++) {
        if (t->rows[i].key.i64 != output) continue;
        cr_assert(buffer_append(&b, t->rows[i].value.bytes.data, t->rows[i].value.bytes.size));
        cr_assert(buffer_append(&b, "\n", 1));
    }
    return b;
}

static void expect_output(const struct table *t, int output, const char *fixture)
{
    for (uint64_t part = 0; part < PARTITIONS; part++) {
        char name[64];
        snprintf(name, sizeof name, "out%d/part-%05llu", output, (unsigned long long)part);
        struct buffer got = scratch_read(name), expected = part_expected(t, output, part);
        cr_assert(got.size == expected.size &&
                      (got.size == 0 || memcmp(got.data, expected.data, got.size) == 0),
                  "%s in %s", name, fixture);
        cr_expect_eq(got.size == 0, output > 1);
        buffer_fini(&got);
        buffer_fini(&expected);
    }
}

Test(save_files, each_output_gets_its_rows_in_order)
{
    struct table t = rows_make();
    char out[OUTPUTS][PATH_BYTES];
    const char *paths[OUTPUTS];
    paths_make(out, paths);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct glint_rdd *rdd = glint_parallelize(g, t.schema, t.rows, t.count, PARTITIONS);
        cr_assert_eq(glint_save_as_text_files(rdd, paths, OUTPUTS), 0);
        cr_expect_eq(glint_counter_value(g, "rows written"), ROWS);
        fixture_close(g, GLINT_OK);
        for (int i = 0; i < OUTPUTS; i++) {
            expect_output(&t, i, w->name);
            scratch_remove(strrchr(paths[i], '/') + 1);
        }
    }
    table_free(&t);
}

/* Values that are not texts are formatted as by saveAsTextFile. */
Test(save_files, numbers_are_printed)
{
    const struct glint_record rows[] = {{number(1), real(0.5)}, {number(0), real(1e16)}};
    char out[OUTPUTS][PATH_BYTES];
    const char *paths[OUTPUTS];
    paths_make(out, paths);
    struct glint *g = fixture_open(&fixtures[0]);
    struct glint_schema schema = {GLINT_I64, GLINT_F64};
    cr_assert_eq(glint_save_as_text_files(glint_parallelize(g, schema, rows, 2, 1), paths, 2), 0);
    fixture_close(g, GLINT_OK);
    struct buffer a = scratch_read("out0/part-00000"), b = scratch_read("out1/part-00000");
    cr_expect(a.size == 6 && memcmp(a.data, "1e+16\n", 6) == 0);
    cr_expect(b.size == 4 && memcmp(b.data, "0.5\n", 4) == 0);
    buffer_fini(&a);
    buffer_fini(&b);
}

/* An error leaves no output, and a mistake in the plan fails before anything runs. */
static void expect_rejected(enum glint_type key, int64_t number_of_output, uint32_t count,
                            enum glint_code code, const char *cause)
{
    const struct glint_record rows[] = {{number(0), text("a")},
                                        {number(number_of_output), text("b")}};
    char out[OUTPUTS][PATH_BYTES];
    const char *paths[ACTION_OUTPUTS_MAX + 1];
    paths_make(out, paths);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct glint_schema schema = {key, GLINT_TEXT};
        struct glint_rdd *rdd = glint_parallelize(g, schema, rows, 2, 2);
        cr_expect_eq(glint_save_as_text_files(rdd, paths, count), code);
        cr_expect_not_null(strstr(glint_error(g)->cause, cause), "%s", glint_error(g)->cause);
        fixture_close(g, code);
    }
}

Test(save_files, misuse_is_rejected)
{
    expect_rejected(GLINT_I64, 2, 2, GLINT_E_FUNCTION_FAILED,
                    "for output 2, but there are 2 outputs");
    expect_rejected(GLINT_I64, -1, 4, GLINT_E_FUNCTION_FAILED, "for output -1");
    expect_rejected(GLINT_I64, INT64_MIN, 4, GLINT_E_FUNCTION_FAILED,
                    "for output -9223372036854775808");
    expect_rejected(GLINT_F64, 0, 2, GLINT_E_PLAN_TYPE, "the key must be the number");
    expect_rejected(GLINT_I64, 0, 0, GLINT_E_PLAN_LIMIT, "0 outputs");
    expect_rejected(GLINT_I64, 0, ACTION_OUTPUTS_MAX + 1, GLINT_E_PLAN_LIMIT, "17 outputs");
}

Test(save_files, max_outputs_are_written)
{
    struct glint_record rows[ACTION_OUTPUTS_MAX];
    char name[32], out[ACTION_OUTPUTS_MAX][PATH_BYTES];
    const char *paths[ACTION_OUTPUTS_MAX];
    for (uint32_t i = 0; i < ACTION_OUTPUTS_MAX; i++) {
        snprintf(name, sizeof name, "out%u", i);
        paths[i] = scratch_path(name, out[i]);
        rows[i] = (struct glint_record){number(ACTION_OUTPUTS_MAX - 1 - i), text("x")};
    }
    struct glint *g = fixture_open(&fixtures[2]);
    struct glint_schema schema = {GLINT_I64, GLINT_TEXT};
    struct glint_rdd *rdd = glint_parallelize(g, schema, rows, ACTION_OUTPUTS_MAX, 1);
    cr_assert_eq(glint_save_as_text_files(rdd, paths, ACTION_OUTPUTS_MAX), 0);
    fixture_close(g, GLINT_OK);
    for (uint32_t i = 0; i < ACTION_OUTPUTS_MAX; i++) {
        snprintf(name, sizeof name, "out%u/part-00000", i);
        struct buffer got = scratch_read(name);
        cr_expect(got.size == 2 && memcmp(got.data, "x\n", 2) == 0, "%s", name);
        buffer_fini(&got);
    }
}
