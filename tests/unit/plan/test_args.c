/* Arguments of functions: encoded by a job, read in a function's open callback, and only with the
 * right type. */
#include "engine/records/task.h"
#include "tests/unit/plan/fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct glint g;
static struct glint_task task;
static int64_t live;

static void open_plan(void)
{
    live = mem_live_blocks();
    plan_open(&g);
    task = (struct glint_task){.partition = 0};
}

static void close_plan(void)
{
    arena_fini(&task.arena);
    context_fini(&g);
    cr_expect_eq(mem_live_blocks(), live);
}

TestSuite(args, .init = open_plan, .fini = close_plan);

static int find_broadcast(void *arg, uint64_t id, struct glint_slice *out)
{
    const struct glint_broadcast *b = arg;
    if (id != b->id) return -1;
    *out = (struct glint_slice){b->data, b->size};
    return 0;
}

Test(args, every_type_round_trips)
{
    static const int64_t numbers[] = {0, 1, -1, 127, 128, -32, -33, INT64_MAX, INT64_MIN, 1 << 20};
    char name[16];
    void *value = glint_alloc(&g, 5);
    memcpy(value, "large", 5);
    struct glint_broadcast *b = glint_broadcast(&g, value, 5);
    struct glint_args *args = glint_args(&g);
    for (int i = 0; i < 10; i++) {
        name[0] = (char)('a' + i);
        name[1] = '\0';
        glint_args_add_i64(args, name, numbers[i]);
    }
    glint_args_add_f64(args, "f", 2.5);
    glint_args_add_f64(args, "ratio", -0.25);
    glint_args_add_bytes(args, "bytes", "a\0b", 3);
    glint_args_add_text(args, "text", "");
    glint_args_add_broadcast(args, "sizes", b);
    task.args = args_encode(&g, NULL, args, NULL);
    task.broadcast = find_broadcast;
    task.broadcast_arg = b;
    for (int i = 0; i < 10; i++) {
        int64_t number = 99;
        name[0] = (char)('a' + i);
        name[1] = '\0';
        if (i == 5) continue; /* "f" is set twice: the first value is used */
        cr_expect_eq(glint_arg_i64(&task, name, &number), 0);
        cr_expect_eq(number, numbers[i]);
    }
    double ratio = 0;
    struct glint_slice bytes;
    cr_expect(glint_arg_f64(&task, "ratio", &ratio) == 0 && ratio == -0.25);
    cr_expect(glint_arg_slice(&task, "bytes", &bytes) == 0 && bytes.size == 3);
    cr_expect_eq(memcmp(bytes.data, "a\0b", 3), 0);
    cr_expect(glint_arg_slice(&task, "text", &bytes) == 0 && bytes.size == 0);
    cr_expect(glint_arg_broadcast(&task, "sizes", &bytes) == 0 && bytes.data == value);
    cr_expect_eq(task.error.code, GLINT_OK);
}

static void expect_missing(int returned)
{
    cr_expect_eq(returned, GLINT_E_PLAN_ARGUMENT);
    cr_expect_eq(task.error.code, GLINT_E_PLAN_ARGUMENT);
    task.error.code = GLINT_OK;
}

Test(args, wrong_type_is_rejected)
{
    int64_t i64;
    double f64;
    struct glint_slice slice;
    struct glint_args *args = glint_args(&g);
    glint_args_add_i64(args, "i", 1);
    glint_args_add_f64(args, "f", 1);
    glint_args_add_text(args, "t", "1");
    task.args = args_encode(&g, NULL, args, NULL);
    expect_missing(glint_arg_i64(&task, "f", &i64));
    expect_missing(glint_arg_i64(&task, "t", &i64));
    expect_missing(glint_arg_f64(&task, "i", &f64));
    expect_missing(glint_arg_slice(&task, "i", &slice));
    expect_missing(glint_arg_broadcast(&task, "t", &slice));
    expect_missing(glint_arg_i64(&task, "", &i64));
    expect_missing(glint_arg_i64(&task, "ii", &i64));
    task.args = args_encode(&g, NULL, NULL, NULL);
    expect_missing(glint_arg_i64(&task, "i", &i64));
    task.args = (struct glint_slice){NULL, 0};
    expect_missing(glint_arg_i64(&task, "i", &i64));
}

Test(args, damaged_bytes_read_as_missing_arguments)
{
    struct glint_args *args = glint_args(&g);
    glint_args_add_i64(args, "number", 1000);
    glint_args_add_text(args, "text", "some text");
    struct glint_slice good = args_encode(&g, NULL, args, NULL);
    uint8_t *bad = mem_alloc(good.size);
    for (uint64_t i = 0; i < good.size * 8; i++) {
        int64_t number;
        struct glint_slice slice;
        memcpy(bad, good.data, good.size);
        bad[i / 8] ^= (uint8_t)(1 << i % 8);
        task.args = (struct glint_slice){bad, good.size};
        glint_arg_i64(&task, "number", &number);
        glint_arg_slice(&task, "text", &slice);
        task.error.code = GLINT_OK;
        task.args.size = i / 8;
        expect_missing(glint_arg_i64(&task, "number", &number));
    }
    mem_free(bad);
}

Test(args, large_value_is_rejected_before_copying)
{
    struct glint_args *args = glint_args(&g);
    glint_args_add_bytes(args, "big", "not read", UINT64_MAX);
    cr_expect_eq(g.error.code, GLINT_E_PLAN_LIMIT);
}

Test(args, too_many_bytes_are_rejected)
{
    static const char value[64 * 1024];
    struct glint_args *args = glint_args(&g);
    for (int i = 0; i < 17; i++) glint_args_add_bytes(args, "v", value, sizeof value);
    cr_expect_eq(g.error.code, GLINT_E_PLAN_LIMIT);
}

Test(args, failed_context_accepts_no_arguments)
{
    glint_abort(&g, GLINT_E_USAGE, NULL, "failed");
    struct glint_args *args = glint_args(&g);
    glint_args_add_i64(args, "i", 1);
    glint_args_add_i64(NULL, "i", 1);
    cr_expect(args == NULL || args->count == 0);
}

Test(args, broadcast_size_is_limited)
{
    cr_expect_null(glint_broadcast(&g, glint_alloc(&g, 1), (uint64_t)1 << 33));
    cr_expect_eq(g.error.code, GLINT_E_VALUE_LIMIT);
    cr_expect_null(glint_broadcast(&g, NULL, 0));
}

Test(args, broadcast_copy_keeps_the_value)
{
    char value[5] = "abcd";
    struct glint_broadcast *b = glint_broadcast_copy(&g, value, sizeof value);
    memset(value, 'x', sizeof value);
    cr_assert_not_null(b);
    cr_expect_eq(b->size, 5);
    cr_expect_str_eq(b->data, "abcd");
    b = glint_broadcast_copy(&g, NULL, 0);
    cr_assert_not_null(b);
    cr_expect_eq(b->size, 0);
    mem_fail_at(1, false);
    cr_expect_null(glint_broadcast_copy(&g, value, sizeof value));
    mem_fail_at(0, false);
    cr_expect_eq(g.error.code, GLINT_E_NO_MEMORY);
}

Test(args, broadcast_copy_size_is_limited)
{
    cr_expect_null(glint_broadcast_copy(&g, "", (uint64_t)1 << 33));
    cr_expect_eq(g.error.code, GLINT_E_VALUE_LIMIT);
}

Test(args, bound_bytes_begin_the_state)
{
    const uint8_t bound[3] = {7, 0, 9};
    uint8_t state[5] = {1, 1, 1, 0, 0};
    const struct glint_function fn = {.name = "test.bound", .state_size = sizeof state};
    struct glint_args *args = glint_bind(&g, bound, sizeof bound);
    glint_args_add_i64(args, "more", 4);
    struct glint_slice encoded = args_encode(&g, NULL, args, &fn);
    cr_assert_eq(args_copy_bound(&task, &fn, encoded, state), 0);
    cr_expect_eq(memcmp(state, (const uint8_t[5]){7, 0, 9}, sizeof state), 0);
    cr_assert_eq(args_copy_bound(&task, &fn, args_encode(&g, NULL, NULL, &fn), state), 0);
    const struct glint_function small = {.name = "test.small", .state_size = 2};
    cr_expect_eq(args_copy_bound(&task, &small, encoded, state), GLINT_E_PROTOCOL);
    cr_expect_null(args_encode(&g, NULL, args, &small).data);
    cr_expect_eq(g.error.code, GLINT_E_PLAN_ARGUMENT);
    cr_expect_str_eq(g.error.cause, "3 bytes are bound to test.small, whose state has 2");
}

Test(args, memory_of_the_context_outlives_a_scope)
{
    glint_begin_scope(&g);
    uint8_t *kept = glint_context_alloc(&g, 3);
    memcpy(kept, "abc", 3);
    glint_end_scope(&g, NULL);
    cr_expect_arr_eq(kept, "abc", 3);
    mem_fail_at(1, true);
    cr_expect_null(glint_context_alloc(&g, 1 << 20));
    mem_fail_at(0, false);
    cr_expect_eq(glint_error(&g)->code, GLINT_E_NO_MEMORY);
}
