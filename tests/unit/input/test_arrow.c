/* Columns of Arrow's C data interface: the text of values of each type, and that damaged arrays are
 * found before they are read. */
#include "engine/input/arrow.h"

#include <criterion/criterion.h>
#include <math.h>

/* ---- Arrays of C */

#define ARRAY(length_, ...)                                                                        \
    ((struct ArrowArray){.length = (length_),                                                      \
                         .n_buffers = sizeof((const void *[]){__VA_ARGS__}) / sizeof(void *),      \
                         .buffers = (const void *[]){__VA_ARGS__}})

static struct arena arena;

static struct arrow_field field_of(const char *format)
{
    struct arrow_field field;
    const struct ArrowSchema schema = {.format = format, .name = "c"};
    const char *problem = arrow_field_read(&schema, &arena, &field);
    cr_assert_null(problem, "%s: %s", format, problem);
    return field;
}

static void expect_text(const struct arrow_field *field, const struct ArrowArray *array,
                        const char *wanted)
{
    struct buffer out = {NULL, 0, 0};
    const char *problem = arrow_array_check(field, array);
    cr_assert_null(problem, "%s: %s", wanted, problem);
    for (int64_t row = 0; row < array->length; row++) {
        if (row > 0) cr_assert(buffer_append(&out, " ", 1));
        if (arrow_is_null(field, array, row))
            cr_assert(buffer_append(&out, "-", 1));
        else
            cr_assert(arrow_append_text(field, array, row, &out));
    }
    cr_expect(out.size == strlen(wanted) && memcmp(out.data, wanted, out.size) == 0,
              "wanted %s, got %.*s", wanted, (int)out.size, (char *)out.data);
    buffer_fini(&out);
}

static void expect_values(const char *format, int64_t count, const void *values, const char *wanted)
{
    const struct arrow_field field = field_of(format);
    const struct ArrowArray array = ARRAY(count, NULL, values);
    expect_text(&field, &array, wanted);
}

#define VALUES(format_, type_, wanted_, ...)                                                       \
    expect_values(format_, sizeof((const type_[]){__VA_ARGS__}) / sizeof(type_),                   \
                  (const type_[]){__VA_ARGS__}, wanted_)

Test(arrow, numbers_are_decimal)
{
    VALUES("c", int8_t, "-128 127", INT8_MIN, INT8_MAX);
    VALUES("C", uint8_t, "0 255", 0, UINT8_MAX);
    VALUES("s", int16_t, "-32768", INT16_MIN);
    VALUES("S", uint16_t, "65535", UINT16_MAX);
    VALUES("i", int32_t, "-2147483648", INT32_MIN);
    VALUES("I", uint32_t, "4294967295", UINT32_MAX);
    VALUES("l", int64_t, "-9223372036854775808", INT64_MIN);
    VALUES("L", uint64_t, "18446744073709551615", UINT64_MAX);
    VALUES("g", double, "0.1 -0.0 1e+16 inf nan", 0.1, -0.0, 1e16, (double)INFINITY, (double)NAN);
    VALUES("b", uint8_t, "true", 1);
}

Test(arrow, a_float_has_its_own_shortest_text)
{
    VALUES("f", float, "0.1 16777216.0 3.4028235e+38 1e-45 -0.0", 0.1f, 16777216.0f, 3.4028235e38f,
           1e-45f, -0.0f);
    VALUES("e", uint16_t, "1.0 0.1 65500.0 6e-08 -inf", 0x3c00, 0x2e66, 0x7bff, 0x0001, 0xfc00);
}

Test(arrow, decimals_have_their_scale)
{
    const uint64_t values[] = {12345, 0, UINT64_MAX - 4, UINT64_MAX, 0, UINT64_C(1) << 63};
    expect_values("d:38,2", 3, values, "123.45 -0.05 -1701411834604692317316873037158841057.28");
    VALUES("d:9,0,32", int32_t, "-7", -7);
    VALUES("d:9,3,64", int64_t, "0.001 -12.345", 1, -12345);
    VALUES("d:9,-2,32", int32_t, "700", 7);
}

Test(arrow, times_are_iso_8601)
{
    VALUES("tdD", int32_t, "1970-01-01 1969-12-31 2024-02-29 0001-01-01", 0, -1, 19782, -719162);
    VALUES("tdm", int64_t, "1970-01-01 1969-12-31", 86399999, -1);
    VALUES("tts", int32_t, "00:00:00 23:59:59", 0, 86399);
    VALUES("ttu", int64_t, "00:00:01.500 00:00:00.000001", 1500000, 1);
    VALUES("tss:", int64_t, "2001-09-09T01:46:40 1969-12-31T23:59:59", 1000000000, -1);
    VALUES("tsn:Europe/Berlin", int64_t, "1970-01-01T00:00:00.000000001Z", 1);
    VALUES("tsm:UTC", int64_t, "1970-01-01T00:00:00.250Z", 250);
    VALUES("tDs", int64_t, "90061", 90061);
}

static void expect_common(const char *format, uint8_t common, int64_t count, const void *values,
                          const char *wanted)
{
    struct arrow_field field = field_of(format);
    const struct ArrowArray array = ARRAY(count, NULL, values);
    field.common = common;
    expect_text(&field, &array, wanted);
}

Test(arrow, numbers_beside_doubles_have_the_text_of_the_double_if_it_is_the_number)
{
    const int64_t integers[] = {
        10, -3, 0, 9007199254740993, 9007199254740992, 1LL << 60, INT64_MAX, 100000000000000};
    expect_common("l", ARROW_COMMON_F64, 8, integers,
                  "10.0 -3.0 0.0 9007199254740993 9007199254740992.0 1.152921504606847e+18 "
                  "9223372036854775807 100000000000000.0");
    const int64_t decimals[] = {1000, -5, 0, 123456789012345678, 100000000000000001, 10};
    expect_common("d:18,2,64", ARROW_COMMON_F64, 6, decimals,
                  "10.0 -0.05 0.0 1234567890123456.78 1000000000000000.01 0.1");
    expect_common("d:18,17,64", ARROW_COMMON_F64, 1, &decimals[5], "1e-16");
    const uint64_t large[] = {UINT64_MAX, UINT64_C(1) << 63};
    expect_common("L", ARROW_COMMON_F64, 2, large, "18446744073709551615 9.223372036854776e+18");
    const float floats[] = {0.1f, 10, 123456789.0f, -0.0f};
    expect_common("f", ARROW_COMMON_F64, 4, floats, "0.1 10.0 123456792.0 -0.0");
    expect_common("f", ARROW_COMMON_DOUBLE, 4, floats, "0.10000000149011612 10.0 123456792.0 -0.0");
    expect_common("l", ARROW_COMMON_DOUBLE, 2, integers, "10.0 -3.0");
    const double doubles[] = {0.1, 1e16, (double)INFINITY, (double)NAN};
    expect_common("g", ARROW_COMMON_F64, 4, doubles, "0.1 1e+16 inf nan");
}

Test(arrow, numbers_beside_decimals_have_the_most_digits_after_the_point)
{
    const int64_t values[] = {-105, 0};
    expect_common("l", ARROW_COMMON_DECIMAL + 2, 2, values, "-105.00 0.00");
    expect_common("d:9,1,64", ARROW_COMMON_DECIMAL + 2, 2, values, "-10.50 0.00");
    expect_common("d:9,2,64", ARROW_COMMON_DECIMAL + 2, 2, values, "-1.05 0.00");
    expect_common("l", ARROW_COMMON_DECIMAL, 1, values, "-105");
}

Test(arrow, dates_beside_timestamps_are_midnight)
{
    const int32_t days[] = {0, 2932897};
    const int64_t ms[] = {250};
    expect_common("tdD", ARROW_COMMON_TIMESTAMP, 2, days,
                  "1970-01-01T00:00:00 +10000-01-01T00:00:00");
    expect_common("tdm", ARROW_COMMON_INSTANT, 1, ms, "1970-01-01T00:00:00Z");
    expect_common("tsm:", ARROW_COMMON_TIMESTAMP, 1, ms, "1970-01-01T00:00:00.250");
    expect_common("tsm:", ARROW_COMMON_INSTANT, 1, ms, "1970-01-01T00:00:00.250Z");
    expect_common("tsm:UTC", ARROW_COMMON_INSTANT, 1, ms, "1970-01-01T00:00:00.250Z");
}

Test(arrow, texts_and_nulls)
{
    const struct arrow_field utf8 = field_of("u"), large = field_of("U"), view = field_of("vu");
    const uint8_t valid = 5; /* rows 0 and 2 */
    const struct ArrowArray small = ARRAY(3, &valid, ((const int32_t[]){0, 1, 1, 3}), "abc");
    expect_text(&utf8, &small, "a - bc");
    const struct ArrowArray wide = ARRAY(2, NULL, ((const int64_t[]){1, 1, 3}), "abc");
    expect_text(&large, &wide, " bc");
    struct {
        uint32_t size;
        char text[4];
        uint32_t buffer, offset;
    } views[] = {{3, "xyz", 0, 0}, {13, "0123", 0, 2}};
    const struct ArrowArray viewed =
        ARRAY(2, NULL, views, "..0123456789abc", ((const int64_t[]){15}));
    expect_text(&view, &viewed, "xyz 0123456789abc");
    struct ArrowArray sliced = small;
    sliced.offset = 1;
    sliced.length = 2;
    expect_text(&utf8, &sliced, "- bc");
}

Test(arrow, dictionaries_runs_and_nested_values)
{
    struct ArrowSchema text = {.format = "u", .name = "item"};
    const struct ArrowSchema dictionary = {.format = "c", .name = "c", .dictionary = &text};
    struct arrow_field field;
    cr_assert_null(arrow_field_read(&dictionary, &arena, &field));
    struct ArrowArray words = ARRAY(2, NULL, ((const int32_t[]){0, 1, 4}), "a\"b\n");
    struct ArrowArray codes = ARRAY(3, NULL, ((const int8_t[]){1, 0, 1}));
    codes.dictionary = &words;
    expect_text(&field, &codes, "\"b\n a \"b\n");

    const struct ArrowSchema list = {
        .format = "+l", .name = "c", .n_children = 1, .children = (struct ArrowSchema *[]){&text}};
    cr_assert_null(arrow_field_read(&list, &arena, &field));
    struct ArrowArray lists = ARRAY(3, NULL, ((const int32_t[]){0, 2, 2, 2}));
    lists.n_children = 1;
    lists.children = (struct ArrowArray *[]){&words};
    expect_text(&field, &lists, "[\"a\",\"\\\"b\\n\"] [] []");

    const struct ArrowSchema record = {
        .format = "+s", .name = "c", .n_children = 1, .children = (struct ArrowSchema *[]){&text}};
    cr_assert_null(arrow_field_read(&record, &arena, &field));
    struct ArrowArray records = ARRAY(2, NULL);
    records.n_children = 1;
    records.children = (struct ArrowArray *[]){&words};
    expect_text(&field, &records, "{\"item\":\"a\"} {\"item\":\"\\\"b\\n\"}");

    struct ArrowSchema ends = {.format = "i", .name = "run_ends"};
    const struct ArrowSchema runs = {.format = "+r",
                                     .name = "c",
                                     .n_children = 2,
                                     .children = (struct ArrowSchema *[]){&ends, &text}};
    cr_assert_null(arrow_field_read(&runs, &arena, &field));
    struct ArrowArray run_ends = ARRAY(2, NULL, ((const int32_t[]){2, 3}));
    struct ArrowArray run = {.length = 2,
                             .offset = 1,
                             .n_children = 2,
                             .children = (struct ArrowArray *[]){&run_ends, &words}};
    expect_text(&field, &run, "a \"b\n");
}

/* ---- Damage */

static void expect_damaged(const char *format, struct ArrowArray array, const char *wanted)
{
    const struct arrow_field field = field_of(format);
    const char *problem = arrow_array_check(&field, &array);
    cr_assert_not_null(problem, "%s", wanted);
    cr_expect_not_null(strstr(problem, wanted), "%s: %s", wanted, problem);
}

Test(arrow, damaged_arrays_are_found)
{
    const int32_t falling[] = {0, 3, 1}, below[] = {-1, 0, 1}, good[] = {0, 1, 3};
    expect_damaged("u", ARRAY(2, NULL, falling, "abc"), "fall");
    expect_damaged("u", ARRAY(2, NULL, below, "abc"), "below 0");
    expect_damaged("u", ARRAY(2, NULL, NULL, "abc"), "no offsets");
    expect_damaged("u", ARRAY(2, NULL, good, NULL), "no values");
    expect_damaged("u", ARRAY(2, NULL, good), "number of buffers");
    expect_damaged("l", ARRAY(2, NULL, NULL), "no values");
    expect_damaged("l", ARRAY(-1, NULL, good), "impossible length");
    expect_damaged("l", ARRAY(INT64_MAX / 8, NULL, good), "impossible length");
    const uint32_t long_view[] = {13, 0, 0, 3}, no_buffer[] = {13, 0, 1, 0};
    expect_damaged("vu", ARRAY(1, NULL, long_view, "0123456789abcde", ((const int64_t[]){15})),
                   "outside of its buffer");
    expect_damaged("vu", ARRAY(1, NULL, no_buffer, "0123456789abcde", ((const int64_t[]){15})),
                   "outside of its buffer");
}

Test(arrow, an_index_outside_of_its_dictionary_is_found_unless_it_is_null)
{
    struct ArrowSchema text = {.format = "u", .name = "item"};
    const struct ArrowSchema dictionary = {.format = "L", .name = "c", .dictionary = &text};
    struct arrow_field field;
    cr_assert_null(arrow_field_read(&dictionary, &arena, &field));
    struct ArrowArray words = ARRAY(1, NULL, ((const int32_t[]){0, 1}), "a");
    const uint64_t indexes[] = {0, UINT64_MAX};
    const uint8_t valid = 1;
    struct ArrowArray codes = ARRAY(2, NULL, indexes), with_null = ARRAY(2, &valid, indexes);
    codes.dictionary = with_null.dictionary = &words;
    cr_assert_not_null(arrow_array_check(&field, &codes));
    expect_text(&field, &with_null, "a -");
}

Test(arrow, unknown_types_have_a_reason)
{
    const char *const formats[] = {
        "",   "x",    "uu", "w:-1", "d:0,1",   "d:10",       "d:10,2,100", "tsq:",    "tds",
        "+x", "+w:x", "vx", "tiM",  "+ud:0,1", "d:10,2,300", "d:10,2,",    "d:10,2,x"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct arrow_field field;
        const struct ArrowSchema schema = {.format = formats[i], .name = "c"};
        cr_expect_not_null(arrow_field_read(&schema, &arena, &field), "%s", formats[i]);
    }
}

/* Only the column that has such a type cannot be read. */
Test(arrow, tables_with_unknown_types)
{
    struct ArrowSchema unknown = {.format = "tiD", .name = "u"}, known = {.format = "l"};
    struct ArrowSchema list = {.format = "+l",
                               .name = "list",
                               .n_children = 1,
                               .children = &(struct ArrowSchema *){&unknown}};
    struct ArrowSchema *columns[] = {&known, &unknown, &list, NULL};
    const struct ArrowSchema table = {.format = "+s", .n_children = 4, .children = columns};
    struct arrow_field field;
    cr_assert_null(arrow_table_read(&table, &arena, &field));
    cr_assert_eq(field.child_count, 4);
    cr_expect_eq(field.children[0].type, ARROW_I64);
    cr_expect_null(field.children[0].problem);
    for (int i = 1; i < 4; i++) cr_expect_not_null(field.children[i].problem, "%d", i);
    cr_expect_str_eq(field.children[2].name, "list");
    cr_expect_str_eq(arrow_table_read(&known, &arena, &field), "it is no table");
}
