/* countApproxDistinct, reduceByKeyLocally, toLocalIterator, and filterByRange. */
#include "engine/records/codec.h"
#include "tests/unit/ops/actions.h"

#include <math.h>
#include <stdio.h>

TestSuite(more_actions, .init = scratch_open, .fini = scratch_close);

/* ---- countApproxDistinct */

static int64_t estimate(const struct fixture *w,
                        struct glint_rdd *(*make)(struct glint *g, void *arg), void *arg)
{
    int64_t count = -1;
    struct glint *g = fixture_open(w);
    cr_assert_eq(glint_count_approx_distinct(make(g, arg), &count), 0);
    fixture_close(g, GLINT_OK);
    return count;
}

/* `count` different numbers, each three times. */
struct numbers {
    int64_t count;
    uint32_t partitions;
};

static struct glint_rdd *make_thrice(struct glint *g, void *arg)
{
    const struct numbers *n = arg;
    struct glint_rdd *once = glint_range(g, 0, n->count, 1, n->partitions);
    return glint_union(glint_union(once, once), once);
}

/* 3 % are nearly 4 standard errors; few records are nearly exact. */
Test(more_actions, distinct_estimate_is_near)
{
    static const int64_t counts[] = {0, 1, 2, 10, 100, 1000, 5000, 20000, 40000, 100000, 1000000};
    for (int c = 0; c < 11; c++) {
        struct numbers n = {counts[c], 1};
        const int64_t first = estimate(&fixtures[0], make_thrice, &n);
        const double bound = counts[c] <= 100 ? 1 : 0.03 * (double)counts[c];
        cr_assert(fabs((double)(first - counts[c])) <= bound, "%lld of %lld", (long long)first,
                  (long long)counts[c]);
        n.partitions = 7;
        for (const struct fixture *w = fixtures; w->name != NULL; w++)
            cr_assert_eq(estimate(w, make_thrice, &n), first, "%s", w->name);
    }
}

static struct glint_rdd *make_texts(struct glint *g, void *arg)
{
    return input_rdd(g, arg);
}

Test(more_actions, distinct_estimate_of_texts_and_pairs)
{
    struct table texts = {.schema = {GLINT_NONE, GLINT_TEXT}}, pairs = make_pairs(30000, 50, 1);
    char word[32];
    for (int i = 0; i < 30000; i++) {
        snprintf(word, sizeof word, "word %d", i % 3000);
        table_add(&texts, none(), text(word));
    }
    struct input in = {.table = &texts, .maps = 3};
    cr_assert(llabs(estimate(&fixtures[1], make_texts, &in) - 3000) < 90);
    /* 30,000 draws of 50 x 2,001 pairs: 100,050 (1 - exp(-30,000 / 100,050)) different ones. */
    in.table = &pairs;
    cr_assert(llabs(estimate(&fixtures[1], make_texts, &in) - 25920) < 900);
    table_free(&texts);
    table_free(&pairs);
}

/* ---- reduceByKeyLocally */

static int run_reduce_locally(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct input *in = arg;
    return glint_reduce_by_key_locally(input_rdd(g, in), fn(in->function), NULL, out);
}

Test(more_actions, reduced_pairs_are_a_map)
{
    struct table t = make_pairs(3000, 40, 3), expected = {.schema = t.schema};
    char key[16];
    for (int k = 0; k < 40; k++) {
        int64_t sum = 0;
        snprintf(key, sizeof key, "k%d", k);
        for (uint64_t i = 0; i < t.count; i++)
            if (codec_compare(t.rows[i].key.bytes, text(key).bytes) == 0)
                sum += t.rows[i].value.i64;
        table_add(&expected, text(key), number(sum));
    }
    table_by_record(&expected);
    struct input in = {.table = &t, .maps = 4, .function = "red.sum"};
    action_expect(run_reduce_locally, &in, NULL, &expected);
    in.function = "red.concat";
    action_expect_error(run_reduce_locally, &in, NULL, GLINT_E_PLAN_TYPE, "red.concat");
    table_free(&expected);
    table_free(&t);
}

/* ---- toLocalIterator */

static struct glint_rdd *visited(struct glint *g, uint32_t partitions)
{
    return glint_map_partitions(glint_range(g, 0, 1000, 1, partitions), fn("two.count_rows"), NULL);
}

Test(more_actions, iterator_computes_one_partition_at_a_time)
{
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint_record r;
        struct glint *g = fixture_open(w);
        struct glint_iterator *it = glint_to_local_iterator(visited(g, 5));
        cr_assert_not_null(it);
        cr_assert_eq(glint_counter_value(g, "counted rows"), 0);
        for (int64_t i = 0; i < 1000; i++) {
            cr_assert_eq(glint_iterator_next(it, &r), 1);
            cr_assert_eq(r.value.i64, i);
            cr_assert_eq(glint_counter_value(g, "counted rows"), i / 200 * 200 + 200);
        }
        cr_assert_eq(glint_iterator_next(it, &r), 0);
        cr_assert_eq(glint_iterator_next(it, &r), 0);
        glint_iterator_close(it);
        fixture_close(g, GLINT_OK);
    }
}

/* Empty partitions are passed over; what follows is not computed if the iterator is closed. */
Test(more_actions, iterator_may_be_closed_early)
{
    struct glint_record r;
    struct glint *g = fixture_open(&fixtures[1]);
    struct glint_iterator *it = glint_to_local_iterator(visited(g, 3000));
    for (int i = 0; i < 3; i++) cr_assert_eq(glint_iterator_next(it, &r), 1);
    cr_assert_eq(r.value.i64, 2);
    cr_assert_eq(glint_counter_value(g, "counted rows"), 3);
    glint_iterator_close(it);
    glint_iterator_close(NULL);
    fixture_close(g, GLINT_OK);
}

Test(more_actions, iterator_returns_the_error_of_a_task)
{
    struct glint_record r;
    struct glint *g = fixture_open(&fixtures[1]);
    struct glint_rdd *rdd = glint_flat_map(glint_range(g, 0, 9, 1, 3), fn("two.refuses"), NULL);
    struct glint_iterator *it = glint_to_local_iterator(rdd);
    for (int i = 0; i < 2; i++) cr_assert_eq(glint_iterator_next(it, &r), GLINT_E_FUNCTION_FAILED);
    glint_iterator_close(it);
    fixture_close(g, GLINT_E_FUNCTION_FAILED);
}

static int run_iterator(struct glint *g, void *arg, struct glint_rows *out)
{
    struct glint_record r;
    (void)arg, (void)out;
    struct glint_iterator *it = glint_to_local_iterator(glint_range(g, 0, 10, 1, 2));
    while (it != NULL && glint_iterator_next(it, &r) > 0) {
    }
    glint_iterator_close(it);
    return 0;
}

static int run_estimate(struct glint *g, void *arg, struct glint_rows *out)
{
    int64_t count;
    (void)out;
    return glint_count_approx_distinct(input_rdd(g, arg), &count);
}

Test(more_actions, out_of_memory_fails_cleanly_or_is_retried)
{
    struct table t = make_pairs(300, 7, 1);
    struct input in = {.table = &t, .maps = 2, .function = "red.sum"};
    action_expect_no_memory(run_iterator, NULL);
    action_expect_no_memory(run_estimate, &in);
    action_expect_no_memory(run_reduce_locally, &in);
    table_free(&t);
}

/* ---- filterByRange */

struct key_range {
    struct input in;
    union glint_value lower, upper;
};

static struct glint_rdd *make_range_of_keys(struct glint *g, void *arg)
{
    struct key_range *r = arg;
    return glint_filter_by_range(input_rdd(g, &r->in), r->lower, r->upper);
}

static void expect_keys(struct key_range *r)
{
    const struct table *t = r->in.table;
    struct table expected = {.schema = t->schema};
    for (uint64_t i = 0; i < t->count; i++) {
        const union glint_value *k = &t->rows[i].key;
        bool in = t->schema.key == GLINT_I64   ? k->i64 >= r->lower.i64 && k->i64 <= r->upper.i64
                  : t->schema.key == GLINT_F64 ? k->f64 >= r->lower.f64 && k->f64 <= r->upper.f64
                                               : codec_compare(k->bytes, r->lower.bytes) >= 0 &&
                                                     codec_compare(k->bytes, r->upper.bytes) <= 0;
        if (in) table_add(&expected, *k, t->rows[i].value);
    }
    plan_expect(make_range_of_keys, r, NULL, &expected);
    table_free(&expected);
}

Test(more_actions, keys_in_range_are_kept)
{
    struct table texts = make_pairs(3000, 300, 5), numbers = {.schema = {GLINT_I64, GLINT_I64}};
    struct table reals = {.schema = {GLINT_F64, GLINT_I64}};
    for (int64_t i = 0; i < 3000; i++) {
        table_add(&numbers, number(i % 100 - 50), number(i));
        table_add(&reals, real((double)(i % 100) / 8 - 5), number(i));
    }
    struct key_range r = {{.table = &texts, .maps = 3}, text("k12"), text("k2")};
    expect_keys(&r);
    r = (struct key_range){{.table = &texts, .maps = 3}, text("k2"), text("k12")}; /* none */
    expect_keys(&r);
    r = (struct key_range){{.table = &numbers, .maps = 2}, number(-3), number(4)};
    expect_keys(&r);
    r = (struct key_range){{.table = &reals, .maps = 2}, real(-2.5), real(1.1)};
    expect_keys(&r);
    struct table elements = make_numbers(10, 1);
    r.in.table = &elements;
    plan_expect_error(make_range_of_keys, &r, NULL, GLINT_E_PLAN_TYPE, "filterByRange needs keys");
    table_free(&elements);
    table_free(&texts);
    table_free(&numbers);
    table_free(&reals);
}
