/* distinct, compared with the set of the records, for every pair of types. */
#include "tests/unit/ops/actions.h"

#include <math.h>
#include <stdio.h>

TestSuite(distinct, .init = scratch_open, .fini = scratch_close);

static struct glint_rdd *make_distinct(struct glint *g, void *arg)
{
    const struct input *in = arg;
    return glint_with_partitions(glint_distinct(input_rdd(g, in)), in->partitions);
}

/* Returns the rows sorted by record, independent of their partition. */
static int run_set(struct glint *g, void *arg, struct glint_rows *out)
{
    return glint_take_ordered(make_distinct(g, arg), 1000000, out);
}

static int compare_records(struct glint_schema schema, const struct glint_record *a,
                           const struct glint_record *b)
{
    return record_compare(schema, a, b);
}

static struct table set_of(const struct table *t)
{
    struct table sorted = table_part(t, 0, t->count), set = {.schema = t->schema};
    table_by_record(&sorted);
    for (uint64_t i = 0; i < sorted.count; i++)
        if (i == 0 || compare_records(t->schema, &sorted.rows[i - 1], &sorted.rows[i]) != 0)
            table_add(&set, sorted.rows[i].key, sorted.rows[i].value);
    table_free(&sorted);
    return set;
}

/* The rows are the expected set, and their order is the same with every fixture. */
static void expect_set_of(struct table *t, uint32_t maps, uint32_t partitions)
{
    struct table set = set_of(t), first;
    cr_assert(t->count < 100 || set.count < t->count);
    struct input in = {.table = t, .maps = maps, .partitions = partitions};
    action_expect(run_set, &in, NULL, &set);
    struct glint *g = fixture_open(&fixtures[0]);
    table_collect(make_distinct(g, &in), &first);
    fixture_close(g, GLINT_OK);
    plan_expect(make_distinct, &in, NULL, &first);
    table_free(&first);
    table_free(&set);
}

static void expect_set(struct table *t)
{
    expect_set_of(t, 1, 1);
    expect_set_of(t, 1, 7);
    expect_set_of(t, 3, 7);
}

/* Texts with common prefixes and suffixes; some are empty. */
static union glint_value make_cell(enum glint_type type, uint64_t random, char *memory)
{
    if (type == GLINT_I64) return number((int64_t)(random % 9) - 4);
    if (type == GLINT_F64) return real(((double)(random % 9) - 4) / 3);
    if (type == GLINT_MSGPACK) {
        memory[0] = (char)(random % 5);
        return bytes(memory, 1);
    }
    const uint64_t size = random % 4;
    memset(memory, 'a', size);
    if (size > 0) memory[size - 1] = (char)('a' + random / 4 % 3);
    return bytes(memory, size);
}

Test(distinct, every_schema_gives_the_set)
{
    static const enum glint_type types[] = {GLINT_NONE, GLINT_BYTES, GLINT_TEXT,
                                            GLINT_I64,  GLINT_F64,   GLINT_MSGPACK};
    for (int k = 0; k < 6; k++) {
        for (int v = 0; v < 6; v++) {
            if (k == 0 && v == 0) continue;
            struct table t = {.schema = {types[k], types[v]}};
            uint64_t seed = 11;
            char key[8], value[8];
            for (int i = 0; i < 600; i++) {
                const union glint_value a = make_cell(types[k], test_next(&seed) >> 7, key);
                table_add(&t, a, make_cell(types[v], test_next(&seed) >> 7, value));
            }
            expect_set(&t);
            table_free(&t);
        }
    }
}

/* Records whose key and value have the same concatenation are different. */
Test(distinct, same_bytes_with_other_key_size_differ)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    table_add(&t, text("ab"), text("c"));
    table_add(&t, text("a"), text("bc"));
    table_add(&t, text(""), text("abc"));
    table_add(&t, text("abc"), text(""));
    table_add(&t, text("a"), text("bc"));
    struct table set = set_of(&t);
    cr_assert_eq(set.count, 4);
    expect_set(&t);
    table_free(&set);
    table_free(&t);
}

/* -0.0 equals 0.0, and all NaNs are equal. */
Test(distinct, zeros_and_nans_are_equal)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_F64}}, set = t;
    table_add(&t, none(), real(-0.0));
    table_add(&t, none(), real(NAN));
    table_add(&t, none(), real(0.0));
    table_add(&t, none(), real(-NAN));
    table_add(&set, none(), real(0.0));
    table_add(&set, none(), real(NAN));
    struct input in = {.table = &t, .maps = 2, .partitions = 3};
    action_expect(run_set, &in, NULL, &set);
    table_free(&t);
    table_free(&set);
}

/* Small records alternate with records larger than an emitter's buffer, or than a batch. */
Test(distinct, large_records_give_the_set)
{
    static const enum glint_type keys[] = {GLINT_NONE, GLINT_TEXT, GLINT_I64};
    const uint64_t sizes[] = {10, 300000, 700000, 1300000};
    char *memory = mem_alloc(3 * MIB);
    cr_assert_not_null(memory);
    memset(memory, 'x', 3 * MIB);
    for (int k = 0; k < 3; k++) {
        struct table t = {.schema = {keys[k], GLINT_TEXT}};
        for (int i = 0; i < 12; i++) {
            memory[0] = (char)('a' + i % 3);
            table_add(&t, keys[k] == GLINT_I64 ? number(i % 2) : text("key"),
                      bytes(memory, sizes[i % 4]));
        }
        expect_set_of(&t, 2, 3);
        table_free(&t);
    }
    mem_free(memory);
}

Test(distinct, empty_input_gives_no_rows)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_I64}};
    struct input in = {.table = &t, .maps = 3, .partitions = 2};
    plan_expect(make_distinct, &in, NULL, &t);
}

Test(distinct, too_large_record_is_rejected)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    char *memory = mem_zalloc(KEY_BYTES_MAX);
    cr_assert_not_null(memory);
    table_add(&t, text("k"), bytes(memory, KEY_BYTES_MAX));
    struct input in = {.table = &t, .maps = 1, .partitions = 1};
    plan_expect_error(make_distinct, &in, NULL, GLINT_E_VALUE_LIMIT, "distinct");
    table_free(&t);
    t.schema.key = GLINT_NONE;
    t.schema.value = GLINT_TEXT;
    table_add(&t, none(), bytes(memory, KEY_BYTES_MAX + 1));
    plan_expect_error(make_distinct, &in, NULL, GLINT_E_VALUE_LIMIT, "");
    mem_free(memory);
    table_free(&t);
}

static struct glint_rdd *many_distinct(struct glint *g, const struct input *in)
{
    struct glint_rdd *rdd = glint_map_partitions(input_rdd(g, in), fn("red.many"), NULL);
    return glint_with_partitions(glint_distinct(glint_keys(rdd)), in->partitions);
}

/* The keys of a single task exceed the memory; the tasks have many keys in common. */
Test(distinct, spilling_gives_the_same_rows)
{
    struct table seeds = {.schema = {GLINT_NONE, GLINT_I64}};
    for (int i = 0; i < 2; i++) table_add(&seeds, none(), number(i));
    struct input in = {.table = &seeds, .maps = 2, .partitions = 2};
    const struct fixture roomy = {.name = "roomy", .slots = 1, .memory_bytes = GIB};
    struct glint *g = fixture_open(&roomy);
    struct table expected;
    table_collect(many_distinct(g, &in), &expected);
    cr_assert_eq(glint_counter_value(g, "spills"), 0);
    fixture_close(g, GLINT_OK);
    cr_assert(expected.count > 80000 && expected.count <= 100000);
    for (const struct fixture *w = tight_fixtures; w->name != NULL; w++) {
        g = fixture_open(w);
        struct table got;
        table_collect(many_distinct(g, &in), &got);
        cr_expect_gt(glint_counter_value(g, "spills"), 0);
        table_expect(&got, &expected, w->name);
        table_free(&got);
        fixture_close(g, GLINT_OK);
    }
    table_free(&seeds);
    table_free(&expected);
}
