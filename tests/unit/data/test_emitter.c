/* The emitter: rows are collected into full batches, and no row is lost or reordered when a cell
 * does not fit the buffer. */
#include "engine/batch.h"
#include "engine/data/emitter.h"
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
    struct receiver r = emit_cells(5, EMIT_BUFFER_BYTES / 2);
    cr_expect_eq(r.batches, 3);
    cr_expect_eq(r.largest, 2);
}
