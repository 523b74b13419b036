/* Keys of typed values: their bytes have the order of the values. */
#include "engine/input/typed_row.h"
#include "engine/records/task.h"
#include "jobs/tables/sort_key.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct glint_task task;

static void free_forms(void)
{
    arena_fini(&task.arena);
}

TestSuite(sort_key, .fini = free_forms);

/* `count` values of `size` bytes, in ascending order. */
static void expect_order(const char *type, const void *values, uint32_t size, uint32_t count)
{
    const struct typed_form *f =
        typed_form_read(&task, (struct glint_slice){(const uint8_t *)type, strlen(type) + 1});
    uint8_t before[TYPED_VALUE_BYTES_MAX], key[TYPED_VALUE_BYTES_MAX];
    cr_assert(f != NULL && f->columns[0].size == size, "%s", type);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *value = (const uint8_t *)values + (size_t)i * size;
        const uint8_t *end = sort_key_put_value(key, &f->columns[0], value);
        cr_assert_eq(end - key, size > 8 ? size : 8, "%s", type);
        if (i > 0) cr_expect_lt(memcmp(before, key, (size_t)(end - key)), 0, "%s, %u", type, i);
        memcpy(before, key, sizeof key);
    }
}

#define ORDER(type, c_type, ...)                                                                   \
    expect_order(type, (const c_type[]){__VA_ARGS__}, sizeof(c_type),                              \
                 sizeof((const c_type[]){__VA_ARGS__}) / sizeof(c_type))

Test(sort_key, integers_and_times)
{
    ORDER("c", int8_t, INT8_MIN, -1, 0, 1, INT8_MAX);
    ORDER("C", uint8_t, 0, 1, 127, 128, UINT8_MAX);
    ORDER("s", int16_t, INT16_MIN, -256, -1, 0, 255, 256, INT16_MAX);
    ORDER("S", uint16_t, 0, 255, 256, 32768, UINT16_MAX);
    ORDER("i", int32_t, INT32_MIN, -65536, -1, 0, 65535, 65536, INT32_MAX);
    ORDER("I", uint32_t, 0, 1, INT32_MAX, (uint32_t)INT32_MAX + 1, UINT32_MAX);
    ORDER("l", int64_t, INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX);
    ORDER("L", uint64_t, 0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX);
    ORDER("tdD", int32_t, INT32_MIN, -719529, -1, 0, 19000, INT32_MAX);
    ORDER("tsn:UTC", int64_t, INT64_MIN, -1, 0, 1, INT64_MAX);
    ORDER("tDs", int64_t, INT64_MIN, -1, 0, 1, INT64_MAX);
}

Test(sort_key, floats)
{
    ORDER("f", float, -(float)INFINITY, -3.4028235e38f, -1.5f, -1e-45f, 0.0f, 1e-45f, 0.1f, 1.5f,
          3.4028235e38f, (float)INFINITY, (float)NAN);
    ORDER("g", double, -(double)INFINITY, -1.8e307, -1.5, -5e-324, 0.0, 5e-324, 0.1, 1.5, 1.8e307,
          (double)INFINITY, (double)NAN);
}

Test(sort_key, equal_floats_have_equal_keys)
{
    const struct typed_form *f =
        typed_form_read(&task, (struct glint_slice){(const uint8_t *)"g", 2});
    static const double pairs[][2] = {{0.0, -0.0}, {(double)NAN, -(double)NAN}};
    uint8_t a[8], b[8];
    for (int i = 0; i < 2; i++) {
        sort_key_put_value(a, &f->columns[0], (const uint8_t *)&pairs[i][0]);
        sort_key_put_value(b, &f->columns[0], (const uint8_t *)&pairs[i][1]);
        cr_expect_arr_eq(a, b, sizeof a);
    }
}

Test(sort_key, decimals)
{
    const __int128 one = 1, most = (one << 126) - 1;
    ORDER("d:9,2,32", int32_t, -999999999, -1, 0, 1, 999999999);
    ORDER("d:18,2,64", int64_t, -999999999999999999, -1, 0, 1, 999999999999999999);
    ORDER("d:38,2", __int128, -most, -(one << 64), -1, 0, 1, one << 64, most);
    static const int64_t wide[][4] = {{0, 0, 0, INT64_MIN}, {-1, -1, -1, -1}, {0}, {1}, {0, 1},
                                      {0, 0, 0, INT64_MAX}};
    expect_order("d:76,2,256", wide, sizeof wide[0], sizeof wide / sizeof wide[0]);
}
