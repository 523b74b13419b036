/* The emitter: rows are collected into full batches, and no row is lost or reordered when a cell
 * does not fit the buffer. */
#include "engine/batch.h"
#include "engine/records/emitter.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>
#include <string.h>

/* The next operator: counts batches, and checks that the cells arrive in order. */
struct receiver {
    uint32_t batches, rows, largest;
    uint64_t cell_bytes;
};

/* The cell of row i: its number in the first bytes. */
static void make_cell(uint8_t *out, uint64_t size, uint32_t i)
{
    memset(out, 'x', size);
    memcpy(out, &i, sizeof i);
}

static enum flow receive(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    struct receiver *r = state;
    (void)out;
    for (uint32_t row = 0; row < batch->rows; row++, r->rows++) {
        struct glint_slice cell = glint_column_slice(&batch->value, row);
        uint32_t i;
        cr_assert_eq(cell.size, r->cell_bytes);
        memcpy(&i, cell.data, sizeof i);
        cr_assert_eq(i, r->rows);
    }
    r->batches++;
    if (batch->rows > r->largest) r->largest = batch->rows;
    return FLOW_MORE;
}

/* Emits `rows` text cells of that size, and flushes. */
static struct receiver emit_cells(uint32_t rows, uint64_t cell_bytes)
{
    static uint8_t cell[EMIT_BUFFER_BYTES];
    struct test_task t;
    struct glint_emitter e;
    struct receiver r = {.cell_bytes = cell_bytes};
    test_task_init(&t, 64 * MIB);
    emitter_init(&e, &t.task, (struct glint_schema){GLINT_NONE, GLINT_TEXT}, receive, &r, NULL);
    for (uint32_t i = 0; i < rows; i++) {
        make_cell(cell, cell_bytes, i);
        glint_emit(&e, &(struct glint_record){.value.bytes = {cell, cell_bytes}});
    }
    cr_assert_eq(emitter_flush(&e), FLOW_MORE);
    cr_expect_eq(r.rows, rows);
    cr_assert(test_task_fini(&t));
    return r;
}

Test(emitter, rows_are_pushed_in_full_batches)
{
    struct receiver r = emit_cells(2 * BATCH_ROWS_MAX + 10, 8);
    cr_expect_eq(r.batches, 3);
    cr_expect_eq(r.largest, BATCH_ROWS_MAX);
}

Test(emitter, full_buffer_is_pushed_before_the_next_cell)
{
    const uint32_t fit = EMIT_BUFFER_BYTES / EMIT_COPY_BYTES_MAX;
    struct receiver r = emit_cells(2 * fit + 1, EMIT_COPY_BYTES_MAX);
    cr_expect_eq(r.batches, 3);
    cr_expect_eq(r.largest, fit);
}

/* Record i has i % 8 of these bytes, from i % 64 on, as its key, and the value i. */
static uint8_t key_bytes[64 + 8 + READ_SLACK];

static enum flow receive_keys(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    struct receiver *r = state;
    (void)out;
    for (uint32_t row = 0; row < batch->rows; row++, r->rows++) {
        const struct glint_slice key = glint_column_slice(&batch->key, row);
        cr_assert_eq(batch->value.i64[row], r->rows);
        cr_assert_eq(key.size, r->rows % 8);
        cr_assert_eq(memcmp(key.data, key_bytes + r->rows % 64, key.size), 0);
    }
    r->batches++;
    return FLOW_MORE;
}

/* Emits keys that are bytes of the input, and those whose number has all bits of `mask` from other
 * memory, which changes after the call. */
static void emit_keys(uint32_t rows, uint32_t mask, bool typed)
{
    struct test_task t;
    struct glint_emitter e;
    struct receiver r = {.cell_bytes = 0};
    uint8_t from[sizeof key_bytes];
    for (uint32_t i = 0; i < sizeof key_bytes; i++) key_bytes[i] = (uint8_t)i;
    memcpy(from, key_bytes, sizeof from);
    struct glint_batch in = {.rows = 1,
                             .value = {.type = GLINT_TEXT, .base = from, .size = 64 + 8}};
    test_task_init(&t, 64 * MIB);
    emitter_init(&e, &t.task, (struct glint_schema){GLINT_BYTES, GLINT_I64}, receive_keys, &r,
                 NULL);
    e.in = &in;
    for (uint32_t i = 0; i < rows; i++) {
        uint8_t copy[8];
        memcpy(copy, from + i % 64, sizeof copy);
        const struct glint_slice key = {(i & mask) == mask ? copy : from + i % 64, i % 8};
        if (typed)
            glint_emit_i64(&e, key, i);
        else
            glint_emit(&e, &(struct glint_record){.key.bytes = key, .value.i64 = i});
    }
    cr_assert_eq(emitter_flush(&e), FLOW_MORE);
    cr_expect_eq(e.emitted, rows);
    cr_expect_eq(r.rows, rows);
    cr_assert(test_task_fini(&t));
}

Test(emitter, keys_of_the_input_and_others_keep_their_bytes)
{
    static const uint32_t masks[] = {0, 1, 3, 511, UINT32_MAX};
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        emit_keys(3 * BATCH_ROWS_MAX + 10, masks[i], false);
        emit_keys(3 * BATCH_ROWS_MAX + 10, masks[i], true);
    }
}

Test(emitter, a_large_cell_is_a_batch_of_its_own)
{
    struct receiver r = emit_cells(3, EMIT_COPY_BYTES_MAX + 1);
    cr_expect_eq(r.batches, 3);
    cr_expect_eq(r.largest, 1);
}

static enum flow ignore(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    (void)state, (void)batch, (void)out;
    return FLOW_MORE;
}

/* Emits (k, number), or a text without a key, into columns of these types. Returns the error. */
static enum glint_code emit_into(enum glint_type call, enum glint_type key, enum glint_type value)
{
    static const struct glint_slice k = {(const uint8_t *)"k", 1};
    struct test_task t;
    struct glint_emitter e;
    test_task_init(&t, 64 * MIB);
    emitter_init(&e, &t.task, (struct glint_schema){key, value}, ignore, NULL, NULL);
    for (int i = 0; i < 2; i++) { /* the second one would take the fast path of numbers */
        if (call == GLINT_I64)
            glint_emit_i64(&e, key == GLINT_NONE ? (struct glint_slice){NULL, 0} : k, 1);
        else if (call == GLINT_F64)
            glint_emit_f64(&e, key == GLINT_NONE ? (struct glint_slice){NULL, 0} : k, 1);
        else
            glint_emit_text(&e, k);
    }
    const enum glint_code code = t.task.error.code;
    cr_expect_eq(emitter_flush(&e), code == GLINT_OK ? FLOW_MORE : FLOW_FAIL);
    cr_expect_eq(e.emitted, code == GLINT_OK ? 2 : 0);
    cr_assert(test_task_fini(&t));
    return code;
}

static bool is_bytes(enum glint_type type)
{
    return type == GLINT_BYTES || type == GLINT_TEXT || type == GLINT_MSGPACK;
}

Test(emitter, a_type_that_was_not_promised_fails_the_task)
{
    for (enum glint_type key = GLINT_NONE; key <= GLINT_MSGPACK; key++)
        for (enum glint_type value = GLINT_NONE; value <= GLINT_MSGPACK; value++) {
            const bool key_fits = key == GLINT_NONE || is_bytes(key);
            const bool numbers[] = {key_fits && value == GLINT_I64, key_fits && value == GLINT_F64};
            const bool text = key == GLINT_NONE && is_bytes(value);
            cr_expect_eq(emit_into(GLINT_I64, key, value), numbers[0] ? 0 : GLINT_E_PLAN_TYPE);
            cr_expect_eq(emit_into(GLINT_F64, key, value), numbers[1] ? 0 : GLINT_E_PLAN_TYPE);
            cr_expect_eq(emit_into(GLINT_TEXT, key, value), text ? 0 : GLINT_E_PLAN_TYPE);
        }
}

/* A key that an element has no room for is not dropped. */
Test(emitter, a_key_that_was_not_promised_fails_the_task)
{
    struct test_task t;
    struct glint_emitter e;
    test_task_init(&t, 64 * MIB);
    emitter_init(&e, &t.task, (struct glint_schema){GLINT_NONE, GLINT_I64}, ignore, NULL, NULL);
    glint_emit_i64(&e, (struct glint_slice){(const uint8_t *)"k", 1}, 1);
    cr_expect_eq(t.task.error.code, GLINT_E_PLAN_TYPE);
    cr_expect_eq(emitter_flush(&e), FLOW_FAIL);
    cr_assert(test_task_fini(&t));
}

/* What an operator keeps from its input replaces what the function emits, of any type. */
Test(emitter, kept_cells_fit)
{
    const int64_t numbers[] = {7};
    const struct glint_batch in = {.rows = 1,
                                   .key = {.type = GLINT_I64, .i64 = numbers},
                                   .value = {.type = GLINT_I64, .i64 = numbers}};
    struct test_task t;
    struct glint_emitter e;
    test_task_init(&t, 64 * MIB);
    emitter_init(&e, &t.task, (struct glint_schema){GLINT_I64, GLINT_TEXT}, ignore, NULL, NULL);
    e.in = &in;
    e.keep_key = true; /* mapValues */
    glint_emit_text(&e, (struct glint_slice){(const uint8_t *)"text", 4});
    cr_expect_eq(emitter_flush(&e), FLOW_MORE);
    emitter_init(&e, &t.task, (struct glint_schema){GLINT_TEXT, GLINT_I64}, ignore, NULL, NULL);
    e.in = &in;
    e.keep_value = true; /* keyBy */
    glint_emit_f64(&e, (struct glint_slice){(const uint8_t *)"key", 3}, 0);
    cr_expect_eq(emitter_flush(&e), FLOW_MORE);
    cr_expect_eq(t.task.error.code, GLINT_OK);
    cr_assert(test_task_fini(&t));
}
