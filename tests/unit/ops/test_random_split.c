/* randomSplit and sample, compared with an independent implementation: each row gets a random
 * number in [0, 1) from seed, partition and row number, and the cumulative weights decide its
 * child. */
#include "engine/base/hash.h"
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

TestSuite(random_split, .init = scratch_open, .fini = scratch_close);

#define CHILDREN_MAX 6u

struct plan {
    struct glint_schema schema;
    const struct table *table; /* NULL: lines of the file `path` */
    uint32_t partitions;
    char path[PATH_BYTES];
    double weights[CHILDREN_MAX];
    uint32_t count, child; /* number of children; the child that is returned */
    uint64_t seed;
};

static struct glint_rdd *make_parent(struct glint *g, const struct plan *p)
{
    if (p->table == NULL) return glint_text_file(g, p->path);
    return glint_parallelize(g, p->table->schema, p->table->rows, p->table->count, p->partitions);
}

static struct glint_rdd *make_child(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    struct glint_rdd *out[CHILDREN_MAX];
    glint_random_split(make_parent(g, p), p->weights, p->count, p->seed, out);
    return out[p->child];
}

static struct glint_rdd *make_keyed(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return glint_key_by_random_split(make_parent(g, p), p->weights, p->count, p->seed);
}

static struct glint_rdd *make_sample(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return glint_sample(make_parent(g, p), p->weights[0], p->seed);
}

/* The random number of a row, in [0, 1). */
static double random_of_row(uint64_t seed, uint32_t partition, uint64_t row)
{
    const uint64_t base = hash_mix(hash_mix(seed) + partition);
    return ldexp((double)(hash_mix(base + row * 0x9e3779b97f4a7c15u) >> 11), -53);
}

static void add_kept(struct table *out, const struct table *from, uint64_t first, uint64_t end,
                     uint64_t seed, uint32_t partition, double low, double high)
{
    for (uint64_t i = first; i < end; i++) {
        const double share = random_of_row(seed, partition, i - first);
        if (share >= low && share < high) table_add(out, from->rows[i].key, from->rows[i].value);
    }
}

/* Each child of a parallelized table, with every fixture. */
static void expect_children(struct plan *p)
{
    const uint64_t count = p->table->count;
    double sum = 0, low = 0, before = 0;
    uint64_t rows = 0;
    for (uint32_t c = 0; c < p->count; c++) sum += p->weights[c];
    for (p->child = 0; p->child < p->count; p->child++) {
        struct table expected = {.schema = p->table->schema};
        before += p->weights[p->child];
        for (uint32_t part = 0; part < p->partitions; part++)
            add_kept(&expected, p->table, count * part / p->partitions,
                     count * (part + 1) / p->partitions, p->seed, part, low, before / sum);
        plan_expect(make_child, p, NULL, &expected);
        const double share = p->weights[p->child] / sum;
        cr_expect(fabs((double)expected.count - share * (double)count) <=
                      5 * sqrt((double)count * share * (1 - share)) + 1e-9,
                  "child %u has %llu rows", p->child, (unsigned long long)expected.count);
        rows += expected.count;
        low = before / sum;
        table_free(&expected);
    }
    cr_assert_eq(rows, count);
}

static struct table table_make(struct glint_schema schema, uint64_t count)
{
    struct table t = {.schema = schema};
    char key[32], value[32];
    for (uint64_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "key %llu", (unsigned long long)i);
        snprintf(value, sizeof value, "value %llu", (unsigned long long)i);
        table_add(&t, schema.key == GLINT_I64 ? number((int64_t)i) : text(key),
                  schema.value == GLINT_F64 ? real((double)i / 4) : text(value));
    }
    return t;
}

static const struct plan splits[] = {{.weights = {0.6, 0.4}, .count = 2, .seed = 42},
                                     {.weights = {3}, .count = 1, .seed = 0},
                                     {.weights = {0, 5, 0, 3, 2, 0}, .count = 6, .seed = 7},
                                     {.weights = {1, 1, 1}, .count = 3, .seed = UINT64_MAX},
                                     {.weights = {1e-300, 1e300}, .count = 2, .seed = 1}};

Test(random_split, every_row_is_in_exactly_one_split)
{
    static const struct glint_schema schemas[] = {
        {GLINT_I64, GLINT_TEXT}, {GLINT_TEXT, GLINT_F64}, {GLINT_NONE, GLINT_TEXT}};
    for (int s = 0; s < 3; s++) {
        struct table t = table_make(schemas[s], 20000);
        for (int i = 0; i < 5; i++)
            for (uint32_t partitions = 1; partitions <= 7; partitions += 3) {
                struct plan p = splits[i];
                p.table = &t;
                p.partitions = partitions;
                expect_children(&p);
            }
        table_free(&t);
    }
}

/* keyByRandomSplit of a parallelized table: the key of each row is its child in randomSplit. */
static void expect_numbers(struct plan *p)
{
    double sum = 0;
    const uint64_t count = p->table->count;
    struct table expected = {.schema = {GLINT_I64, p->table->schema.value}};
    for (uint32_t c = 0; c < p->count; c++) sum += p->weights[c];
    for (uint32_t part = 0; part < p->partitions; part++) {
        const uint64_t first = count * part / p->partitions;
        for (uint64_t i = first; i < count * (part + 1) / p->partitions; i++) {
            const double share = random_of_row(p->seed, part, i - first);
            double before = p->weights[0];
            int64_t child = 0;
            while (share >= before / sum) before += p->weights[++child];
            table_add(&expected, number(child), p->table->rows[i].value);
        }
    }
    plan_expect(make_keyed, p, NULL, &expected);
    table_free(&expected);
}

Test(random_split, key_by_random_split_gives_split_number)
{
    static const enum glint_type types[] = {GLINT_TEXT, GLINT_F64};
    for (int s = 0; s < 2; s++) {
        struct table t = table_make((struct glint_schema){GLINT_NONE, types[s]}, 20000);
        for (int i = 0; i < 5; i++) {
            struct plan p = splits[i];
            p.table = &t;
            p.partitions = 1 + 3 * (uint32_t)s;
            expect_numbers(&p);
        }
        table_free(&t);
    }
}

Test(random_split, different_seeds_give_different_splits)
{
    struct table t = table_make((struct glint_schema){GLINT_NONE, GLINT_TEXT}, 1000), one, two;
    struct plan p = {.table = &t, .partitions = 2, .weights = {1, 1}, .count = 2, .seed = 1};
    struct glint *g = fixture_open(&fixtures[0]);
    table_collect(make_child(g, &p), &one);
    p.seed = 2;
    table_collect(make_child(g, &p), &two);
    fixture_close(g, GLINT_OK);
    bool differ = one.count != two.count;
    for (uint64_t i = 0; i < one.count && !differ; i++)
        differ = memcmp(one.rows[i].value.bytes.data, two.rows[i].value.bytes.data, 6) != 0;
    cr_assert(differ);
    table_free(&one);
    table_free(&two);
    table_free(&t);
}

Test(random_split, sample_keeps_the_given_fraction)
{
    static const double fractions[] = {0, 1e-18, 0.01, 0.5, 0.999, 1};
    struct table t = table_make((struct glint_schema){GLINT_I64, GLINT_TEXT}, 20000);
    for (int i = 0; i < 6; i++) {
        struct plan p = {.table = &t, .partitions = 3, .weights = {fractions[i]}, .seed = 9};
        struct table expected = {.schema = t.schema};
        for (uint32_t part = 0; part < 3; part++)
            add_kept(&expected, &t, t.count * part / 3, t.count * (part + 1) / 3, 9, part, 0,
                     fractions[i]);
        plan_expect(make_sample, &p, NULL, &expected);
        table_free(&expected);
    }
    table_free(&t);
}

/* Lines of a file in splits of several sizes: row numbers continue over all batches of a
 * partition. */
Test(random_split, row_numbers_count_across_batches)
{
    struct buffer file = {NULL, 0, 0};
    char line[32];
    for (int i = 0; i < 100000; i++) {
        const int size = snprintf(line, sizeof line, "%06d\n", i);
        cr_assert(buffer_append(&file, line, (uint64_t)size));
    }
    for (int n = 0; n < 300000; n++) cr_assert(buffer_append(&file, "long", 4));
    scratch_write("lines", file.data, file.size);
    buffer_fini(&file);
    static const uint64_t split_bytes[] = {0, 50000, 300000};
    for (int s = 0; s < 3; s++) {
        struct plan p = {.weights = {6, 4}, .count = 2, .seed = 3};
        scratch_path("lines", p.path);
        const struct fixture base = {.split_bytes = split_bytes[s]};
        const struct fixture one = {.name = "rows", .slots = 1, .split_bytes = split_bytes[s]};
        struct glint *g = fixture_open(&one);
        struct glint_rdd *parent = make_parent(g, &p);
        struct glint_rdd *marked = glint_map_partitions(parent, fn("test.with_index"), NULL);
        struct table rows, expected[2] = {{.schema = {GLINT_NONE, GLINT_TEXT}},
                                          {.schema = {GLINT_NONE, GLINT_TEXT}}};
        table_collect(marked, &rows);
        fixture_close(g, GLINT_OK);
        uint64_t row = 0;
        for (uint64_t i = 0; i < rows.count; i++, row++) {
            const struct glint_slice cell = rows.rows[i].value.bytes;
            if (cell.size == 3) { /* the end of a partition */
                row = UINT64_MAX;
                continue;
            }
            const double share = random_of_row(p.seed, (uint32_t)rows.rows[i].key.i64, row);
            table_add(&expected[share >= 0.6], none(), rows.rows[i].value);
        }
        for (p.child = 0; p.child < 2; p.child++) {
            plan_expect(make_child, &p, &base, &expected[p.child]);
            table_free(&expected[p.child]);
        }
        table_free(&rows);
    }
}

/* A child has the same rows anywhere in a plan: they depend on its own partition number, not on the
 * task's. */
static struct glint_rdd *make_union(struct glint *g, void *arg)
{
    struct plan *p = arg;
    struct glint_rdd *out[CHILDREN_MAX];
    struct glint_rdd *parent = make_parent(g, p);
    glint_random_split(parent, p->weights, p->count, p->seed, out);
    return glint_coalesce(glint_union(glint_union(parent, out[1]), out[0]), 4);
}

Test(random_split, splits_are_the_same_in_a_union)
{
    struct table t = table_make((struct glint_schema){GLINT_NONE, GLINT_TEXT}, 1000);
    struct table expected = {.schema = t.schema};
    struct plan p = {.table = &t, .partitions = 3, .weights = {1, 1}, .count = 2, .seed = 5};
    for (uint64_t i = 0; i < t.count; i++) table_add(&expected, none(), t.rows[i].value);
    for (int child = 1; child >= 0; child--)
        for (uint32_t part = 0; part < 3; part++)
            add_kept(&expected, &t, t.count * part / 3, t.count * (part + 1) / 3, 5, part,
                     child ? 0.5 : 0, child ? 1 : 0.5);
    cr_assert_eq(expected.count, 2 * t.count);
    plan_expect(make_union, &p, NULL, &expected);
    table_free(&expected);
    table_free(&t);
}

Test(random_split, misuse_is_rejected)
{
    struct table t = table_make((struct glint_schema){GLINT_NONE, GLINT_TEXT}, 3);
    const struct plan bad[] = {{.weights = {1, -1}, .count = 2},
                               {.weights = {0, 0}, .count = 2},
                               {.weights = {NAN, 1}, .count = 2},
                               {.weights = {INFINITY}, .count = 1},
                               {.weights = {1e308, 1e308}, .count = 2}};
    const double fractions[] = {-0.1, 1.5, NAN};
    for (int i = 0; i < 5; i++) {
        struct plan p = bad[i];
        p.table = &t;
        plan_expect_error(make_child, &p, NULL, GLINT_E_BAD_VALUE, "randomSplit");
        plan_expect_error(make_keyed, &p, NULL, GLINT_E_BAD_VALUE, "keyByRandomSplit");
    }
    struct table pairs = table_make((struct glint_schema){GLINT_I64, GLINT_TEXT}, 3);
    struct plan of_pairs = {.table = &pairs, .weights = {1, 1}, .count = 2};
    plan_expect_error(make_keyed, &of_pairs, NULL, GLINT_E_PLAN_TYPE, "not pairs");
    table_free(&pairs);
    for (int i = 0; i < 3; i++) {
        struct plan p = {.table = &t, .weights = {fractions[i]}};
        plan_expect_error(make_sample, &p, NULL, GLINT_E_BAD_VALUE, "sample");
    }
    struct glint *g = fixture_open(&fixtures[0]);
    struct glint_rdd *nothing[1];
    glint_random_split(make_parent(g, &(struct plan){.table = &t}), NULL, 0, 1, nothing);
    cr_assert_eq(glint_error(g)->code, GLINT_E_BAD_VALUE);
    fixture_close(g, GLINT_E_BAD_VALUE);
    table_free(&t);
}
