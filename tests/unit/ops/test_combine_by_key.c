/* foldByKey, aggregateByKey and combineByKey, compared with a model that merges the rows of each
 * map partition first and then the partitions in order. */
#include "tests/unit/ops/actions.h"

#include <stdio.h>

TestSuite(combine_by_key, .init = scratch_open, .fini = scratch_close);

static struct glint_rdd *make_fold(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_partitions(
        glint_fold_by_key(input_rdd(g, in), in->zero, fn(in->function), NULL), in->partitions);
}

static struct glint_rdd *make_aggregate(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_partitions(
        glint_aggregate_by_key(input_rdd(g, in), in->zero, fn(in->function), NULL), in->partitions);
}

static struct glint_rdd *make_combine(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_partitions(glint_combine_by_key(input_rdd(g, in), fn(in->function), NULL),
                                 in->partitions);
}

enum kind { FOLD_TEXTS, FOLD_SUMS, AGGREGATE_LISTS, COMBINE_LISTS };

static void append_bytes(struct buffer *b, const void *data, uint64_t size)
{
    cr_assert(buffer_append(b, data, size));
}

static void append_value(struct buffer *b, const struct table *t, uint64_t row, char mark)
{
    char digits[32];
    const struct glint_record *r = &t->rows[row];
    if (t->schema.value == GLINT_TEXT) {
        append_bytes(b, r->value.bytes.data, r->value.bytes.size);
        return;
    }
    append_bytes(
        b, digits,
        (uint64_t)snprintf(digits, sizeof digits, "%c%lld", mark, (long long)r->value.i64));
}

static bool same_key(const struct glint_record *a, const struct glint_record *b)
{
    return a->key.bytes.size == b->key.bytes.size &&
           memcmp(a->key.bytes.data, b->key.bytes.data, a->key.bytes.size) == 0;
}

/* Computes the result for the key of row `first`, its first row. */
static void combine_key(const struct input *in, enum kind kind, uint64_t first, struct buffer *text,
                        int64_t *sum)
{
    const struct table *t = in->table;
    text->size = 0;
    *sum = 0;
    bool any = false;
    for (uint32_t p = 0; p < in->maps; p++) {
        bool here = false;
        for (uint64_t i = t->count * p / in->maps; i < t->count * (p + 1) / in->maps; i++) {
            if (!same_key(&t->rows[i], &t->rows[first])) continue;
            if (!here && any && kind != FOLD_TEXTS) append_bytes(text, "|", 1);
            if (!here && kind == FOLD_SUMS) *sum += in->zero.i64;
            if (!here && (kind == FOLD_TEXTS || kind == AGGREGATE_LISTS))
                append_bytes(text, in->zero.bytes.data, in->zero.bytes.size);
            if (kind == FOLD_SUMS)
                *sum += t->rows[i].value.i64;
            else
                append_value(text, t, i, !here && kind == COMBINE_LISTS ? '!' : ',');
            here = any = true;
        }
    }
}

static struct table expected_of(const struct input *in, enum kind kind)
{
    const struct table *t = in->table;
    struct table out = {.schema = {t->schema.key, kind == FOLD_SUMS ? GLINT_I64 : GLINT_TEXT}};
    struct table keys = table_part(t, 0, t->count);
    struct buffer b = {NULL, 0, 0};
    bool *seen = mem_zalloc(t->count);
    cr_assert_not_null(seen);
    for (uint64_t i = 0; i < t->count; i++) {
        if (seen[i]) continue;
        for (uint64_t k = i; k < t->count; k++)
            if (same_key(&t->rows[i], &t->rows[k])) seen[k] = true;
        int64_t sum;
        combine_key(in, kind, i, &b, &sum);
        table_add(&out, t->rows[i].key, kind == FOLD_SUMS ? number(sum) : bytes(b.data, b.size));
    }
    table_by_hash(&out, in->partitions);
    mem_free(seen);
    buffer_fini(&b);
    table_free(&keys);
    return out;
}

static struct table make_texts(uint64_t count, uint64_t keys)
{
    struct table pairs = make_pairs(count, keys, 7), t = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    for (uint64_t i = 0; i < count; i++) {
        char word[32];
        const int size = snprintf(word, sizeof word, "%llu.", (unsigned long long)i);
        table_add(&t, pairs.rows[i].key, bytes(word, (uint64_t)size));
    }
    table_free(&pairs);
    return t;
}

static void try_all(struct input *in, plan_make make, enum kind kind, const struct fixture *base)
{
    static const uint32_t maps[] = {1, 2, 9}, partitions[] = {1, 5};
    for (int m = 0; m < 3; m++) {
        for (int p = 0; p < 2; p++) {
            in->maps = maps[m];
            in->partitions = partitions[p];
            struct table expected = expected_of(in, kind);
            plan_expect(make, in, base, &expected);
            table_free(&expected);
        }
    }
}

Test(combine_by_key, fold_equals_loop)
{
    struct table numbers = make_pairs(2000, 60, 1), texts = make_texts(2000, 60);
    static const char *const sums[] = {"red.sum", "red.columns", "glint.sum_i64"};
    for (int f = 0; f < 3; f++) {
        struct input in = {.table = &numbers, .function = sums[f], .zero = number(5)};
        try_all(&in, make_fold, FOLD_SUMS, NULL);
    }
    struct input in = {.table = &texts, .function = "red.concat", .zero = text("<0>")};
    try_all(&in, make_fold, FOLD_TEXTS, NULL);
    in.zero = text("");
    try_all(&in, make_fold, FOLD_TEXTS, NULL);
    table_free(&numbers);
    table_free(&texts);
}

Test(combine_by_key, aggregate_and_combine_equal_loop)
{
    struct table t = make_pairs(2000, 60, 1);
    struct input in = {.table = &t, .function = "red.list", .zero = text("z")};
    try_all(&in, make_aggregate, AGGREGATE_LISTS, NULL);
    try_all(&in, make_combine, COMBINE_LISTS, NULL);
    in.zero = text("");
    try_all(&in, make_aggregate, AGGREGATE_LISTS, NULL);
    table_free(&t);
}

/* Types: text to number, and a zero value of type number. */
Test(combine_by_key, accumulator_type_may_differ)
{
    struct table t = make_texts(900, 10);
    struct input in = {.table = &t,
                       .function = "red.byte_count",
                       .zero = number(1000),
                       .maps = 1,
                       .partitions = 1};
    struct input texts = {
        .table = &t, .function = "red.concat", .zero = text(""), .maps = 1, .partitions = 1};
    struct table joined = expected_of(&texts, FOLD_TEXTS);
    struct table created = {.schema = {GLINT_TEXT, GLINT_I64}}, from_zero = created;
    for (uint64_t i = 0; i < joined.count; i++) {
        const int64_t size = (int64_t)joined.rows[i].value.bytes.size;
        table_add(&created, joined.rows[i].key, number(size));
        table_add(&from_zero, joined.rows[i].key, number(size + 1000));
    }
    plan_expect(make_combine, &in, NULL, &created);
    plan_expect(make_aggregate, &in, NULL, &from_zero);
    table_free(&t);
    table_free(&joined);
    table_free(&created);
    table_free(&from_zero);
}

Test(combine_by_key, empty_input_gives_no_rows)
{
    struct table none_at_all = {.schema = {GLINT_TEXT, GLINT_I64}}, no_lists = none_at_all;
    no_lists.schema.value = GLINT_TEXT;
    struct input in = {.table = &none_at_all,
                       .maps = 3,
                       .partitions = 2,
                       .function = "red.sum",
                       .zero = number(1)};
    plan_expect(make_fold, &in, NULL, &none_at_all);
    in.function = "red.list";
    in.zero = text("z");
    plan_expect(make_aggregate, &in, NULL, &no_lists);
    plan_expect(make_combine, &in, NULL, &no_lists);
}

/* More keys than fit into a slot's memory: the result equals that with enough memory. */
static struct glint_rdd *make_many(struct glint *g, void *arg)
{
    const struct input *in = arg;
    struct glint_rdd *rdd =
        glint_parallelize(g, in->table->schema, in->table->rows, in->table->count, in->maps);
    rdd = glint_map_partitions(rdd, fn("red.many"), NULL);
    rdd = strcmp(in->function, "red.concat") == 0
              ? glint_fold_by_key(rdd, in->zero, fn(in->function), NULL)
              : glint_aggregate_by_key(rdd, in->zero, fn(in->function), NULL);
    return glint_with_partitions(rdd, in->partitions);
}

static int run_many(struct glint *g, void *arg, struct glint_rows *out)
{
    uint64_t digest[4] = {0, 0, 0, 0};
    struct glint_rows rows;
    int r = glint_collect(make_many(g, arg), &rows);
    if (r != 0) return r;
    for (uint64_t i = 0; i < rows.count; i++) {
        const struct glint_record row = glint_rows_at(&rows, i);
        const struct glint_slice *v = &row.value.bytes;
        digest[0]++;
        digest[1] += v->size;
        for (uint64_t b = 0; b < v->size; b++) digest[2] = digest[2] * 31 + v->data[b];
        digest[2] = digest[2] * 31 + row.key.bytes.size;
    }
    digest[3] = glint_counter_value(g, "spills") > 0;
    glint_rows_free(&rows);
    /* Returns a digest of the result as its rows. */
    struct glint_record sums[4];
    for (int i = 0; i < 4; i++) sums[i] = (struct glint_record){none(), number((int64_t)digest[i])};
    struct glint_schema schema = {GLINT_NONE, GLINT_I64};
    return glint_collect(glint_parallelize(g, schema, sums, 4, 1), out);
}

Test(combine_by_key, spilling_gives_the_same_rows)
{
    struct table seeds = {.schema = {GLINT_NONE, GLINT_I64}};
    for (int i = 0; i < 2; i++) table_add(&seeds, none(), number(i));
    static const char *const functions[] = {"red.concat", "red.text_list"};
    for (int f = 0; f < 2; f++) {
        struct input in = {.table = &seeds,
                           .maps = 4,
                           .partitions = 3,
                           .function = functions[f],
                           .zero = text(f == 0 ? "<>" : "")};
        const struct fixture roomy = {.name = "roomy", .slots = 1, .memory_bytes = GIB};
        struct glint *g = fixture_open(&roomy);
        struct glint_rows rows;
        struct table expected = {.schema = {GLINT_NONE, GLINT_I64}};
        cr_assert_eq(run_many(g, &in, &rows), 0);
        for (int i = 0; i < 3; i++) table_add(&expected, none(), glint_rows_at(&rows, i).value);
        cr_assert_eq(glint_rows_at(&rows, 3).value.i64, 0, "nothing spills with a gigabyte");
        glint_rows_free(&rows);
        fixture_close(g, GLINT_OK);
        table_add(&expected, none(), number(1));
        for (const struct fixture *w = tight_fixtures; w->name != NULL; w++) {
            g = fixture_open(w);
            cr_assert_eq(run_many(g, &in, &rows), 0);
            for (int i = 0; i < 4; i++)
                cr_assert_eq(glint_rows_at(&rows, i).value.i64, expected.rows[i].value.i64,
                             "%s, %s: sum %d", w->name, functions[f], i);
            glint_rows_free(&rows);
            fixture_close(g, GLINT_OK);
        }
        table_free(&expected);
    }
    table_free(&seeds);
}

Test(combine_by_key, misuse_is_rejected)
{
    struct table elements = make_numbers(5, 1), pairs = make_pairs(5, 2, 1);
    struct input in = {.table = &elements, .maps = 1, .partitions = 2, .zero = number(0)};
    in.function = "red.sum";
    plan_expect_error(make_fold, &in, NULL, GLINT_E_PLAN_TYPE, "foldByKey needs keys");
    in.function = "red.list";
    plan_expect_error(make_aggregate, &in, NULL, GLINT_E_PLAN_TYPE, "aggregateByKey needs keys");
    plan_expect_error(make_combine, &in, NULL, GLINT_E_PLAN_TYPE, "combineByKey needs keys");
    in.table = &pairs;
    in.function = "red.no_create";
    plan_expect_error(make_combine, &in, NULL, GLINT_E_PLAN_FUNCTION, "has no callback create");
    in.function = "red.no_combine";
    plan_expect_error(make_aggregate, &in, NULL, GLINT_E_PLAN_FUNCTION, "has no callback combine");
    plan_expect_error(make_fold, &in, NULL, GLINT_E_PLAN_FUNCTION, "whose kind is aggregate");
    in.function = "red.sum";
    plan_expect_error(make_aggregate, &in, NULL, GLINT_E_PLAN_FUNCTION, "whose kind is reduce");
    plan_expect_error(make_combine, &in, NULL, GLINT_E_PLAN_FUNCTION, "whose kind is reduce");
    in.function = "red.concat";
    plan_expect_error(make_fold, &in, NULL, GLINT_E_PLAN_TYPE, "red.concat takes");
    in.function = "red.unknown";
    plan_expect_error(make_fold, &in, NULL, GLINT_E_PLAN_FUNCTION, "red.unknown");
    in.function = NULL;
    plan_expect_error(make_combine, &in, NULL, GLINT_E_PLAN_FUNCTION, "NULL");
    table_free(&elements);
    table_free(&pairs);
}

/* The function fails in a map task, or (if each map task has one record) in the reduce task. */
Test(combine_by_key, failing_function_fails_the_job)
{
    struct table t = make_pairs(50, 5, 1), one_each = make_pairs(6, 1, 1);
    struct input in = {.table = &t, .maps = 2, .partitions = 2, .zero = number(0)};
    static const struct {
        const char *function, *cause;
    } wrong[] = {{"red.fail", "as requested"}, {"red.mute", "red.mute returned -1"}};
    for (int f = 0; f < 2; f++) {
        in.function = wrong[f].function;
        in.table = &t;
        in.maps = 2;
        plan_expect_error(make_fold, &in, NULL, GLINT_E_FUNCTION_FAILED, wrong[f].cause);
        in.table = &one_each;
        in.maps = 6;
        plan_expect_error(make_fold, &in, NULL, GLINT_E_FUNCTION_FAILED, wrong[f].cause);
    }
    table_free(&t);
    table_free(&one_each);
}
