/* zipWithIndex: indexes continue across partitions of any kind of RDD; and
 * repartitionAndSortWithinPartitions. */
#include "engine/records/codec.h"
#include "tests/unit/ops/actions.h"

TestSuite(zip_with_index, .init = scratch_open, .fini = scratch_close);

static struct glint_rdd *make_zip(struct glint *g, void *arg)
{
    return glint_zip_with_index(input_rdd(g, arg));
}

static struct table zip_model(const struct table *t)
{
    struct table zipped = {.schema = {t->schema.value, GLINT_I64}};
    for (uint64_t i = 0; i < t->count; i++)
        table_add(&zipped, t->rows[i].value, number((int64_t)i));
    return zipped;
}

Test(zip_with_index, every_type_is_numbered)
{
    static const enum glint_type types[] = {GLINT_BYTES, GLINT_TEXT, GLINT_I64, GLINT_F64,
                                            GLINT_MSGPACK};
    for (int v = 0; v < 5; v++) {
        struct table t = {.schema = {GLINT_NONE, types[v]}};
        for (int i = 0; i < 3000; i++) {
            const uint8_t byte = (uint8_t)(i % 100);
            const bool is_bytes = types[v] != GLINT_I64 && types[v] != GLINT_F64;
            table_add(&t, none(), is_bytes ? bytes(&byte, 1) : number(i));
        }
        struct table expected = zip_model(&t);
        struct input in = {.table = &t};
        for (in.maps = 1; in.maps < 40; in.maps = in.maps * 3 + 1)
            plan_expect(make_zip, &in, NULL, &expected);
        table_free(&expected);
        table_free(&t);
    }
}

/* More partitions than rows: some are empty, at both ends and in between. */
static struct glint_rdd *make_with_holes(struct glint *g, void *arg)
{
    struct input *in = arg, none_at_all = *in;
    struct table empty = {.schema = in->table->schema};
    none_at_all.table = &empty;
    struct glint_rdd *hole = input_rdd(g, &none_at_all), *rows = input_rdd(g, in);
    return glint_zip_with_index(glint_union(glint_union(hole, rows), glint_union(hole, rows)));
}

Test(zip_with_index, empty_partitions_are_skipped)
{
    struct table t = make_numbers(7, 1), twice = make_numbers(7, 1);
    for (uint64_t i = 0; i < t.count; i++) table_add(&twice, none(), t.rows[i].value);
    struct table expected = zip_model(&twice), empty = {.schema = {GLINT_I64, GLINT_I64}};
    struct input in = {.table = &t, .maps = 20};
    plan_expect(make_with_holes, &in, NULL, &expected);
    t.count = 0;
    plan_expect(make_zip, &in, NULL, &empty);
    plan_expect(make_with_holes, &in, NULL, &empty);
    table_free(&t);
    table_free(&twice);
    table_free(&expected);
}

/* After a shuffle, before a sort, and twice in one stage: the counting pass of each runs after
 * those of its parents. */
static struct glint_rdd *make_deep(struct glint *g, void *arg)
{
    struct input *in = arg;
    struct glint_rdd *set = glint_with_partitions(glint_distinct(input_rdd(g, in)), 5);
    struct glint_rdd *once = glint_values(glint_zip_with_index(set));
    struct glint_rdd *all = glint_union(once, once);
    struct glint_rdd *twice = glint_zip_with_index(glint_coalesce(all, 4));
    struct glint_rdd *sorted = glint_with_partitions(glint_sort_by_key(twice, false), 3);
    return glint_zip_with_index(glint_values(sorted));
}

Test(zip_with_index, nested_zips_are_prepared_parents_first)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_I64}};
    for (int i = 0; i < 1000; i++) table_add(&t, none(), number(i));
    struct table expected = {.schema = {GLINT_I64, GLINT_I64}};
    for (int64_t i = 0; i < 2000; i++) /* value n: indexes n and 1000 + n; descending */
        table_add(&expected, number(999 - i / 2 + i % 2 * 1000), number(i));
    struct input in = {.table = &t, .maps = 6};
    plan_expect(make_deep, &in, NULL, &expected);
    table_free(&expected);
    table_free(&t);
}

/* The counting pass adds nothing to the job's counters, and is skipped if no partition needs it. */
Test(zip_with_index, counting_pass_adds_nothing_to_counters)
{
    struct table t = make_numbers(1000, 3);
    struct input in = {.table = &t, .maps = 4};
    struct glint_rows rows;
    struct glint *g = fixture_open(&fixtures[0]);
    struct glint_rdd *visited = glint_map_partitions(input_rdd(g, &in), fn("two.count_rows"), NULL);
    struct glint_rdd *zipped = glint_zip_with_index(visited);
    cr_assert_eq(glint_collect(zipped, &rows), 0);
    cr_assert_eq(glint_counter_value(g, "counted rows"), 1000);
    glint_rows_free(&rows);
    cr_assert_eq(glint_take(zipped, 3, &rows), 0);
    cr_assert_eq(rows.count, 3);
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
    table_free(&t);
}

static struct glint_rdd *make_of_pairs(struct glint *g, void *arg)
{
    return glint_zip_with_index(glint_key_by(input_rdd(g, arg), fn("red.modulo"), NULL));
}

static struct glint_rdd *make_failing(struct glint *g, void *arg)
{
    return glint_zip_with_index(glint_flat_map(input_rdd(g, arg), fn("two.refuses"), NULL));
}

Test(zip_with_index, misuse_and_errors_are_reported)
{
    struct table t = make_numbers(50, 5);
    struct input in = {.table = &t, .maps = 3};
    plan_expect_error(make_of_pairs, &in, NULL, GLINT_E_PLAN_TYPE,
                      "zipWithIndex needs single elements");
    plan_expect_error(make_failing, &in, NULL, GLINT_E_FUNCTION_FAILED, "as requested");
    cr_assert_null(glint_zip_with_index(NULL));
    table_free(&t);
}

/* ---- repartitionAndSortWithinPartitions */

struct sorting {
    struct input in;
    bool ascending;
};

static struct glint_rdd *make_sorted(struct glint *g, void *arg)
{
    struct sorting *s = arg;
    return glint_repartition_and_sort_within_partitions(input_rdd(g, &s->in), s->in.partitions,
                                                        s->ascending);
}

/* The keys of each partition in reverse order; rows with equal keys keep their order. */
static struct table reversed(const struct table *t, uint32_t partitions)
{
    struct table out = {.schema = t->schema};
    struct table sorted = table_part(t, 0, t->count);
    table_by_hash(&sorted, 1);
    for (uint64_t end = sorted.count; end > 0;) { /* by key alone, descending */
        uint64_t first = end - 1;
        while (first > 0 &&
               codec_compare(sorted.rows[first - 1].key.bytes, sorted.rows[end - 1].key.bytes) == 0)
            first--;
        for (uint64_t i = first; i < end; i++)
            table_add(&out, sorted.rows[i].key, sorted.rows[i].value);
        end = first;
    }
    table_free(&sorted);
    cr_assert(out.count == t->count && partitions == 1);
    return out;
}

Test(zip_with_index, repartition_and_sort_orders_each_partition)
{
    struct table t = make_pairs(3000, 200, 9), by_hash = table_part(&t, 0, t.count);
    struct table down = reversed(&t, 1);
    struct sorting s = {{.table = &t, .maps = 4}, true};
    for (s.in.partitions = 1; s.in.partitions < 20; s.in.partitions += 6) {
        table_by_hash(&by_hash, s.in.partitions);
        plan_expect(make_sorted, &s, NULL, &by_hash);
        table_free(&by_hash);
        by_hash = table_part(&t, 0, t.count);
    }
    s.ascending = false;
    s.in.partitions = 1;
    plan_expect(make_sorted, &s, NULL, &down);
    struct table elements = make_numbers(10, 1);
    s.in.table = &elements;
    plan_expect_error(make_sorted, &s, NULL, GLINT_E_PLAN_TYPE,
                      "repartitionAndSortWithinPartitions needs keys");
    table_free(&elements);
    table_free(&down);
    table_free(&by_hash);
    table_free(&t);
}

static int run_lookup(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_lookup(make_sorted(g, arg), text("k7"), out);
}

Test(zip_with_index, lookup_finds_key_after_repartition_and_sort)
{
    struct table t = make_pairs(1000, 50, 2), expected = {.schema = {GLINT_NONE, GLINT_I64}};
    for (uint64_t i = 0; i < t.count; i++)
        if (codec_compare(t.rows[i].key.bytes, text("k7").bytes) == 0)
            table_add(&expected, none(), t.rows[i].value);
    struct sorting s = {{.table = &t, .maps = 4, .partitions = 9}, false};
    cr_assert_gt(expected.count, 0);
    action_expect(run_lookup, &s, NULL, &expected);
    table_free(&expected);
    table_free(&t);
}
