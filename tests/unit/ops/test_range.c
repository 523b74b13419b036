/* range, zipWithUniqueId and glom, compared with plain loops. */
#include "engine/records/pack.h"
#include "tests/unit/ops/actions.h"

TestSuite(range, .init = scratch_open, .fini = scratch_close);

struct bounds {
    int64_t start, end, step;
    uint32_t partitions;
    int64_t count; /* expected */
};

static const struct bounds ranges[] = {
    {0, 5000, 1, 3, 5000},
    {0, 10, 3, 1, 4},
    {10, -10, -7, 2, 3},
    {5, 5, 1, 4, 0},
    {5, 4, 1, 4, 0},
    {4, 5, -1, 4, 0},
    {7, 9, 100, 0, 1},
    {0, 3, 1, 10, 3},
    {INT64_MIN, INT64_MAX, INT64_MAX, 2, 3},
    {INT64_MAX - 1, INT64_MAX, 1, 2, 1},
    {INT64_MAX, INT64_MIN, INT64_MIN, 2, 2},
};

static struct glint_rdd *make_range(struct glint *g, void *arg)
{
    const struct bounds *b = arg;
    return glint_range(g, b->start, b->end, b->step, b->partitions);
}

static struct table range_by_hand(const struct bounds *b)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_I64}};
    __int128 next = b->start;
    for (; b->step > 0 ? next < b->end : next > b->end; next += b->step)
        table_add(&t, none(), number((int64_t)next));
    return t;
}

Test(range, numbers_are_those_of_a_loop)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        struct bounds b = ranges[i];
        struct table expected = range_by_hand(&b);
        cr_assert_eq(expected.count, (uint64_t)b.count, "range %zu", i);
        plan_expect(make_range, &b, NULL, &expected);
        table_free(&expected);
        struct glint *g = fixture_open(&fixtures[0]);
        cr_assert_eq(glint_partitions(make_range(g, &b)), b.partitions > 0 ? b.partitions : 1);
        fixture_close(g, GLINT_OK);
    }
}

/* No number is stored: a range of 2^64 - 1 of them is a plan as any other. */
Test(range, range_of_all_integers_is_lazy)
{
    struct glint_rows rows;
    struct glint *g = fixture_open(&fixtures[1]);
    struct glint_rdd *all = glint_range(g, INT64_MIN, INT64_MAX, 1, 3);
    cr_assert_eq(glint_take(all, 2000, &rows), 0);
    cr_assert_eq(rows.count, 2000);
    cr_assert_eq(glint_rows_at(&rows, 1999).value.i64, INT64_MIN + 1999);
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
}

Test(range, misuse_is_reported)
{
    struct bounds b = {0, 5, 0, 1, 0};
    plan_expect_error(make_range, &b, NULL, GLINT_E_BAD_VALUE, "range: a step of 0");
    b = (struct bounds){0, 5, 1, PARTITIONS_MAX + 1, 0};
    plan_expect_error(make_range, &b, NULL, GLINT_E_PLAN_LIMIT, "100001 partitions");
}

/* ---- zipWithUniqueId */

static struct glint_rdd *make_unique_ids(struct glint *g, void *arg)
{
    return glint_zip_with_unique_id(input_rdd(g, arg));
}

Test(range, unique_ids_are_partition_plus_multiples)
{
    struct table t = make_numbers(3001, 5);
    struct input in = {.table = &t};
    for (in.maps = 1; in.maps < 40; in.maps = in.maps * 3 + 1) {
        struct table expected = {.schema = {GLINT_I64, GLINT_I64}};
        for (uint64_t p = 0, i = 0; p < in.maps; p++)
            for (uint64_t k = 0; i < t.count * (p + 1) / in.maps; i++, k++)
                table_add(&expected, t.rows[i].value, number((int64_t)(p + k * in.maps)));
        plan_expect(make_unique_ids, &in, NULL, &expected);
        table_free(&expected);
    }
    table_free(&t);
}

static struct glint_rdd *make_unique_of_pairs(struct glint *g, void *arg)
{
    return glint_zip_with_unique_id(glint_key_by(input_rdd(g, arg), fn("red.modulo"), NULL));
}

/* ---- glom */

static struct glint_rdd *make_glom(struct glint *g, void *arg)
{
    return glint_glom(input_rdd(g, arg));
}

static void append_byte(struct buffer *b, unsigned byte)
{
    const uint8_t one = (uint8_t)byte;
    cr_assert(buffer_append(b, &one, 1));
}

/* The array of `count` numbers below 100, whose msgpack form is one byte each. */
static struct buffer array_by_hand(uint64_t first, uint64_t count, bool pairs)
{
    struct buffer b = {NULL, 0, 0};
    if (count < 16) {
        append_byte(&b, 0x90 + (unsigned)count);
    } else if (count < 65536) {
        append_byte(&b, 0xdc);
        append_byte(&b, (unsigned)count >> 8);
        append_byte(&b, (unsigned)count & 255);
    } else {
        append_byte(&b, 0xdd);
        for (int shift = 24; shift >= 0; shift -= 8) append_byte(&b, (count >> shift) & 255);
    }
    for (uint64_t i = first; i < first + count; i++) {
        if (pairs) append_byte(&b, 0x92);
        if (pairs) append_byte(&b, (unsigned)(i % 100));
        append_byte(&b, (unsigned)(i % 100));
    }
    return b;
}

Test(range, glom_has_one_array_per_partition)
{
    static const uint64_t counts[] = {0, 5, 15, 16, 3000, 140000};
    for (int pairs = 0; pairs < 2; pairs++)
        for (int c = 0; c < 6; c++) {
            struct table t = {.schema = {pairs ? GLINT_I64 : GLINT_NONE, GLINT_I64}};
            for (uint64_t i = 0; i < counts[c]; i++)
                table_add(&t, number((int64_t)(i % 100)), number((int64_t)(i % 100)));
            struct input in = {.table = &t, .maps = 2};
            struct table expected = {.schema = {GLINT_NONE, GLINT_MSGPACK}};
            for (uint64_t p = 0; p < 2; p++) {
                const uint64_t first = counts[c] * p / 2, end = counts[c] * (p + 1) / 2;
                struct buffer array = array_by_hand(first, end - first, pairs);
                table_add(&expected, none(), bytes(array.data, array.size));
                buffer_fini(&array);
            }
            plan_expect(make_glom, &in, NULL, &expected);
            table_free(&expected);
            table_free(&t);
        }
}

/* Texts, bytes and floats are the cells that glint_unpack_cells returns. */
Test(range, glom_cells_can_be_unpacked)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_F64}};
    table_add(&t, text("a"), real(0.5));
    table_add(&t, text("\xff"), real(-2));
    struct input in = {.table = &t, .maps = 1};
    struct glint_rows rows;
    struct glint_cell cells[3];
    struct glint *g = fixture_open(&fixtures[0]);
    cr_assert_eq(glint_collect(make_glom(g, &in), &rows), 0);
    cr_assert_eq(rows.count, 1);
    cr_assert_eq(glint_unpack_cells(glint_rows_at(&rows, 0).value.bytes, cells, 3), 2);
    const struct glint_pair second = glint_pair(&cells[1].value);
    cr_assert_eq(second.left.type, GLINT_TEXT);
    cr_assert_eq(second.left.value.bytes.data[0], 0xff);
    cr_assert_eq(second.right.value.f64, -2);
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
    table_free(&t);
}

static struct glint_rdd *make_all(struct glint *g, void *arg)
{
    struct glint_rdd *numbers = glint_range(g, 0, 3000, 1, 2);
    (void)arg;
    return glint_glom(glint_zip_with_unique_id(numbers));
}

Test(range, errors_are_reported)
{
    struct table t = make_numbers(50, 5);
    struct input in = {.table = &t, .maps = 3};
    plan_expect_error(make_unique_of_pairs, &in, NULL, GLINT_E_PLAN_TYPE,
                      "zipWithUniqueId needs single elements");
    struct table bad = {.schema = {GLINT_NONE, GLINT_MSGPACK}};
    table_add(&bad, none(), bytes("\x01\x01", 2));
    in.table = &bad;
    plan_expect_error(make_glom, &in, NULL, GLINT_E_FUNCTION_FAILED, "");
    table_free(&bad);
    table_free(&t);
    plan_expect_no_memory(make_all, NULL);
}
