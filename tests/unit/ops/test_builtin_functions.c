/* The built-in functions, with values in several partitions, compared with loops. */
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(builtin_functions, .init = scratch_open, .fini = scratch_close);

enum { ROWS = 1000, KEYS = 7 };

static struct glint_rdd *rows_of(struct glint *g, enum glint_type type,
                                 union glint_value (*value)(int64_t i))
{
    static struct glint_record rows[ROWS];
    for (int64_t i = 0; i < ROWS; i++)
        rows[i] = (struct glint_record){.key.i64 = i % KEYS, .value = value(i)};
    return glint_parallelize(g, (struct glint_schema){GLINT_I64, type}, rows, ROWS, 5);
}

static union glint_value i64_value(int64_t i)
{
    return (union glint_value){.i64 = i * 7919 % 1009 - 500};
}

static union glint_value f64_value(int64_t i)
{
    return (union glint_value){.f64 = i % 100 == 3 ? NAN : (double)i64_value(i).i64 / 4};
}

/* Values of 1 to 3 bytes, some of them prefixes of others. */
static union glint_value text_value(int64_t i)
{
    static const char text[] = "abacabadabacabaeabacabadabacaba";
    return (union glint_value){
        .bytes = {(const uint8_t *)text + i * 31 % 28, (uint64_t)(1 + i % 3)}};
}

/* Runs the plan in every fixture, and calls `check` with each key and its result. */
static void expect(enum glint_type type, union glint_value (*value)(int64_t i),
                   struct glint_rdd *(*plan)(struct glint_rdd *rdd),
                   void (*check)(int64_t key, union glint_value got))
{
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct glint_rows rows;
        cr_assert_eq(glint_collect_as_map(plan(rows_of(g, type, value)), &rows), 0, "%s",
                     glint_error(g)->cause);
        cr_assert_eq(rows.count, KEYS);
        for (uint64_t i = 0; i < rows.count; i++) {
            struct glint_record r = glint_rows_at(&rows, i);
            check(r.key.i64, r.value);
        }
        glint_rows_free(&rows);
        fixture_close(g, GLINT_OK);
    }
}

#define REDUCE_PLAN(name_, function_)                                                              \
    static struct glint_rdd *name_(struct glint_rdd *rdd)                                          \
    {                                                                                              \
        return glint_reduce_by_key(rdd, &function_, NULL);                                         \
    }
REDUCE_PLAN(min_i64, GLINT_MIN_I64)
REDUCE_PLAN(max_i64, GLINT_MAX_I64)
REDUCE_PLAN(min_f64, GLINT_MIN_F64)
REDUCE_PLAN(max_f64, GLINT_MAX_F64)
REDUCE_PLAN(min_text, GLINT_MIN_TEXT)
REDUCE_PLAN(max_text, GLINT_MAX_TEXT)
REDUCE_PLAN(concat_text, GLINT_CONCAT_TEXT)
REDUCE_PLAN(first, GLINT_FIRST)
REDUCE_PLAN(last_i64, GLINT_LAST_I64)
REDUCE_PLAN(last_f64, GLINT_LAST_F64)
REDUCE_PLAN(last_text, GLINT_LAST_TEXT)
REDUCE_PLAN(sum_f64s, GLINT_SUM_F64S)

static struct glint_rdd *count(struct glint_rdd *rdd)
{
    return glint_combine_by_key(rdd, &GLINT_COUNT, NULL);
}

static void is_min_i64(int64_t key, union glint_value got)
{
    int64_t least = INT64_MAX;
    for (int64_t i = key; i < ROWS; i += KEYS)
        if (i64_value(i).i64 < least) least = i64_value(i).i64;
    cr_expect_eq(got.i64, least);
}

static void is_max_i64(int64_t key, union glint_value got)
{
    int64_t greatest = INT64_MIN;
    for (int64_t i = key; i < ROWS; i += KEYS)
        if (i64_value(i).i64 > greatest) greatest = i64_value(i).i64;
    cr_expect_eq(got.i64, greatest);
}

/* NaN is the greatest value. */
static void is_min_f64(int64_t key, union glint_value got)
{
    double least = INFINITY;
    for (int64_t i = key; i < ROWS; i += KEYS)
        if (f64_value(i).f64 < least) least = f64_value(i).f64;
    cr_expect_eq(got.f64, least);
}

static void is_max_f64(int64_t key, union glint_value got)
{
    double greatest = -INFINITY;
    for (int64_t i = key; i < ROWS; i += KEYS)
        if (isnan(f64_value(i).f64) || f64_value(i).f64 > greatest) greatest = f64_value(i).f64;
    for (int64_t i = key; i < ROWS; i += KEYS)
        if (isnan(f64_value(i).f64)) greatest = NAN;
    cr_expect(isnan(greatest) ? isnan(got.f64) : got.f64 == greatest);
}

static int compare_text(struct glint_slice a, struct glint_slice b)
{
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static struct glint_slice extreme_text(int64_t key, int sign)
{
    struct glint_slice found = text_value(key).bytes;
    for (int64_t i = key; i < ROWS; i += KEYS)
        if (sign * compare_text(text_value(i).bytes, found) > 0) found = text_value(i).bytes;
    return found;
}

static void is_min_text(int64_t key, union glint_value got)
{
    cr_expect_eq(compare_text(got.bytes, extreme_text(key, -1)), 0);
}

static void is_max_text(int64_t key, union glint_value got)
{
    cr_expect_eq(compare_text(got.bytes, extreme_text(key, 1)), 0);
}

static void is_concatenated(int64_t key, union glint_value got)
{
    uint64_t at = 0;
    for (int64_t i = key; i < ROWS; i += KEYS) {
        struct glint_slice part = text_value(i).bytes;
        cr_assert(at + part.size <= got.bytes.size);
        cr_expect_eq(memcmp(got.bytes.data + at, part.data, part.size), 0);
        at += part.size;
    }
    cr_expect_eq(at, got.bytes.size);
}

static void is_first_text(int64_t key, union glint_value got)
{
    cr_expect_eq(compare_text(got.bytes, text_value(key).bytes), 0);
}

static void is_first_i64(int64_t key, union glint_value got)
{
    cr_expect_eq(got.i64, i64_value(key).i64);
}

static void is_count(int64_t key, union glint_value got)
{
    cr_expect_eq(got.i64, (ROWS - key + KEYS - 1) / KEYS);
}

Test(builtin_functions, min_and_max_of_numbers)
{
    expect(GLINT_I64, i64_value, min_i64, is_min_i64);
    expect(GLINT_I64, i64_value, max_i64, is_max_i64);
    expect(GLINT_F64, f64_value, min_f64, is_min_f64);
    expect(GLINT_F64, f64_value, max_f64, is_max_f64);
}

Test(builtin_functions, min_and_max_of_text)
{
    expect(GLINT_TEXT, text_value, min_text, is_min_text);
    expect(GLINT_TEXT, text_value, max_text, is_max_text);
}

Test(builtin_functions, concat_and_first_follow_the_order_of_the_values)
{
    expect(GLINT_TEXT, text_value, concat_text, is_concatenated);
    expect(GLINT_TEXT, text_value, first, is_first_text);
    expect(GLINT_I64, i64_value, first, is_first_i64);
}

Test(builtin_functions, count_of_any_type)
{
    expect(GLINT_TEXT, text_value, count, is_count);
    expect(GLINT_F64, f64_value, count, is_count);
}

/* ---- Functions for text */

static struct glint_rdd *parallelize_text(struct glint *g, const char *const *texts, uint64_t count)
{
    struct glint_record rows[16];
    cr_assert_leq(count, 16);
    for (uint64_t i = 0; i < count; i++)
        rows[i] =
            (struct glint_record){.value.bytes = {(const uint8_t *)texts[i], strlen(texts[i])}};
    return glint_parallelize(g, (struct glint_schema){GLINT_NONE, GLINT_TEXT}, rows, count, 3);
}

static bool equals(struct glint_slice got, const char *text)
{
    return got.size == strlen(text) && memcmp(got.data, text, got.size) == 0;
}

static struct glint_rows collect(struct glint *g, struct glint_rdd *rdd)
{
    struct glint_rows rows;
    cr_assert_eq(glint_collect(rdd, &rows), 0, "%s", glint_error(g)->cause);
    return rows;
}

Test(builtin_functions, split_words_at_white_space_of_ascii)
{
    static const char *const lines[] = {"", " a  b\tc", "\v\f\r\n",
                                        "d\xc2\xa0"
                                        "d e "};
    static const char *const words[] = {"a", "b", "c",
                                        "d\xc2\xa0"
                                        "d",
                                        "e"};
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct glint_rdd *ones =
            glint_map(glint_flat_map(parallelize_text(g, lines, 4), &GLINT_SPLIT_WORDS, NULL),
                      &GLINT_PAIR_WITH_ONE, NULL);
        cr_expect_eq(glint_schema(ones).key, GLINT_TEXT);
        cr_expect_eq(glint_schema(ones).value, GLINT_I64);
        struct glint_rows rows = collect(g, ones);
        cr_assert_eq(rows.count, 5);
        for (uint64_t i = 0; i < rows.count; i++) {
            struct glint_record r = glint_rows_at(&rows, i);
            cr_expect(equals(r.key.bytes, words[i]) && r.value.i64 == 1);
        }
        glint_rows_free(&rows);
        fixture_close(g, GLINT_OK);
    }
}

Test(builtin_functions, key_value_splits_at_the_first_tab)
{
    static const char *const lines[] = {"a\tb\tc", "", "no tab", "\tb", "a\t"};
    static const char *const pairs[][2] = {
        {"a", "b\tc"}, {"", ""}, {"no tab", ""}, {"", "b"}, {"a", ""}};
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct glint_rows rows =
            collect(g, glint_map(parallelize_text(g, lines, 5), &GLINT_KEY_VALUE, NULL));
        cr_assert_eq(rows.count, 5);
        for (uint64_t i = 0; i < rows.count; i++) {
            struct glint_record r = glint_rows_at(&rows, i);
            cr_expect(equals(r.key.bytes, pairs[i][0]) && equals(r.value.bytes, pairs[i][1]));
        }
        glint_rows_free(&rows);
        fixture_close(g, GLINT_OK);
    }
}

/* Parses the values of "k TAB text", and returns the code of the action. */
static int parse(struct glint *g, const struct glint_function *function, const char *const *lines,
                 uint64_t count, struct glint_rows *out)
{
    struct glint_rdd *pairs = glint_map(parallelize_text(g, lines, count), &GLINT_KEY_VALUE, NULL);
    return glint_collect(glint_flat_map_values(pairs, function, NULL), out);
}

Test(builtin_functions, parse_numbers)
{
    static const char *const lines[] = {"k\t-9223372036854775808", "k\t7"};
    static const char *const reals[] = {"k\t-2.5e3", "k\t7"};
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct glint_rows rows;
        cr_assert_eq(parse(g, &GLINT_PARSE_I64, lines, 2, &rows), 0);
        cr_expect(equals(glint_rows_at(&rows, 0).key.bytes, "k"));
        cr_expect_eq(glint_rows_at(&rows, 0).value.i64, INT64_MIN);
        cr_expect_eq(glint_rows_at(&rows, 1).value.i64, 7);
        glint_rows_free(&rows);
        cr_assert_eq(parse(g, &GLINT_PARSE_F64, reals, 2, &rows), 0);
        cr_expect_eq(glint_rows_at(&rows, 0).value.f64, -2500.0);
        cr_expect_eq(glint_rows_at(&rows, 1).value.f64, 7.0);
        glint_rows_free(&rows);
        fixture_close(g, GLINT_OK);
    }
}

Test(builtin_functions, a_value_that_is_no_number_is_a_bad_row)
{
    static const char *const invalid[] = {"k\t", "k\t 1", "k\t1x", "k\tnan", "k"};
    for (const struct fixture *w = fixtures; w->name != NULL; w++)
        for (int i = 0; i < 5; i++) {
            struct glint_rows rows;
            struct glint *g = fixture_open(w);
            cr_expect_eq(
                parse(g, i % 2 == 0 ? &GLINT_PARSE_I64 : &GLINT_PARSE_F64, &invalid[i], 1, &rows),
                GLINT_E_BAD_ROW);
            glint_rows_free(&rows);
            fixture_close(g, GLINT_E_BAD_ROW);
        }
}

static int64_t last_of(int64_t key)
{
    return key + (ROWS - 1 - key) / KEYS * KEYS;
}

static void is_last_i64(int64_t key, union glint_value got)
{
    cr_expect_eq(got.i64, i64_value(last_of(key)).i64);
}

static union glint_value real_value(int64_t i)
{
    return (union glint_value){.f64 = (double)i64_value(i).i64 / 7};
}

static void is_last_f64(int64_t key, union glint_value got)
{
    cr_expect_eq(got.f64, real_value(last_of(key)).f64);
}

static void is_last_text(int64_t key, union glint_value got)
{
    const struct glint_slice want = text_value(last_of(key)).bytes;
    cr_expect_eq(got.bytes.size, want.size);
    cr_expect_arr_eq(got.bytes.data, want.data, want.size);
}

static void is_mean_i64(int64_t key, union glint_value got)
{
    double sum = 0, count = 0;
    for (int64_t i = key; i < ROWS; i += KEYS, count++) sum += (double)i64_value(i).i64;
    cr_expect_float_eq(got.f64, sum / count, 1e-9);
}

static void is_mean_f64(int64_t key, union glint_value got)
{
    double sum = 0, count = 0;
    for (int64_t i = key; i < ROWS; i += KEYS, count++) sum += real_value(i).f64;
    cr_expect_float_eq(got.f64, sum / count, 1e-9);
}

/* (i, 1) */
static union glint_value vector_value(int64_t i)
{
    static double vectors[ROWS][2];
    vectors[i][0] = (double)i;
    vectors[i][1] = 1;
    return (union glint_value){.bytes = {(const uint8_t *)vectors[i], sizeof vectors[i]}};
}

static void is_vector_sum(int64_t key, union glint_value got)
{
    double want[2] = {0, 0}, sum[2];
    for (int64_t i = key; i < ROWS; i += KEYS) {
        want[0] += (double)i;
        want[1]++;
    }
    cr_assert_eq(got.bytes.size, sizeof sum);
    memcpy(sum, got.bytes.data, sizeof sum);
    cr_expect_arr_eq(sum, want, sizeof want);
}

Test(builtin_functions, last_mean_and_vectors)
{
    expect(GLINT_I64, i64_value, last_i64, is_last_i64);
    expect(GLINT_F64, real_value, last_f64, is_last_f64);
    expect(GLINT_TEXT, text_value, last_text, is_last_text);
    expect(GLINT_I64, i64_value, glint_mean_by_key, is_mean_i64);
    expect(GLINT_F64, real_value, glint_mean_by_key, is_mean_f64);
    expect(GLINT_BYTES, vector_value, sum_f64s, is_vector_sum);
}

Test(builtin_functions, vectors_of_different_sizes_cannot_be_added)
{
    struct glint *g = fixture_open(&fixtures[0]);
    int64_t rows;
    cr_expect_eq(glint_count(sum_f64s(rows_of(g, GLINT_TEXT, text_value)), &rows),
                 GLINT_E_FUNCTION_FAILED);
    cr_expect_not_null(strstr(glint_error(g)->cause, "cannot be added"));
    fixture_close(g, GLINT_E_FUNCTION_FAILED);
}

static union glint_value huge_value(int64_t i)
{
    (void)i;
    return (union glint_value){.i64 = INT64_C(1) << 62};
}

static union glint_value huge_values(int64_t i)
{
    return (union glint_value){.i64 = -(INT64_C(1) << 62) - i};
}

enum { SUM_FORMS = 6 };

static int run_sum_form(int form, struct glint_rdd *rdd, struct glint_rows *out)
{
    const union glint_value zero = {.i64 = 0};
    switch (form) {
    case 0: return glint_collect(glint_reduce_by_key(rdd, &GLINT_SUM_I64, NULL), out);
    case 1: return glint_collect(glint_fold_by_key(rdd, zero, &GLINT_SUM_I64, NULL), out);
    case 2: return glint_reduce_by_key_locally(rdd, &GLINT_SUM_I64, NULL, out);
    case 3: return glint_reduce(rdd, &GLINT_SUM_I64, NULL, out);
    case 4: return glint_fold(rdd, zero, &GLINT_SUM_I64, NULL, out);
    default: return glint_tree_reduce(rdd, &GLINT_SUM_I64, NULL, 2, out);
    }
}

/* In tasks, by columns and by counts of equal values, and where partial sums are merged. */
Test(builtin_functions, sum_i64_of_more_bits_is_an_error)
{
    union glint_value (*const values[])(int64_t) = {huge_value, huge_values};
    for (const struct fixture *w = fixtures; w->name != NULL; w++)
        for (int i = 0; i < 2 * SUM_FORMS; i++) {
            struct glint_rows rows;
            struct glint *g = fixture_open(w);
            cr_assert_eq(run_sum_form(i / 2, rows_of(g, GLINT_I64, values[i % 2]), &rows),
                         GLINT_E_VALUE_LIMIT, "%s, %d", w->name, i);
            cr_expect_not_null(strstr(glint_error(g)->cause, "sum_i64"));
            fixture_close(g, GLINT_E_VALUE_LIMIT);
        }
}

/* Each partition has one value, so that only partial sums are added. */
Test(builtin_functions, sum_i64_has_all_bits)
{
    const int64_t pairs[][2] = {{INT64_MAX - 5, 5}, {INT64_MIN + 5, -5}, {INT64_MAX, 1}};
    for (const struct fixture *w = fixtures; w->name != NULL; w++)
        for (int i = 0; i < 3 * SUM_FORMS; i++) {
            struct glint_rows rows;
            struct glint *g = fixture_open(w);
            const int64_t *p = pairs[i % 3];
            const struct glint_record two[] = {{.value.i64 = p[0]}, {.value.i64 = p[1]}};
            const enum glint_code wanted = i % 3 == 2 ? GLINT_E_VALUE_LIMIT : GLINT_OK;
            struct glint_rdd *rdd =
                glint_parallelize(g, (struct glint_schema){GLINT_I64, GLINT_I64}, two, 2, 2);
            cr_assert_eq(run_sum_form(i / 3, rdd, &rows), wanted, "%s, %d", w->name, i);
            if (wanted == GLINT_OK) cr_expect_eq(glint_rows_at(&rows, 0).value.i64, p[0] + p[1]);
            glint_rows_free(&rows);
            fixture_close(g, wanted);
        }
}

static struct glint_slice slice_of(const char *text)
{
    return (struct glint_slice){(const uint8_t *)text, strlen(text)};
}

Test(builtin_functions, slices)
{
    struct glint_slice rest = slice_of(",, a b,c "), word;
    static const char *const words[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        cr_assert(glint_next_word(&rest, ", ", &word));
        cr_expect(equals(word, words[i]));
    }
    cr_expect_not(glint_next_word(&rest, ", ", &word));
    cr_expect(equals(glint_trim(slice_of(" \t a b\r\n")), "a b"));
    cr_expect_eq(glint_trim(slice_of(" \n ")).size, 0);
}
