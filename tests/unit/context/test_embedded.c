/* A program that embeds glint through the public header: its context, its plan, its action. */
#include "engine/glint.h"

#include <criterion/criterion.h>

enum { RECORDS = 1000, KEYS = 7 };

static const struct glint_module *const modules[] = {&ops_module, NULL};

Test(embedded, public_header_is_sufficient)
{
    struct glint_config config = {
        .slots = 2, .bad_rows_max = -1, .ops = ops_table, .modules = modules};
    struct glint_error error;
    struct glint *g = glint_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
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
    glint_rows_free(&rows);
    cr_expect_eq(glint_finish(g), GLINT_OK);
    glint_destroy(g);
}

/* An invalid setting is an error of glint_create. */
Test(embedded, invalid_setting_is_reported)
{
    struct glint_config config = {.memory_bytes = 1, .ops = ops_table, .modules = modules};
    struct glint_error error;
    cr_assert_null(glint_create(&config, &error));
    cr_expect_eq(error.code, GLINT_E_MEMORY_LIMIT);
    cr_expect_neq(error.cause[0], 0);
}
