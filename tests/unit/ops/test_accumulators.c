/* Accumulators of doubles, least and greatest values and a type of the job's own: the same values,
 * bit by bit, in any cluster, once per task. */
#include "tests/unit/ops/actions.h"

TestSuite(accumulators, .init = scratch_open, .fini = scratch_close);

/* A type of its own: how many values, and the product of those that are odd modulo 2^64. */
struct odd {
    uint64_t count, product;
};

static int odd_create(struct glint_task *task, void *state, struct glint_acc *acc,
                      const union glint_value *value)
{
    const uint64_t x = (uint64_t)value->i64;
    const struct odd first = {1, x % 2 != 0 ? x : 1};
    (void)state;
    return glint_acc_set(task, acc, &first, sizeof first);
}

static int odd_combine(struct glint_task *task, void *state, struct glint_acc *acc,
                       const union glint_value *other)
{
    struct odd a, b;
    (void)state;
    memcpy(&a, glint_acc_bytes(acc), sizeof a);
    memcpy(&b, other->bytes.data, sizeof b);
    const struct odd both = {a.count + b.count, a.product * b.product};
    return glint_acc_set(task, acc, &both, sizeof both);
}

static int odd_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                     const union glint_value *value)
{
    const uint64_t x = (uint64_t)value->i64;
    const struct odd one = {1, x % 2 != 0 ? x : 1};
    const union glint_value other = {.bytes = {(const uint8_t *)&one, sizeof one}};
    return odd_combine(task, state, acc, &other);
}

static const struct glint_function odd = {.name = "acc.odd",
                                          .kind = GLINT_KIND_AGGREGATE,
                                          .in = {GLINT_ANY, GLINT_I64},
                                          .out = {GLINT_SAME, GLINT_BYTES},
                                          .create = odd_create,
                                          .merge = odd_merge,
                                          .combine = odd_combine};

struct watch {
    int sum, least, greatest, text, odd;
};

static int watch_open(struct glint_task *task, void *state)
{
    struct watch *w = state;
    w->sum = glint_accumulator(task, "sum", &GLINT_SUM_F64);
    w->least = glint_accumulator(task, "least", &GLINT_MIN_I64);
    w->greatest = glint_accumulator(task, "greatest", &GLINT_MAX_I64);
    w->text = glint_accumulator(task, "first key", &GLINT_MIN_TEXT);
    w->odd = glint_accumulator(task, "odd", &odd);
    return w->odd < 0 ? w->odd : 0;
}

/* Passes (text, i64) on. */
static int watch_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    const struct watch *w = state;
    const union glint_value x = real((double)in->value.i64 * 0.1);
    int r = glint_accumulate(task, w->sum, &x);
    if (r == 0) r = glint_accumulate(task, w->least, &in->value);
    if (r == 0) r = glint_accumulate(task, w->greatest, &in->value);
    if (r == 0) r = glint_accumulate(task, w->text, &in->key);
    if (r == 0) r = glint_accumulate(task, w->odd, &in->value);
    glint_emit(out, in);
    return r;
}

#define WATCH(name_, open_)                                                                        \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_MAP, .in = {GLINT_TEXT, GLINT_I64},                      \
        .out = {GLINT_SAME, GLINT_SAME}, .state_size = sizeof(struct watch), .open = open_,        \
        .each = watch_each                                                                         \
    }

static int watch_twice_open(struct glint_task *task, void *state)
{
    (void)state;
    (void)glint_accumulator(task, "sum", &GLINT_SUM_F64);
    const int r = glint_accumulator(task, "sum", &GLINT_MAX_F64);
    return r < 0 ? r : 0;
}

static int watch_wrong_open(struct glint_task *task, void *state)
{
    (void)state;
    const int r = glint_accumulator(task, "sum", &GLINT_FIRST); /* of any type */
    return r < 0 ? r : 0;
}

static const struct glint_function watch = WATCH("acc.watch", watch_open);
static const struct glint_function watch_twice = WATCH("acc.watch_twice", watch_twice_open);
static const struct glint_function watch_wrong = WATCH("acc.watch_wrong", watch_wrong_open);
static const struct glint_function *const functions[] = {&odd, &watch, &watch_twice, &watch_wrong,
                                                         NULL};
const struct glint_module test_accumulators = {"acc", functions};

enum { ROWS = 4000, MAPS = 7 };

/* Adds the values to `sum` as tasks and then the driver do. */
static double add_all(const struct table *t, double sum)
{
    for (uint64_t m = 0; m < MAPS; m++) {
        double part = 0;
        for (uint64_t i = t->count * m / MAPS; i < t->count * (m + 1) / MAPS; i++)
            part += (double)t->rows[i].value.i64 * 0.1;
        sum += part;
    }
    return sum;
}

static struct glint_cell value_of(const struct glint *g, const char *name)
{
    struct glint_cell cell;
    cr_assert(glint_accumulator_value(g, name, &cell), "%s", name);
    return cell;
}

static void expect_values(struct glint *g, const struct table *t, double sum, uint64_t times)
{
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    struct odd expected = {t->count * times, 1}, got;
    for (uint64_t i = 0; i < t->count; i++) {
        const int64_t x = t->rows[i].value.i64;
        least = x < least ? x : least;
        greatest = x > greatest ? x : greatest;
        for (uint64_t k = 0; k < times && x % 2 != 0; k++) expected.product *= (uint64_t)x;
    }
    const double got_sum = value_of(g, "sum").value.f64;
    cr_expect_eq(memcmp(&got_sum, &sum, sizeof sum), 0, "%.17g, not %.17g", got_sum, sum);
    cr_expect_eq(value_of(g, "least").value.i64, least);
    cr_expect_eq(value_of(g, "greatest").value.i64, greatest);
    const struct glint_cell key = value_of(g, "first key"), own = value_of(g, "odd");
    cr_expect_eq(key.type, GLINT_TEXT);
    cr_expect(key.value.bytes.size == 2 && memcmp(key.value.bytes.data, "k0", 2) == 0);
    cr_assert(own.type == GLINT_BYTES && own.value.bytes.size == sizeof got);
    memcpy(&got, own.value.bytes.data, sizeof got);
    cr_expect_eq(got.count, expected.count);
    cr_expect_eq(got.product, expected.product);
}

/* In a map stage, which a second action does not run again, then in the stage of an action. */
Test(accumulators, are_merged_in_the_order_of_tasks)
{
    struct table t = make_pairs(ROWS, 20, 1);
    const double sum = add_all(&t, 0), twice = add_all(&t, sum);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct glint_cell cell;
        int64_t count = 0;
        cr_expect_not(glint_accumulator_value(g, "sum", &cell));
        cr_expect_eq(cell.type, GLINT_NONE);
        struct glint_rdd *rdd = glint_parallelize(g, t.schema, t.rows, ROWS, MAPS);
        struct glint_rdd *watched = glint_map(rdd, &watch, NULL);
        struct glint_rdd *sums = glint_reduce_by_key(watched, &GLINT_SUM_I64, NULL);
        cr_assert_eq(glint_count(sums, &count), 0);
        expect_values(g, &t, sum, 1);
        cr_assert_eq(glint_count(sums, &count), 0);
        expect_values(g, &t, sum, 1);
        cr_assert_eq(glint_count(watched, &count), 0);
        expect_values(g, &t, twice, 2);
        const struct glint_answer *all = glint_summarize(g)->accumulators;
        cr_assert(all != NULL && strcmp(all->name, "first key") == 0);
        cr_expect_eq(strcmp(all->next->name, "greatest"), 0);
        fixture_close(g, GLINT_OK);
    }
    table_free(&t);
}

static struct glint_rdd *make_wrong(struct glint *g, void *arg)
{
    static const struct glint_record row = {.key.bytes = {(const uint8_t *)"k", 1}};
    return glint_map(glint_parallelize(g, (struct glint_schema){GLINT_TEXT, GLINT_I64}, &row, 1, 1),
                     arg, NULL);
}

Test(accumulators, errors)
{
    plan_expect_error(make_wrong, (void *)&watch_twice, NULL, GLINT_E_PLAN_FUNCTION,
                      "accumulator sum has two functions");
    plan_expect_error(make_wrong, (void *)&watch_wrong, NULL, GLINT_E_PLAN_FUNCTION,
                      "accumulator sum: unsuitable function");
}

static struct glint_rdd *make_watched(struct glint *g, void *arg)
{
    const struct input in = {.table = arg, .maps = 2};
    return glint_map(input_rdd(g, &in), &watch, NULL);
}

Test(accumulators, no_memory)
{
    struct table t = make_pairs(40, 20, 1);
    plan_expect_no_memory(make_watched, &t);
    table_free(&t);
}
