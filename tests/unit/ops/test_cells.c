/* Values that functions encode and decode: glint_pack, glint_unpack_cells, glint_append_order. */
#include "engine/limits.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

static struct glint_cell i64_cell(int64_t v)
{
    return (struct glint_cell){GLINT_I64, {.i64 = v}};
}
static struct glint_cell f64_cell(double v)
{
    return (struct glint_cell){GLINT_F64, {.f64 = v}};
}
static struct glint_cell bytes_cell(enum glint_type type, const char *data, uint64_t size)
{
    return (struct glint_cell){type, {.bytes = {(const uint8_t *)data, size}}};
}

static bool equal(const struct glint_cell *a, const struct glint_cell *b)
{
    if (a->type != b->type) return false;
    if (a->type == GLINT_NONE) return true;
    if (a->type == GLINT_I64 || a->type == GLINT_F64) return a->value.i64 == b->value.i64;
    return a->value.bytes.size == b->value.bytes.size &&
           memcmp(a->value.bytes.data, b->value.bytes.data, a->value.bytes.size) == 0;
}

Test(cells, packed_cells_are_unpacked)
{
    struct test_task t;
    test_task_init(&t, SLOT_MEMORY_BYTES_MIN);
    char large[70000];
    memset(large, 'x', sizeof large);
    const struct glint_cell cells[] = {
        {.type = GLINT_NONE},
        i64_cell(0),
        i64_cell(-1),
        i64_cell(INT64_MIN),
        i64_cell(INT64_MAX),
        f64_cell(-0.5),
        bytes_cell(GLINT_TEXT, "", 0),
        bytes_cell(GLINT_TEXT, "text", 4),
        bytes_cell(GLINT_BYTES, "a\0b", 3),
        bytes_cell(GLINT_BYTES, large, sizeof large),
        bytes_cell(GLINT_MSGPACK, "\x92\x01\x02", 3),
        bytes_cell(GLINT_MSGPACK, "\xc3", 1),
        i64_cell(12),
        i64_cell(13),
        i64_cell(14),
        i64_cell(15),
        i64_cell(16),
    };
    enum { COUNT = sizeof cells / sizeof cells[0] };
    for (uint32_t count = 0; count <= COUNT; count++) {
        struct glint_buffer buffer = {.size = 0};
        struct glint_cell out[COUNT];
        cr_assert_eq(glint_pack(&t.task, &buffer, cells, count), 0);
        const struct glint_slice all = {buffer.data, buffer.size};
        cr_assert_eq(glint_unpack_cells(all, out, COUNT), count);
        for (uint32_t i = 0; i < count; i++) cr_expect(equal(&out[i], &cells[i]), "cell %u", i);
        if (count > 0) cr_expect_eq(glint_unpack_cells(all, out, count - 1), -1);
        for (uint64_t size = 0; size < all.size && size < 200; size++)
            cr_expect_eq(glint_unpack_cells((struct glint_slice){all.data, size}, out, COUNT), -1);
    }
    test_task_fini(&t);
}

Test(cells, more_than_one_value_is_no_msgpack_cell)
{
    struct test_task t;
    test_task_init(&t, SLOT_MEMORY_BYTES_MIN);
    struct glint_buffer buffer = {.size = 0};
    const struct glint_cell two = bytes_cell(GLINT_MSGPACK, "\x01\x02", 2);
    cr_expect_eq(glint_pack(&t.task, &buffer, &two, 1), GLINT_E_FUNCTION_FAILED);
    cr_expect_eq(t.task.error.code, GLINT_E_FUNCTION_FAILED);
    test_task_fini(&t);
}

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

static int compare(const struct glint_buffer *a, const struct glint_buffer *b)
{
    const uint64_t size = a->size < b->size ? a->size : b->size;
    int c = size > 0 ? memcmp(a->data, b->data, size) : 0;
    return c != 0 ? sign(c) : (a->size > b->size) - (a->size < b->size);
}

/* The cells are in ascending order; each is followed by a second column. */
static void check_order(const struct glint_cell *cells, int count)
{
    struct test_task t;
    test_task_init(&t, SLOT_MEMORY_BYTES_MIN);
    for (int descending = 0; descending < 2; descending++) {
        for (int i = 0; i < count; i++) {
            for (int j = 0; j < count; j++) {
                struct glint_buffer a = {.size = 0}, b = {.size = 0};
                const struct glint_cell one = i64_cell(1), two = i64_cell(2);
                glint_append_order(&t.task, &a, &cells[i], descending != 0);
                glint_append_order(&t.task, &a, &one, false);
                glint_append_order(&t.task, &b, &cells[j], descending != 0);
                glint_append_order(&t.task, &b, &two, false);
                const int want = i == j ? -1 : sign(descending != 0 ? j - i : i - j);
                cr_expect_eq(compare(&a, &b), want, "%d %d %d", i, j, descending);
            }
        }
    }
    test_task_fini(&t);
}

Test(cells, order_of_bytes_is_order_of_cells)
{
    const struct glint_cell texts[] = {
        bytes_cell(GLINT_TEXT, "", 0),       bytes_cell(GLINT_TEXT, "\0", 1),
        bytes_cell(GLINT_TEXT, "\0\0", 2),   bytes_cell(GLINT_TEXT, "\0\1", 2),
        bytes_cell(GLINT_TEXT, "\0\xff", 2), bytes_cell(GLINT_TEXT, "\1", 1),
        bytes_cell(GLINT_TEXT, "a", 1),      bytes_cell(GLINT_TEXT, "a\0", 2),
        bytes_cell(GLINT_TEXT, "a\0b", 3),   bytes_cell(GLINT_TEXT, "aa", 2),
        bytes_cell(GLINT_TEXT, "\xff", 1),   bytes_cell(GLINT_TEXT, "\xff\xff", 2)};
    const struct glint_cell integers[] = {i64_cell(INT64_MIN), i64_cell(-256), i64_cell(-1),
                                          i64_cell(0),         i64_cell(1),    i64_cell(INT64_MAX)};
    const struct glint_cell floats[] = {f64_cell(-1e300), f64_cell(-1),     f64_cell(-1e-300),
                                        f64_cell(0),      f64_cell(1e-300), f64_cell(2)};
    check_order(texts, 12);
    check_order(integers, 6);
    check_order(floats, 6);
}

Test(cells, buffer_grows_and_keeps_its_bytes)
{
    struct test_task t;
    test_task_init(&t, SLOT_MEMORY_BYTES_MIN);
    struct glint_buffer buffer = {.size = 0};
    for (uint32_t i = 0; i < 10000; i++)
        cr_assert_eq(glint_append(&t.task, &buffer, &i, sizeof i), 0);
    cr_assert_eq(buffer.size, 40000);
    for (uint32_t i = 0; i < 10000; i++) cr_assert_eq(memcmp(buffer.data + 4 * i, &i, 4), 0);
    cr_expect_eq(glint_append(&t.task, &buffer, NULL, 0), 0);
    cr_expect_eq(glint_append(&t.task, &buffer, buffer.data, VALUE_BYTES_MAX), GLINT_E_VALUE_LIMIT);
    test_task_fini(&t);
}

Test(cells, struct_in_a_pair_is_aligned)
{
    struct point {
        int64_t x, y;
    };
    struct test_task t;
    test_task_init(&t, SLOT_MEMORY_BYTES_MIN);
    const struct point points[2] = {{1, 2}, {3, 4}};
    const struct glint_cell cells[2] = {
        bytes_cell(GLINT_BYTES, (const char *)&points[0], sizeof points[0]),
        bytes_cell(GLINT_BYTES, (const char *)&points[1], sizeof points[1])};
    struct glint_buffer packed = {NULL, 0, 0};
    cr_assert_eq(glint_pack(&t.task, &packed, cells, 2), 0);
    bool in_place = false;
    for (uint64_t at = 0; at < 8; at++) { /* a value may be at any address */
        _Alignas(8) uint8_t bytes[64];
        memcpy(bytes + at, packed.data, packed.size);
        const union glint_value value = {.bytes = {bytes + at, packed.size}};
        const struct glint_pair pair = glint_pair(&value);
        struct point left, right;
        const struct point *a = glint_cell_struct(&pair.left, &left, sizeof left);
        const struct point *b = glint_cell_struct(&pair.right, &right, sizeof right);
        cr_assert(a != NULL && b != NULL && a->x == 1 && a->y == 2 && b->x == 3 && b->y == 4);
        in_place |= a != &left || b != &right;
        cr_expect_null(glint_cell_struct(&pair.left, &left, sizeof left - 1));
    }
    cr_expect(in_place);
    const struct glint_cell none = {.type = GLINT_NONE};
    struct point copy;
    cr_expect_null(glint_cell_struct(&none, &copy, sizeof copy));
    test_task_fini(&t);
}
