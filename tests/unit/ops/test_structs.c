/* Values that are structs: aligned in every callback, and of the right size. */
#include "tests/unit/ops/harness.h"

#include "engine/batch.h"
#include "engine/driver/driver.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(structs, .init = scratch_open, .fini = scratch_close);

enum { ROWS = 3000, KEYS = 101 };

/* Its size is no multiple of 8. */
struct point {
    int64_t x;
    int32_t y[3];
};
#define POINT_BYTES sizeof(struct point)

static struct point point_of(int64_t i)
{
    struct point p;
    memset(&p, 0, sizeof p);
    p.x = i;
    p.y[0] = p.y[1] = p.y[2] = (int32_t)(i % 7);
    return p;
}

static const struct point *aligned(struct glint_slice bytes)
{
    const struct point *p = (const void *)bytes.data;
    if (((uintptr_t)p & 7) != 0 || bytes.size != POINT_BYTES) abort();
    return p;
}

/* Keys of 1 to 3 bytes move the values to any address. */
static int make(struct glint_task *task, void *state, const struct glint_record *in,
                struct glint_emitter *out)
{
    (void)task, (void)state;
    const struct point p = point_of(in->value.i64);
    char key[8];
    const int size = snprintf(key, sizeof key, "%d", (int)(in->value.i64 % KEYS));
    glint_emit(out, &(struct glint_record){.key.bytes = {(const uint8_t *)key, (uint64_t)size},
                                           .value.bytes = {(const uint8_t *)&p, sizeof p}});
    return 0;
}

static int keep(struct glint_task *task, void *state, const struct glint_record *in)
{
    (void)task, (void)state;
    return aligned(in->value.bytes)->x >= 0;
}

static int add(struct glint_task *task, void *state, struct glint_acc *acc,
               const union glint_value *value)
{
    (void)task, (void)state;
    const struct point *p = aligned(value->bytes);
    struct point *sum = (struct point *)(uintptr_t)aligned(acc->value.bytes);
    sum->x += p->x;
    sum->y[2] += p->y[2];
    return 0;
}

static int create(struct glint_task *task, void *state, struct glint_acc *acc,
                  const union glint_value *value)
{
    if (glint_acc_zero(task, acc, POINT_BYTES) == NULL) return GLINT_E_NO_MEMORY;
    return add(task, state, acc, value);
}

static int x_of(struct glint_task *task, void *state, const struct glint_record *in,
                struct glint_emitter *out)
{
    (void)task, (void)state;
    glint_emit(out, &(struct glint_record){.value.i64 = aligned(in->value.bytes)->x});
    return 0;
}

static int begin(struct glint_task *task, void *state, const union glint_value *key)
{
    (void)task, (void)key;
    *(int64_t *)state = 0;
    return 0;
}
static int add_x(struct glint_task *task, void *state, const struct glint_record *in,
                 struct glint_emitter *out)
{
    (void)task, (void)out;
    *(int64_t *)state += aligned(in->value.bytes)->x;
    return 0;
}
static int end(struct glint_task *task, void *state, const union glint_value *key,
               struct glint_emitter *out)
{
    (void)task, (void)key;
    glint_emit(out, &(struct glint_record){.value.i64 = *(int64_t *)state});
    return 0;
}

static int short_value(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    (void)task, (void)state, (void)in;
    glint_emit(out, &(struct glint_record){.key.bytes = {(const uint8_t *)"k", 1},
                                           .value.bytes = {(const uint8_t *)"1234567", 7}});
    return 0;
}

#define POINT GLINT_STRUCT(struct point)
static const struct glint_function makes =
    GLINT_MAP("structs.make", GLINT_ELEMENTS(GLINT_I64), GLINT_PAIRS(GLINT_TEXT, POINT), make);
static const struct glint_function keeps =
    GLINT_FILTER("structs.keep", GLINT_PAIRS(GLINT_TEXT, POINT), keep);
static const struct glint_function adds = GLINT_REDUCE("structs.add", POINT, add);
static const struct glint_function aggregates =
    GLINT_AGGREGATE("structs.aggregate", POINT, POINT, create, add, add);
static const struct glint_function gets_x = GLINT_MAP("structs.x", GLINT_PAIRS(GLINT_TEXT, POINT),
                                                      GLINT_PAIRS(GLINT_SAME, GLINT_I64), x_of);
static const struct glint_function groups = GLINT_GROUP(
    "structs.group", GLINT_PAIRS(GLINT_TEXT, POINT), GLINT_PAIRS(GLINT_SAME, GLINT_I64),
    .begin_group = begin, .each = add_x, .end_group = end, .state_size = sizeof(int64_t));
/* Says that it emits bytes, or a struct. */
static const struct glint_function emits_bytes = GLINT_MAP(
    "structs.bytes", GLINT_ELEMENTS(GLINT_I64), GLINT_PAIRS(GLINT_TEXT, GLINT_BYTES), short_value);
static const struct glint_function emits_wrong = GLINT_MAP(
    "structs.wrong", GLINT_ELEMENTS(GLINT_I64), GLINT_PAIRS(GLINT_TEXT, POINT), short_value);
static const struct glint_function struct_key =
    GLINT_MAP("structs.key", GLINT_ELEMENTS(GLINT_I64), GLINT_PAIRS(POINT, GLINT_I64), short_value);
struct large {
    char bytes[1 << 20];
};
static const struct glint_function large_value =
    GLINT_MAP("structs.large", GLINT_ELEMENTS(GLINT_I64),
              GLINT_PAIRS(GLINT_TEXT, GLINT_STRUCT(struct large)), short_value);

static const struct glint_function *const functions[] = {
    &makes,       &keeps,       &adds,       &aggregates,  &gets_x, &groups,
    &emits_bytes, &emits_wrong, &struct_key, &large_value, NULL};
static const struct glint_module module = {"structs", functions};
static const struct glint_module *const modules[] = {&ops_module, &module, NULL};

static struct glint *open_context(void)
{
    const struct context_config config = {
        .slots = 2, .bad_rows_max = -1, .ops = ops_table, .modules = modules};
    struct glint_error error;
    struct glint *g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    return g;
}

static struct glint_rdd *numbers(struct glint *g)
{
    static struct glint_record records[ROWS];
    for (int64_t i = 0; i < ROWS; i++) records[i].value.i64 = i;
    return glint_parallelize(g, (struct glint_schema){GLINT_NONE, GLINT_I64}, records, ROWS, 5);
}

static void expect_sums(struct glint_rdd *sums, struct glint *g)
{
    struct glint_rows rows;
    cr_assert_eq(glint_collect(sums, &rows), 0, "%s", glint_error(g)->cause);
    cr_assert_eq(rows.count, KEYS);
    int64_t all = 0;
    for (uint64_t i = 0; i < rows.count; i++) all += glint_rows_at(&rows, i).value.i64;
    cr_expect_eq(all, (int64_t)ROWS * (ROWS - 1) / 2);
    glint_rows_free(&rows);
}

Test(structs, are_aligned_in_every_callback)
{
    struct glint *g = open_context();
    struct glint_rdd *points = glint_filter(glint_map(numbers(g), &makes, NULL), &keeps, NULL);
    expect_sums(glint_map_values(glint_reduce_by_key(points, &adds, NULL), &gets_x, NULL), g);
    expect_sums(glint_map_values(glint_combine_by_key(points, &aggregates, NULL), &gets_x, NULL),
                g);
    expect_sums(glint_map_values(glint_group_by_key(points), &groups, NULL), g);
    struct glint_rows rows;
    cr_assert_eq(glint_reduce(points, &adds, NULL, &rows), 0, "%s", glint_error(g)->cause);
    struct point sum;
    memcpy(&sum, glint_rows_at(&rows, 0).value.bytes.data, sizeof sum);
    cr_expect_eq(sum.x, (int64_t)ROWS * (ROWS - 1) / 2);
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
}

static void expect_error(struct glint *g, struct glint_rdd *rdd, enum glint_code code,
                         const char *cause)
{
    int64_t rows;
    cr_expect_eq(glint_count(rdd, &rows), code);
    cr_expect_not_null(strstr(glint_error(g)->cause, cause), "%s", glint_error(g)->cause);
    fixture_close(g, code);
}

Test(structs, value_of_another_size_fails_the_job)
{
    static const struct glint_function *const takers[] = {&gets_x, &keeps, &groups, &adds,
                                                          &aggregates};
    for (int i = 0; i < 5; i++) {
        struct glint *g = open_context();
        struct glint_rdd *bytes = glint_map(numbers(g), &emits_bytes, NULL);
        struct glint_rdd *taken = i == 0   ? glint_map_values(bytes, takers[i], NULL)
                                  : i == 1 ? glint_filter(bytes, takers[i], NULL)
                                  : i == 2
                                      ? glint_map_values(glint_group_by_key(bytes), takers[i], NULL)
                                  : i == 3 ? glint_reduce_by_key(bytes, takers[i], NULL)
                                           : glint_combine_by_key(bytes, takers[i], NULL);
        char cause[128];
        snprintf(cause, sizeof cause, "%s takes structs of 24 bytes, and a value has 7",
                 takers[i]->name);
        expect_error(g, taken, GLINT_E_FUNCTION_FAILED, cause);
    }
    struct glint *g = open_context();
    const union glint_value zero = {.bytes = {(const uint8_t *)"12345678", 8}};
    struct glint_rdd *points = glint_map(numbers(g), &makes, NULL);
    expect_error(g, glint_fold_by_key(points, zero, &adds, NULL), GLINT_E_FUNCTION_FAILED,
                 "structs.add takes structs of 24 bytes, and a value has 8");
}

Test(structs, emitted_value_of_another_size_fails_the_job)
{
    struct glint *g = open_context();
    expect_error(g, glint_map(numbers(g), &emits_wrong, NULL), GLINT_E_FUNCTION_FAILED,
                 "structs.wrong emitted a value of 7 bytes, and its structs have 24");
}

Test(structs, keys_and_large_structs_are_rejected)
{
    static const struct glint_function *const wrong[] = {&struct_key, &large_value};
    for (int i = 0; i < 2; i++) {
        struct glint *g = open_context();
        expect_error(g, glint_map(numbers(g), wrong[i], NULL), GLINT_E_PLAN_TYPE,
                     "has a GLINT_STRUCT as a key, or one of more than 1048575 bytes");
    }
}
