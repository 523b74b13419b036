/* Input from other processes is validated: parameters and records that our driver and shuffle
 * cannot produce are errors. Each operator is called as a pipeline calls it. */
#include "engine/batch.h"
#include "ops/ops.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

TestSuite(op_validation);

extern const struct op op_side, op_join_pairs, op_subtract_by_key_left, op_record_pack,
    op_zip_with_index;

struct trial {
    struct test_task t;
    struct glint_emitter out;
    void *state;
    uint64_t rows; /* output rows */
};

static enum flow take(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    (void)out;
    *(uint64_t *)state += batch->rows;
    return FLOW_MORE;
}

static int open_op(struct trial *x, const struct op *op, const char *params, uint64_t size,
                   struct glint_schema in, struct glint_schema out)
{
    test_task_init(&x->t, SLOT_MEMORY_BYTES_MIN);
    x->state = mem_zalloc(op->state_size);
    x->rows = 0;
    emitter_init(&x->out, &x->t.task, out, take, &x->rows, NULL);
    const struct op_open o = {
        .task = &x->t.task, .params = {(const uint8_t *)params, size}, .in = in, .out = out};
    return op->open(x->state, &o);
}

static void close_op(struct trial *x, const struct op *op)
{
    if (op->close != NULL) op->close(x->state);
    mem_free(x->state);
    cr_expect(test_task_fini(&x->t));
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(op_validation, invalid_parameters_are_rejected)
{
    static const char *const bad[] = {
        "", "\x90", "\xc0", "\x91\x01", "\x92\x05\x05", "\x92\xc0\x01", "\x93\x01\x01\x01"};
    static const struct op *const ops[] = {&op_side, &op_join_pairs, &op_record_pack,
                                           &op_zip_with_index};
    const struct glint_schema pairs = {GLINT_I64, GLINT_MSGPACK};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
            struct trial x;
            cr_expect_eq(open_op(&x, ops[k], bad[i], strlen(bad[i]), pairs, pairs),
                         GLINT_E_PROTOCOL, "%s, %zu", ops[k]->name, i);
            close_op(&x, ops[k]);
        }
    const struct glint_schema numbers = {GLINT_I64, GLINT_I64};
    struct trial x;
    cr_expect_eq(open_op(&x, &op_join_pairs, "\x92\x00\x00", 3, numbers, pairs), GLINT_E_PROTOCOL);
    close_op(&x, &op_join_pairs);
    cr_expect_eq(open_op(&x, &op_subtract_by_key_left, "", 0, numbers, pairs), GLINT_E_PROTOCOL);
    close_op(&x, &op_subtract_by_key_left);
}

/* The parameters contain the first index of one partition, but the task runs another. */
Test(op_validation, missing_zip_index_is_rejected)
{
    const char params[] = "\x91\xc4\x08\x07\0\0\0\0\0\0\0";
    const struct glint_schema in = {GLINT_NONE, GLINT_TEXT}, out = {GLINT_TEXT, GLINT_I64};
    struct trial x;
    cr_expect_eq(open_op(&x, &op_zip_with_index, params, sizeof params - 1, in, out), 0);
    close_op(&x, &op_zip_with_index);
    test_task_init(&x.t, SLOT_MEMORY_BYTES_MIN);
    x.t.task.partition = 1;
    x.state = mem_zalloc(op_zip_with_index.state_size);
    const struct op_open o = {.task = &x.t.task,
                              .params = {(const uint8_t *)params, sizeof params - 1},
                              .in = in,
                              .out = out};
    cr_expect_eq(op_zip_with_index.open(x.state, &o), GLINT_E_PROTOCOL);
    close_op(&x, &op_zip_with_index);
}

static enum flow push(struct trial *x, const struct op *op, const char *value, uint64_t size)
{
    const int64_t key = 1;
    const struct glint_batch batch = {
        .rows = 1,
        .key = {.type = GLINT_I64, .i64 = &key},
        .value = {.type = GLINT_MSGPACK, .base = (const uint8_t *)value, .size = size}};
    return op->push(x->state, &batch, &x->out);
}

#define LEFT  "\x92\x00\x05"
#define RIGHT "\x92\x01\x06"

Test(op_validation, invalid_records_are_rejected)
{
    static const char *const bad[] = {
        "", "\x92", "\x92\x01", "\x92\x02\x05", "\x93\x01\x05", "\x05\x05\x05"};
    static const struct op *const ops[] = {&op_join_pairs, &op_subtract_by_key_left};
    const struct glint_schema in = {GLINT_I64, GLINT_MSGPACK};
    for (int k = 0; k < 2; k++) {
        const char *params = k == 0 ? "\x92\x00\x00" : "";
        const struct glint_schema out = {GLINT_I64, k == 0 ? GLINT_MSGPACK : GLINT_I64};
        struct trial x;
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            cr_assert_eq(open_op(&x, ops[k], params, k == 0 ? 3 : 0, in, out), 0);
            cr_expect_eq(push(&x, ops[k], bad[i], strlen(bad[i])), FLOW_FAIL);
            cr_expect_eq(x.t.task.error.code, GLINT_E_SHUFFLE_CORRUPT);
            close_op(&x, ops[k]);
        }
        /* The values of the right side must precede those of the left. */
        cr_assert_eq(open_op(&x, ops[k], params, k == 0 ? 3 : 0, in, out), 0);
        cr_expect_eq(push(&x, ops[k], LEFT, 3), FLOW_MORE);
        cr_expect_eq(push(&x, ops[k], RIGHT, 3), FLOW_FAIL);
        cr_expect_eq(x.t.task.error.code, GLINT_E_SHUFFLE_CORRUPT);
        close_op(&x, ops[k]);
    }
}

Test(op_validation, value_of_wrong_type_is_rejected)
{
    const struct glint_schema in = {GLINT_I64, GLINT_MSGPACK}, out = {GLINT_I64, GLINT_TEXT};
    struct trial x;
    cr_assert_eq(open_op(&x, &op_subtract_by_key_left, "", 0, in, out), 0);
    cr_expect_eq(push(&x, &op_subtract_by_key_left, LEFT, 3), FLOW_FAIL);
    cr_expect_eq(x.t.task.error.code, GLINT_E_SHUFFLE_CORRUPT);
    close_op(&x, &op_subtract_by_key_left);
}

extern const struct op op_zip_with_unique_id, op_sample_with_replacement, op_sample_by_key,
    op_filter_by_range, op_histogram, op_take_sample, op_sample_exactly, op_zip, op_cartesian,
    op_binary_records;

/* The same for operators whose valid parameters are among the ones above. */
Test(op_validation, more_invalid_parameters_are_rejected)
{
    static const char *const bad[] = {"",
                                      "\x90",
                                      "\xc0",
                                      "\x92\xc0\x01",
                                      "\x92\x01\xc4\x03xyz",
                                      "\x92\x01\x91\xc4\x01k",
                                      "\x93\x01\x01\x01"};
    static const struct op *const ops[] = {&op_zip_with_unique_id, &op_sample_with_replacement,
                                           &op_sample_by_key,      &op_filter_by_range,
                                           &op_histogram,          &op_take_sample,
                                           &op_binary_records,     &op_sample_exactly};
    const struct glint_schema pairs = {GLINT_I64, GLINT_I64};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
            struct trial x;
            cr_expect_eq(open_op(&x, ops[k], bad[i], strlen(bad[i]), pairs, pairs),
                         GLINT_E_PROTOCOL, "%s, %zu", ops[k]->name, i);
            close_op(&x, ops[k]);
        }
    struct trial x; /* the keys are not sorted; then they are */
    const char unsorted[] = "\x92\x01\x94\xc4\x01z\xc4\x00\xc4\x01k\xc4\x00";
    const char sorted[] = "\x92\x01\x94\xc4\x01k\xc4\x00\xc4\x01z\xc4\x00";
    cr_expect_eq(open_op(&x, &op_sample_by_key, unsorted, sizeof unsorted - 1, pairs, pairs),
                 GLINT_E_PROTOCOL);
    close_op(&x, &op_sample_by_key);
    cr_expect_eq(open_op(&x, &op_sample_by_key, sorted, sizeof sorted - 1, pairs, pairs), 0);
    close_op(&x, &op_sample_by_key);
    const struct glint_schema element = {GLINT_NONE, GLINT_I64}, text = {GLINT_NONE, GLINT_TEXT};
    cr_expect_eq(open_op(&x, &op_zip, "", 0, element, text), GLINT_E_PROTOCOL);
    close_op(&x, &op_zip);
    cr_expect_eq(open_op(&x, &op_cartesian, "", 0, element, text), GLINT_E_PROTOCOL);
    close_op(&x, &op_cartesian);
}
